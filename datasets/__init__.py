"""Data sets for the lessons: made by a seed, never fetched. README.md is the data sheet."""
