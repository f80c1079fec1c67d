"""What the lessons run, and what they read out of it, by the number of the lesson.

`lesson_10_runs.py` is what lesson 10's cells call: it makes clusters, does something
to them, and answers questions about their trace. `lesson_10_real.py` does the same to
real processes, `lesson_10_picture.py` draws the picture at the lesson's top. Other
endings say what else a lesson needs (`lesson_16_terminal.py`).

An experiment makes its own cluster, so that a cell run twice shows the same twice.
What it returns is computed from the trace, never typed in: `from_trace.py` has the
questions that several lessons ask, `shop.py` a shop that several lessons watch,
`curves.py` the figure of something measured.
"""
