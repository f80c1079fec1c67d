"""The topology of a Streams application (KIP-1071): what the application reads, writes
and stores, according to its first member, and what follows for the topics.

A subtopology reads source topics, and repartition topics that another one writes; its
state is kept in changelog topics. Repartition and changelog topics are internal: how
many partitions they must have follows from the source topics, and the broker creates
those that are missing. Topics that are joined must have the same number of partitions.

`configure` is a pure function of a topology and the topics of the cluster. (Apache
Kafka: InternalTopicManager, RepartitionTopics, CopartitionedTopicsEnforcer,
ChangelogTopics.)
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from minikafka.cluster.metadata import Image
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

MOST_NAMED = 3  # topics in one sentence


class Status(IntEnum):
    """The statuses that a heartbeat's answer can have beside the assignment."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Problem(Exception):
    """The topics aren't as the topology needs them."""

    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class TopicInfo(NamedTuple):
    """An internal topic. partitions: 0 if they follow from other topics. configs: in
    the order in which the member gave them.
    """

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]

    def described(self) -> dict[str, Any]:
        """A TopicInfo of StreamsGroupDescribe."""
        return {
            "name": self.name,
            "partitions": self.partitions,
            "replication_factor": self.replication_factor,
            "topic_configs": [
                {"key": key, "value": text} for key, text in self.configs
            ],
        }

    def creatable(self) -> dict[str, Any]:
        """The topic as CreateTopics takes it."""
        return {
            "name": self.name,
            "num_partitions": self.partitions,
            "replication_factor": self.replication_factor or -1,
            "configs": [{"name": key, "value": text} for key, text in self.configs],
        }


class Subtopology(NamedTuple):
    """inputs: all topics that it reads. copartitioned: groups of source topics that
    must have equally many partitions.
    """

    subtopology_id: str
    inputs: tuple[str, ...]
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelogs: tuple[TopicInfo, ...]
    repartition_sources: tuple[TopicInfo, ...]
    copartitioned: tuple[frozenset[str], ...]

    def described(self) -> dict[str, Any]:
        """A Subtopology of StreamsGroupDescribe."""
        return {
            "subtopology_id": self.subtopology_id,
            "source_topics": sorted(self.source_topics),
            "repartition_sink_topics": sorted(self.repartition_sink_topics),
            "state_changelog_topics": _described(self.changelogs),
            "repartition_source_topics": _described(self.repartition_sources),
        }


def _described(topics: Iterable[TopicInfo]) -> list[dict[str, Any]]:
    return [topic.described() for topic in sorted(topics)]


@dataclass(frozen=True, slots=True)
class Topology:
    """epoch: grows with a new version of the application, which Kafka 4.4 refuses.
    subtopologies: by id. readers: topic -> id of the subtopology that reads it.
    """

    epoch: int
    subtopologies: Mapping[str, Subtopology]
    readers: Mapping[str, str]

    def __iter__(self) -> Iterator[Subtopology]:
        return iter(self.subtopologies.values())

    @property
    def required_topics(self) -> set[str]:
        names: set[str] = set()
        for subtopology in self:
            names.update(subtopology.inputs)
            names.update(each.name for each in subtopology.changelogs)
        return names

    def described(self) -> dict[str, Any]:
        """The Topology of StreamsGroupDescribe."""
        return described_topology(self.epoch, self.subtopologies)


def described_topology(
    epoch: int, subtopologies: Mapping[str, Subtopology]
) -> dict[str, Any]:
    shown = [subtopologies[name].described() for name in sorted(subtopologies)]
    return {"epoch": epoch, "subtopologies": shown}


def topology_of(said: Message) -> Topology:
    """The topology from a heartbeat or a StreamsGroupTopology, which have the same
    fields. Errors: UNKNOWN_SERVER_ERROR, as in Apache Kafka, if it makes no sense.
    """
    subtopologies = {}
    for each in said.subtopologies:
        if each.subtopology_id in subtopologies:
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR)
        subtopologies[each.subtopology_id] = _subtopology_of(each)
    if said.epoch < 0:
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR)
    readers = {}
    for each in subtopologies.values():
        readers.update(dict.fromkeys(each.inputs, each.subtopology_id))
    return Topology(said.epoch, subtopologies, readers)


def _subtopology_of(said: Message) -> Subtopology:
    copartitioned = []
    repartition_sources = _topics_of(said.repartition_source_topics)
    for group in said.copartition_groups:
        names = [
            _at(repartition_sources, number).name
            for number in group.repartition_source_topics
        ]
        names += [_at(said.source_topics, number) for number in group.source_topics]
        copartitioned.append(frozenset(names))
    repartitioned = [each.name for each in repartition_sources]
    return Subtopology(
        subtopology_id=said.subtopology_id,
        inputs=(*said.source_topics, *repartitioned),
        source_topics=tuple(said.source_topics),
        repartition_sink_topics=tuple(said.repartition_sink_topics),
        changelogs=_topics_of(said.state_changelog_topics),
        repartition_sources=repartition_sources,
        copartitioned=tuple(copartitioned),
    )


def _at(listed: Sequence[Any], number: int) -> Any:
    if not 0 <= number < len(listed):
        raise KafkaError(Error.UNKNOWN_SERVER_ERROR)
    return listed[number]


def _topics_of(said: Iterable[Message]) -> tuple[TopicInfo, ...]:
    topics = []
    for each in said:
        configs = tuple((config.key, config.value) for config in each.topic_configs)
        topic = TopicInfo(each.name, each.partitions, each.replication_factor, configs)
        topics.append(topic)
    return tuple(topics)


class Configured(NamedTuple):
    """A topology together with the cluster's topics. tasks: how many each subtopology
    has. subtopologies: with the number of partitions of each internal topic. Both are
    empty if that can't be known. missing: internal topics to create.
    """

    epoch: int
    tasks: Mapping[str, int] = {}
    subtopologies: Mapping[str, Subtopology] = {}
    missing: Sequence[TopicInfo] = ()
    problem: Problem | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None

    def described(self) -> dict[str, Any]:
        """The Topology of StreamsGroupDescribe."""
        return described_topology(self.epoch, self.subtopologies)


def configure(topology: Topology, image: Image) -> Configured:
    """Work out tasks and internal topics. Errors: STREAMS_INVALID_TOPOLOGY if the
    topology can't work with any topics.
    """
    try:
        _check_sources(topology, image)
        counts = _partition_counts(topology, image)
        tasks = {}
        subtopologies = {}
        for each in topology:
            widest = max(counts.of(topic) for topic in each.inputs)
            tasks[each.subtopology_id] = widest
            subtopologies[each.subtopology_id] = each._replace(
                changelogs=counts.decided_for(each.changelogs),
                repartition_sources=counts.decided_for(each.repartition_sources),
            )
        missing = _missing_internal(subtopologies, image)
    except Problem as problem:
        return Configured(topology.epoch, problem=problem)
    found = None
    if missing:
        names = [topic.name for topic in missing]
        detail = f"Internal topics are missing: {_summary(names)}"
        found = Problem(Status.MISSING_INTERNAL_TOPICS, detail)
    return Configured(topology.epoch, tasks, subtopologies, missing, found)


def _check_sources(topology: Topology, image: Image) -> None:
    missing: set[str] = set()
    for subtopology in topology:
        missing.update(set(subtopology.source_topics) - image.topics.keys())
    if missing:
        detail = f"Source topics {_summary(sorted(missing))} are missing."
        raise Problem(Status.MISSING_SOURCE_TOPICS, detail)


def _summary(names: Sequence[str]) -> str:
    text = ", ".join(names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{text} and {more} additional topics" if more > 0 else text


class _Counts:
    """How many partitions topics have, or should have. decided: for internal topics."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.decided: dict[str, int] = {}

    def of(self, topic: str) -> int:
        known = self._image.topics.get(topic)
        return len(known.partitions) if known else self.decided[topic]

    def decided_for(self, topics: Iterable[TopicInfo]) -> tuple[TopicInfo, ...]:
        found = []
        for topic in topics:
            partitions = topic.partitions or self.decided[topic.name]
            found.append(topic._replace(partitions=partitions))
        return tuple(found)


def _partition_counts(topology: Topology, image: Image) -> _Counts:
    counts = _Counts(image)
    counts.decided.update(_repartition_counts(topology, counts))
    copartitioned = _Copartitioned(topology, counts)
    for subtopology in topology:
        for group in subtopology.copartitioned:
            copartitioned.enforce(group)
    for subtopology in topology:
        if not subtopology.inputs:
            why = f"No source topics found for subtopology {subtopology.subtopology_id}"
            raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)
        widest = max(counts.of(topic) for topic in subtopology.inputs)
        for changelog in subtopology.changelogs:
            counts.decided[changelog.name] = widest
    return counts


def _repartition_counts(topology: Topology, counts: _Counts) -> dict[str, int]:
    """The partitions of each repartition topic: the number given for it, or else the
    largest number of partitions that is read by a subtopology writing it. Those may be
    from a repartition topic, too.
    """
    found: dict[str, int] = {}
    for subtopology in topology:
        for topic in subtopology.repartition_sources:
            if topic.partitions < 0:
                raise KafkaError(Error.UNKNOWN_SERVER_ERROR)
            if topic.partitions:
                found[topic.name] = topic.partitions
    _follow(topology, found, counts)
    for subtopology in topology:
        if any(sink not in found for sink in subtopology.repartition_sink_topics):
            why = (
                "Failed to compute number of partitions for all repartition topics."
                " There may be loops in the topology that cannot be resolved."
            )
            raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)
    for subtopology in topology:
        if any(topic.name not in found for topic in subtopology.repartition_sources):
            why = (
                "Failed to compute number of partitions for all repartition topics,"
                " because a repartition source topic is never used as a sink topic."
            )
            raise KafkaError(Error.STREAMS_INVALID_TOPOLOGY, why)
    return found


def _follow(topology: Topology, found: dict[str, int], counts: _Counts) -> None:
    """Add what follows from the numbers found so far, from one subtopology to
    the next.
    """
    open_ones = deque(topology)
    waiting: dict[str, list[Subtopology]] = {}
    done = set()
    while open_ones:
        subtopology = open_ones.popleft()
        if subtopology.subtopology_id in done:
            continue
        widest = _widest_known(subtopology, found, counts)
        if widest is None:
            for source in subtopology.repartition_sources:
                waiting.setdefault(source.name, []).append(subtopology)
            continue
        done.add(subtopology.subtopology_id)
        for sink in subtopology.repartition_sink_topics:
            if sink not in found:
                found[sink] = widest
                open_ones.extend(waiting.pop(sink, ()))


def _widest_known(
    subtopology: Subtopology, found: Mapping[str, int], counts: _Counts
) -> int | None:
    known = [counts.of(topic) for topic in subtopology.source_topics]
    for topic in subtopology.repartition_sources:
        if topic.name in found:
            known.append(found[topic.name])
    return max(known, default=None)


class _Copartitioned:
    """The groups of topics that are joined: they get the same number of partitions, or
    must have it already.
    """

    def __init__(self, topology: Topology, counts: _Counts) -> None:
        self._counts = counts
        self._repartitioned: set[str] = set()
        # topics that have a number of their own, and that number
        self._fixed: dict[str, int] = {}
        for subtopology in topology:
            for topic in subtopology.repartition_sources:
                self._repartitioned.add(topic.name)
                if topic.partitions:
                    self._fixed[topic.name] = counts.of(topic.name)
        self._are_alike = len(set(self._fixed.values())) < 2

    def enforce(self, group: frozenset[str]) -> None:
        if not group:
            return
        counts = {name: self._counts.of(name) for name in group}
        repartitioned: dict[str, int] = {}
        others: dict[str, int] = {}
        for name, count in counts.items():
            kind = repartitioned if name in self._repartitioned else others
            kind[name] = count
        if others:
            partitions = next(iter(others.values()))
            if len(set(others.values())) > 1:
                raise _differing(others)
        elif self._fixed:
            partitions = next(iter(self._fixed.values()))
            if not self._are_alike:
                raise _differing(repartitioned)
        else:
            partitions = max(repartitioned.values())
        for name in sorted(repartitioned):
            self._counts.decided[name] = partitions
            if name in self._fixed and counts[name] != partitions:
                detail = (
                    f"Number of partitions [{counts[name]}] of repartition topic"
                    f" [{name}] doesn't match number of partitions [{partitions}] of"
                    " the source topic."
                )
                raise Problem(Status.INCORRECTLY_PARTITIONED_TOPICS, detail)


def _differing(counts: Mapping[str, int]) -> Problem:
    listed = ", ".join(f"{name}={counts[name]}" for name in sorted(counts))
    what = "Following topics do not have the same number of partitions"
    return Problem(Status.INCORRECTLY_PARTITIONED_TOPICS, f"{what}: [{{{listed}}}]")


def _missing_internal(
    subtopologies: Mapping[str, Subtopology], image: Image
) -> list[TopicInfo]:
    missing = {}
    for subtopology in subtopologies.values():
        for topic in (*subtopology.repartition_sources, *subtopology.changelogs):
            missing[topic.name] = topic
    for name in sorted(missing):
        known = image.topics.get(name)
        if known is None:
            continue
        expected = missing.pop(name).partitions
        if len(known.partitions) != expected:
            detail = (
                f"Existing topic {name} has different number of partitions: expected"
                f" {expected}, found {len(known.partitions)}"
            )
            raise Problem(Status.INCORRECTLY_PARTITIONED_TOPICS, detail)
    return sorted(missing.values())
