"""What would give an answer away, as far as words tell it.

A word that is in an answer's explanation and nowhere on the page before the question
may not be in a frame before the answer; nor may a word or a number that only the right
option has, nor the right option as a whole. Where one of these must stand there, it is
named here, with its reason.
"""

import re

# (picture, word or option) -> why it must stand in a frame before the answer.
IN_THE_FRAME = {
    ("00-story", "empty"): "an empty partition is called so, as in the option",
    ("01-reading-run", "nothing"): "at the start nothing is written yet",
    ("01-retention-run", "day 7"): "the orders' values name their days, all nineteen",
    ("01-holiday-run", "nothing"): "at the start nothing is written yet",
    ("02-rule-run", "partition 4"): "the topic has five partitions, all named",
    ("03-lost-run", "once"): "the promise's lamp is called so: each once",
    ("03-order-run", "first"): "requests have an order",
    ("04-number-run", "record 4"): "records 0 to 4 are processed before it asks",
    ("04-auto-run", "record 6"): "payments has a line for each record in the log",
    (
        "04-auto-run",
        "handed",
    ): "a poll hands records over, in every picture of a consumer",
    (
        "04_extra_committed_offsets-away-run",
        "nothing",
    ): "at the start nothing is written yet",
    ("05-who-run", "two"): "the promise's lamp: no partition has two owners",
    ("05-back-run", "payments"): "the name of the table that the program writes to",
    ("06-stop-run", "joingroup"): "the request's name",
    ("06-stop-change", "p5"): "a partition's name",
    ("07-busy-run", "500"): "a poll hands over 500 records: max.poll.records",
    (
        "07-back-run",
        "90",
    ): "orders that wait after the question's own ten minutes of nine",
    ("08-stays-run", "next"): "where a reader stands is called so in every picture",
    ("08-stays-run", "record"): "what lies in a log is called so",
    ("14-two-run", "40"): "seconds on the axis",
    ("13-held-run", "euros"): "the records' values: 20, 5 and 6 euros",
}
# (question's cell, run of words) -> why the page before may say it as an explanation
# does.
ON_THE_PAGE = {
    (
        "05-who-run",
        "the classic protocol the",
    ): "that it is the classic protocol is no answer",
    ("08-missed-run", "the address and when"): "how the program keeps its table",
    ("08-missed-run", "address and when it"): "how the program keeps its table",
    ("08-missed-run", "reads from the start"): "what the new program is said to do",
    ("10-rule-run", "the high watermark 2"): "the rule, as the question tells it",
    ("10-rule-run", "at the high watermark"): "the rule, as the question tells it",
    ("10-rule-run", "the high watermark that"): "the rule, as the question tells it",
    ("10-rule-run", "high watermark that it"): "the rule, as the question tells it",
}
RUN = 4  # words in a row that an explanation and the page may not share

# Words without which no sentence can be; a single letter is a name, and a digit an
# offset, a partition or a count.
COMMON = re.compile(
    "about|again|all|also|an|and|any|are|as|at|back|be|by|do|does|for|from|gets?|go|goes|had|has|have|in|is|its?|nor|"
    "not|of|off|on|only|or|other|reads?|so|than|that|the|them|then|there|these|they|this|those|to|until|up|was|were|when|"
    r"where|which|while|who|will|with|[a-z\d]"
)


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+(?:[.,'][a-z0-9]+)*", text.lower())


def telling(text: str) -> set[str]:
    """The words of a text that may tell something."""
    return {word for word in words(text) if not COMMON.fullmatch(word)}


def runs(text: str, length: int = RUN) -> set[str]:
    """Its words, so many in a row."""
    found = words(text)
    return {" ".join(found[at : at + length]) for at in range(len(found) - length + 1)}


def says(text: str, phrase: str) -> bool:
    return f" {' '.join(words(phrase))} " in f" {' '.join(words(text))} "


def told_in_a_frame(
    text: str, right: str, others: list[str], explanations: dict[str, str], page: str
) -> set[str]:
    """What of the answer a frame's text tells. page: what the learner has read, the
    question and options with it.
    """
    found = {right} if says(text, right) else set()
    here = telling(text)
    found |= here & (telling(right) - telling(" ".join(others)))
    found |= here & (telling(explanations[right]) - telling(page))
    return found | {
        run for said in explanations.values() for run in runs(said) & runs(text)
    }


def told_on_the_page(
    page: str, right: str | None, explanations: dict[str, str]
) -> set[str]:
    """What the page says of the answer before it asks. right: where a picture knows
    it.
    """
    found = {run for said in explanations.values() for run in runs(said) & runs(page)}
    return found | (
        {right} if right and len(words(right)) > 2 and says(page, right) else set()
    )
