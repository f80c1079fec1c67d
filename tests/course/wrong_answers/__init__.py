"""Answers written by somebody who has read only the task: ten wrong ones an exercise,
and two right ones.

The wrong ones carry the words that their verdict has to have; several, where it depends
on the run of Python which of them it has. Not one of them was made from the check's
code.
"""

from collections import defaultdict


class Answers:
    """One lesson's answers, by exercise: wrong ones with the words of their verdict,
    and right ones.
    """

    def __init__(self):
        self.rejected = defaultdict(list)  # exercise -> [(answer, any of these words)]
        self.accepted = defaultdict(list)  # exercise -> [answer]

    def wrong(self, exercise, *words):
        def note(answer):
            self.rejected[exercise].append((answer, words))
            return answer

        return note

    def right(self, exercise):
        def note(answer):
            self.accepted[exercise].append(answer)
            return answer

        return note


def called(answer):
    """The name that a test run shows."""
    return getattr(answer, "__name__", repr(answer))
