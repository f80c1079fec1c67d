"""Coordinators: state that lives in an internal topic, and whoever leads the partition answers for it."""
