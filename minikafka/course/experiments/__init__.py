"""The lessons' experiments, and the answers that are read from them, by the number of
the lesson.

Lesson 10's cells call `lesson_10_runs.py`: it makes clusters, does something to them,
and answers questions about their trace. `lesson_10_real.py` does the same with real
processes, `lesson_10_picture.py` draws the picture at the top of the lesson. Other
endings say what else a lesson needs (`lesson_04_terminal.py`).

An experiment makes its own cluster, so a cell shows the same each time it is run. Its
results are computed from the trace, never typed in: `from_trace.py` has the questions
that several lessons ask, `shop.py` a shop that several lessons watch, `curves.py` the
figure for a measurement.
"""
