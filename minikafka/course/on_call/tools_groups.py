"""kafka-consumer-groups, with the columns of Apache Kafka 4.3.1's."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from minikafka.clients.assigning import decode_assignment
from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call.commands import Given, Refused, whole
from minikafka.course.on_call.tools_topics import leaders, offset_at
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

NOT_FOUND = (
    "Error: Executing consumer group command failed due to"
    " org.apache.kafka.common.errors.GroupIdNotFoundException: Group {} not found."
)
NOT_INACTIVE = (
    "Error: Assignments can only be reset if the group '{}' is inactive, but the"
    " current state is {}."
)
NO_MEMBERS = "Consumer group '{}' has no active members."
HEADINGS = (
    "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
)
OF_EACH = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
LATEST, EARLIEST = -1, -2


class Member(NamedTuple):
    """As DescribeGroups tells of it."""

    member_id: str
    client_id: str
    host: str
    partitions: list[TopicPartition]


class Group(NamedTuple):
    """A group, and who coordinates it."""

    name: str
    coordinator: int
    state: str
    assignor: str
    members: list[Member]


def listed(world: "World", given: Given) -> str:
    """kafka-consumer-groups --list"""
    names: set[str] = set()
    for broker in world.ask("Metadata", {"topics": []}).brokers:
        told = world.ask(
            "ListGroups",
            {},
            broker.node_id,
        )
        names.update(group.group_id for group in told.groups)
    return "\n".join(sorted(names))


def describe(world: "World", given: Given) -> str:
    """kafka-consumer-groups --describe"""
    name = given["--group"]
    group = find(world, name)
    if group is None:
        return NOT_FOUND.format(name)
    if "--members" in given:
        lines = _members(group, "--verbose" in given)
    elif "--state" in given:
        lines = _state(group)
    else:
        lines = _offsets(world, group)
    if not group.members:
        lines.append(NO_MEMBERS.format(name))
    return "\n".join(lines)


def find(world: "World", name: str) -> Group | None:
    """What its coordinator says of it; None if there is none. Raises KafkaError where
    no coordinator is.
    """
    coordinator = _coordinator(world, name)
    told = world.ask(
        "DescribeGroups",
        {"groups": [name]},
        coordinator,
    ).groups[0]
    if told.error_code == Error.GROUP_ID_NOT_FOUND or told.group_state == "Dead":
        return None
    if told.error_code:
        raise KafkaError(Error(told.error_code))
    members: list[Member] = []
    for each in told.members:
        assignment = each.member_assignment
        partitions = decode_assignment(assignment) if assignment else []
        host = f"/10.0.0.{len(members) + 11}"
        members.append(
            Member(
                each.member_id,
                each.client_id,
                host,
                partitions,
            )
        )
    return Group(
        name,
        coordinator,
        told.group_state,
        told.protocol_data,
        members,
    )


def _coordinator(world: "World", name: str) -> int:
    """Ask for it, as long as an admin client would."""
    for _ in range(20):
        body = {"coordinator_keys": [name]}
        (found,) = world.ask("FindCoordinator", body).coordinators
        if not found.error_code:
            return int(found.node_id)
        world.cluster.run_ms(500)
    raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE)


def _state(group: Group) -> list[str]:
    """With --state."""
    where = f"kafka-{group.coordinator}:9092  ({group.coordinator})"
    width = max(15, len(group.name))
    rows = [
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (group.name, where, group.assignor or "-", group.state, len(group.members)),
    ]
    return [
        f"{name:{width}} {place:25} {strategy:20} {state:20} {members}"
        for name, place, strategy, state, members in rows
    ]


def _members(group: Group, verbose: bool) -> list[str]:
    """With --members, and --verbose."""
    ids = max([15, *(len(each.member_id) for each in group.members)])
    width = max(15, len(group.name))
    heading = [
        "GROUP",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
        "#PARTITIONS",
    ]
    rows = [[*heading, *OF_EACH]]
    for each in group.members:
        count = str(len(each.partitions))
        shown = _by_topic(each.partitions)
        rows.append(
            [
                group.name,
                each.member_id,
                each.host,
                each.client_id,
                count,
                "-",
                shown,
                "-",
                "-",
            ]
        )
    widths = [
        width,
        ids,
        15,
        15,
        15,
        15,
        20,
        15,
        20,
    ]
    shown_columns = 9 if verbose else 5
    lines = []
    for row in rows:
        cells = list(
            zip(
                row,
                widths,
                strict=True,
            )
        )[:shown_columns]
        lines.append(" ".join(cell.ljust(wide) for cell, wide in cells))
    return lines


def _by_topic(partitions: Iterable[TopicPartition]) -> str:
    """orders:0,2"""
    found: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(str(number))
    return ", ".join(f"{topic}:{','.join(each)}" for topic, each in found.items())


def _offsets(world: "World", group: Group) -> list[str]:
    """With neither: a row for each partition."""
    committed = committed_offsets(world, group)
    owners = {}
    for member in group.members:
        for partition in member.partitions:
            owners[partition] = member
    ends = _ends(world, {*committed, *owners})
    rows = [HEADINGS.split(" ")]
    for partition in sorted({*committed, *owners}):
        owner = owners.get(partition)
        offset = committed.get(partition)
        end = ends.get(partition)
        lag = None if offset is None or end is None else end - offset
        rows.append(
            [
                group.name,
                partition.topic,
                str(partition.partition),
                _or_dash(offset),
                _or_dash(end),
                _or_dash(lag),
                owner.member_id if owner else "-",
                owner.host if owner else "-",
                owner.client_id if owner else "-",
            ]
        )
    widths = [
        15,
        15,
        10,
        15,
        15,
        15,
        15,
        15,
        0,
    ]
    for column in (0, 1, 6):
        widths[column] = max(15, *(len(row[column]) for row in rows))
    return [
        " ".join(
            cell.ljust(wide)
            for cell, wide in zip(
                row,
                widths,
                strict=True,
            )
        )
        for row in rows
    ]


def _or_dash(number: int | None) -> str:
    """What isn't there is a dash."""
    return "-" if number is None else str(number)


def committed_offsets(world: "World", group: Group) -> dict[TopicPartition, int]:
    """What the group has committed."""
    asked = {
        "group_id": group.name,
        "topics": None,
    }
    body = {
        "groups": [asked],
        "require_stable": False,
    }
    [told] = world.ask(
        "OffsetFetch",
        body,
        group.coordinator,
    ).groups
    names = {topic.topic_id: name for name, topic in world.image().topics.items()}
    found = {}
    for topic in told.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for each in topic.partitions:
            found[TopicPartition(name, each.partition_index)] = each.committed_offset
    return found


def _ends(world: "World", partitions: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Where each partition ends, if somebody leads it."""
    ends = {}
    for topic in {partition.topic for partition in partitions}:
        led = leaders(world, topic)
        for partition in partitions:
            leader = led.get(partition.partition, -1)
            if partition.topic == topic and leader >= 0:
                number = partition.partition
                ends[partition] = offset_at(
                    world,
                    topic,
                    number,
                    LATEST,
                    leader,
                )
    return ends


# -- resetting


def reset(world: "World", given: Given) -> str:
    """kafka-consumer-groups --reset-offsets"""
    name = given["--group"]
    group = find(world, name)
    if group is None:
        return NOT_FOUND.format(name)
    heading = f"{'GROUP':15} {'TOPIC':15} {'PARTITION':10} {'NEW-OFFSET':15}".rstrip()
    if group.state not in ("Empty", "Dead"):
        return f"{NOT_INACTIVE.format(name, group.state)}\n{heading}"
    wanted = _wanted(
        world,
        group,
        given,
    )
    if "--execute" in given:
        world.cluster.alter_offsets(name, wanted)
    lines = [heading]
    for (topic, number), offset in sorted(wanted.items()):
        lines.append(f"{name:15} {topic:15} {number:<10} {offset:<15}".rstrip())
    return "\n".join(lines)


def _wanted(world: "World", group: Group, given: Given) -> dict[TopicPartition, int]:
    """The new offset of each partition that is to be reset."""
    topic, _, numbers = given["--topic"].partition(":")
    led = leaders(world, topic)
    chosen = list(led)
    if numbers:
        if not all(each.isdigit() and int(each) in led for each in numbers.split(",")):
            raise Refused(f"{topic} has the partitions {', '.join(map(str, led))}.")
        chosen = [int(each) for each in numbers.split(",")]
    committed = committed_offsets(world, group)
    found = {}
    for number in chosen:
        partition = TopicPartition(topic, number)
        at = _Place(
            world,
            topic,
            number,
            led[number],
            committed.get(partition),
        )
        found[partition] = at.meant(given)
    return found


class _Place(NamedTuple):
    """A partition in which an offset is looked for."""

    world: "World"
    topic: str
    number: int
    leader: int
    committed: int | None

    def meant(self, given: Given) -> int:
        """The offset, within what the log has."""
        first, end = self._at(EARLIEST), self._at(LATEST)
        if "--to-earliest" in given:
            return first
        if "--to-latest" in given:
            return end
        if "--to-offset" in given:
            offset = whole(given, "--to-offset")
        elif "--shift-by" in given:
            try:
                shift = int(given["--shift-by"])
            except ValueError:
                raise Refused("--shift-by is a whole number, such as -5.") from None
            offset = (first if self.committed is None else self.committed) + shift
        elif "--by-duration" in given:
            began_ms = self.world.now_ms - _duration_ms(given["--by-duration"])
            offset = self._at(MIDNIGHT_MS + began_ms)
            offset = end if offset < 0 else offset
        else:
            raise Refused(
                "--reset-offsets needs one of --to-earliest, --to-latest, --to-offset,"
                " --shift-by, --by-duration."
            )
        return min(max(offset, first), end)

    def _at(self, when: int) -> int:
        """ListOffsets at the partition's leader."""
        return offset_at(
            self.world,
            self.topic,
            self.number,
            when,
            self.leader,
        )


def _duration_ms(text: str) -> int:
    """As ISO 8601 has it: PT15M, PT1H, PT90S."""
    units = {
        "H": 3_600_000,
        "M": 60_000,
        "S": 1000,
    }
    number, unit = text[2:-1], text[-1:]
    if not text.startswith("PT") or unit not in units or not number.isdigit():
        raise Refused("--by-duration is one such as PT15M: fifteen minutes.")
    return int(number) * units[unit]
