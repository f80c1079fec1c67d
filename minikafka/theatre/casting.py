"""The choice of what is shown when a trace holds too much, and keys as short grey
letters: colours belong to actors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from minikafka.theatre.play import Story
from minikafka.trace import Event

# of each key its short form
Letters = dict[str | None, str]


class OfTopic(Story):
    """A story of some partitions of a topic and, where it names one, of a single
    group.
    """

    topic = group = ""
    chosen: Sequence[int] = ()
    groups: Mapping[str, str] = {}  # client -> its group

    def choose(
        self, trace: Sequence[Event], topic: str | None, *telling: Sequence[Event]
    ) -> list[Event]:
        """The events of the topic that is named; else of the one that the first of
        these events are most about.
        """
        busiest = map(busiest_topic, [*telling, trace])
        self.topic = topic or next(filter(None, busiest), "")
        return [event for event in trace if event.detail.get("topic") == self.topic]

    def parts_of(self, event: Event) -> list[int]:
        """Those of its partitions that an event lists."""
        return [
            number
            for topic, number in event.detail["partitions"]
            if topic == self.topic and number in self.chosen
        ]

    def is_mine(self, event: Event) -> bool:
        """Whether an event is about something that is shown, as far as the event says
        what it is about.
        """
        d = event.detail
        if d.get("topic", self.topic) != self.topic:
            return False
        spoken = {d.get("group"), self.groups.get(event.node)}
        is_of_another_group = bool(spoken - {None, self.group})
        if self.group and is_of_another_group:
            return False
        if "partition" in d:
            return d["partition"] in self.chosen
        return bool(self.chosen)


def busiest_topic(trace: Sequence[Event]) -> str:
    """The topic that most of these events are about, internal ones left aside."""
    topics = [event.detail["topic"] for event in trace if event.detail.get("topic")]
    own = Counter[str](topic for topic in topics if not topic.startswith("__"))
    return max(own, key=lambda topic: (own[topic], topic), default="")


def busiest_partitions(mine: Sequence[Event], most: int) -> list[int]:
    """As many partitions as may be shown, those with the most of these events first."""
    named = [event.detail.get("partition") for event in mine]
    used = Counter(number for number in named if isinstance(number, int))
    sizes = [
        event.detail["partitions"]
        for event in mine
        if event.kind in ("TopicCreated", "PartitionsCreated")
    ]
    there = range(max(sizes, default=0))
    by_use = sorted({*there, *used}, key=lambda number: (-used[number], number))
    return sorted(by_use[:most])


def busiest_group(trace: Sequence[Event], topic: str) -> str:
    """The group that commits most in the topic; where nobody does, the one that most is
    told of.
    """
    commits = [
        event
        for event in trace
        if event.kind == "OffsetCommitted" and event.detail["topic"] == topic
    ]
    groups = [event.detail.get("group") for event in commits or trace]
    named = Counter(group for group in groups if group)
    return max(named, key=lambda group: named[group], default="")


def groups_of_members(trace: Sequence[Event]) -> dict[str, str]:
    """Client -> its group, for clients that name one. (A broker names many.)"""
    speak = ("MemberStateChanged", "PartitionsAssigned", "CommitSent")
    return {event.node: event.detail["group"] for event in trace if event.kind in speak}


def letters(keys: Iterable[str | None]) -> Letters:
    """One to three letters for each key, different as far as three letters suffice:
    alice -> a, customer-17 -> 17.
    """
    texts = sorted({key for key in keys if key is not None})
    common = _beginning(texts)
    rests = {text: text[len(common) :] or text for text in texts}
    found: Letters = {None: "–"}

    for length in (1, 2, 3):
        short = {text: rest[:length] for text, rest in rests.items()}
        found.update(short)
        # an l alone looks like a 1
        if len(set(short.values())) == len(short) and "l" not in short.values():
            break
    return found


def _beginning(texts: Sequence[str]) -> str:
    """The common beginning of all texts, unless it is part of a number or a short word.
    texts: sorted, so the common beginning of the first and the last is common to all.
    """
    if len(texts) < 2:
        return ""
    first = texts[0]
    last = texts[-1]
    common = first
    while not last.startswith(common) or _is_cut_in_a_word(common):
        common = common[:-1]
    return common


def _is_cut_in_a_word(common: str) -> bool:
    """Whether what follows would be the rest of a number or of a short word."""
    end = common[-1:]
    return end.isdigit() or (end.isalnum() and len(common) < 4)


def legend(known: Letters, most: int = 6) -> str:
    """a alice · b bob, where it says more than the letters do and is short enough to
    read.
    """
    pairs = [
        f"{letter} {key}"
        for key, letter in known.items()
        if key is not None and letter != key
    ]
    if not pairs or len(pairs) > most:
        return ""
    return "keys: " + " · ".join(pairs)
