"""Lesson 15, queue or log, exercise 2: which tool for which story. Each choice is run."""

from collections.abc import Mapping
from types import SimpleNamespace

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.tool_runs import TOOLS
from minikafka.course.judging.tool_stories import STORIES, outcome


def exercise_2():
    """A tool for each of eight stories. More than one may be right for a story: what is
    judged is its run.
    """
    return Exercise(
        name="my_tools",
        takes=choices,
        right="each story ends well with the tool that you chose.",
        hints=(
            (
                "Ask the same of each story. Must what belongs together stay in its"
                " order, or with one worker? Does somebody need what others have"
                " consumed already? Who waits behind a record that takes long, or that"
                " nobody can process?"
            ),
            (
                "In a consumer group one member reads a partition, in order, and nobody"
                " helps it. Members of a share group and consumers of a queue take what"
                " is next, one by one. A topic keeps what was read, and a queue forgets"
                " what was acknowledged."
            ),
            (
                "Order for each key, or a count for each key: only one tool gives a key"
                " to one worker. Read once more, by many workers and few partitions:"
                " only one tool can do both. An answer for one caller: nobody should"
                " have to join a group. A delay: one of the three hands out again at"
                " once what it gets back."
            ),
        ),
        rungs=tuple(map(rung, STORIES)),
    )


def rung(name):
    story = STORIES[name]
    return Rung(
        holds=f"{name}: {story.asks}",
        broken=went_wrong,
        cases={name: name},
        describe=asked,
        needs=(name,),
    )


def asked(name):
    return STORIES[name].asks


def choices(answer):
    """What was chosen, as attributes; what is None is not chosen yet. Raises WrongKind
    for what is no story and no tool.
    """
    if not isinstance(answer, Mapping):
        raise WrongKind(
            'should be a dictionary, such as {"thumbnails": "queue"}, and this is'
            f" {short(answer)}."
        )
    try:
        chosen = dict(answer)
    except Exception as error:
        raise WrongKind(f"can't be read: {type(error).__name__}: {error}") from None
    known = " or ".join(f'"{tool}"' for tool in TOOLS)
    for name, tool in chosen.items():
        if name not in STORIES:
            raise WrongKind(f"{short(name)} is no story: {', '.join(STORIES)}.")
        if tool is not None and not (isinstance(tool, str) and tool in TOOLS):
            raise WrongKind(
                f"{name} has {short(tool)}, which is none of the three: {known}."
            )
    made = {name: tool for name, tool in chosen.items() if tool is not None}
    return SimpleNamespace(**made)


def went_wrong(answer, name):
    tool = getattr(answer, name)
    wrong = outcome(name, tool)
    if wrong is None:
        return None
    return "\n".join([f"{name} with a {tool}: {wrong.line}", *wrong.run])
