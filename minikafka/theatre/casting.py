"""Who is shown, where a trace holds too much, and keys as short grey letters: colours
belong to actors.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from minikafka.theatre.play import Story
from minikafka.trace import Event


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
        self.topic = topic or next(
            filter(None, map(busiest_topic, [*telling, trace])), ""
        )
        return [event for event in trace if event.detail.get("topic") == self.topic]

    def parts_of(self, event: Event) -> list[int]:
        """Those of its partitions that an event lists."""
        return [
            number
            for topic, number in event.detail["partitions"]
            if topic == self.topic and number in self.chosen
        ]

    def is_mine(self, event: Event) -> bool:
        d, groups = (
            event.detail,
            {
                event.detail.get("group"),
                self.groups.get(event.node),
            },
        )
        if d.get("topic", self.topic) != self.topic or (
            self.group and groups - {None, self.group}
        ):
            return False
        return d["partition"] in self.chosen if "partition" in d else bool(self.chosen)


def busiest_topic(trace: Sequence[Event]) -> str:
    topics = [event.detail["topic"] for event in trace if event.detail.get("topic")]
    own = Counter(topic for topic in topics if not topic.startswith("__"))
    return max(own, key=lambda topic: (own[topic], topic)) if own else ""


def busiest_partitions(mine: Sequence[Event], most: int) -> list[int]:
    used = Counter(
        event.detail["partition"]
        for event in mine
        if isinstance(event.detail.get("partition"), int)
    )
    sizes = [
        event.detail["partitions"]
        for event in mine
        if event.kind in ("TopicCreated", "PartitionsCreated")
    ]
    everyone = sorted(
        {*range(max(sizes, default=0)), *used},
        key=lambda partition: (-used[partition], partition),
    )
    return sorted(everyone[:most])


def busiest_group(trace: Sequence[Event], topic: str) -> str:
    """The group that commits most in the topic; where nobody does, the one that most is
    told of.
    """
    commits = [
        event
        for event in trace
        if event.kind == "OffsetCommitted" and event.detail["topic"] == topic
    ]
    named = Counter(
        event.detail["group"] for event in commits or trace if event.detail.get("group")
    )
    return next((name for name, _ in named.most_common(1)), "")


def groups_of_members(trace: Sequence[Event]) -> dict[str, str]:
    """Client -> its group, as far as clients speak of one. (A broker speaks of
    many.)
    """
    speak = ("MemberStateChanged", "PartitionsAssigned", "CommitSent")
    return {event.node: event.detail["group"] for event in trace if event.kind in speak}


def letters(keys: Iterable[str | None]) -> dict[str | None, str]:
    """One to three letters for each key, different as far as three letters go: alice ->
    a, customer-17 -> 17.
    """
    texts = sorted({key for key in keys if key is not None})
    # what both begin with, all others do too
    first, last = (texts[0], texts[-1]) if len(texts) > 1 else ("", "")
    common = next(
        first[:n] for n in range(len(first), -1, -1) if last.startswith(first[:n])
    )
    while common and (
        common[-1].isdigit() or (common[-1].isalnum() and len(common) < 4)
    ):
        common = common[:-1]
    rests = {text: text[len(common) :] or text for text in texts}
    for length in (1, 2, 3):
        short = {text: rest[:length] for text, rest in rests.items()}
        if len(set(short.values())) == len(short):
            break
    return {None: "–"} | dict(short if texts else {})


def legend(known: dict[str | None, str], most: int = 6) -> str:
    """a alice · b bob, where it says more than the letters do and is short enough to
    read.
    """
    pairs = [
        f"{letter} {key}"
        for key, letter in known.items()
        if key is not None and letter != key
    ]
    return "keys: " + " · ".join(pairs) if pairs and len(pairs) <= most else ""
