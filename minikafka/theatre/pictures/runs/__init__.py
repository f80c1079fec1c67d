"""Many runs of one story, each a small picture.

story.py counts them, play.py draws them.
"""
