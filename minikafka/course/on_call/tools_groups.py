"""kafka-consumer-groups, with the columns of Apache Kafka 4.4.0's."""

from typing import Any, NamedTuple

from minikafka.clients.assigning import decode_assignment
from minikafka.clients.structs import TopicPartition
from minikafka.course.on_call import asking
from minikafka.course.on_call.asking import EARLIEST, FOR_GROUPS, LATEST, leaders
from minikafka.course.on_call.columns import Row, columns
from minikafka.course.on_call.moments import timestamp_ms
from minikafka.course.on_call.shell import Said
from minikafka.course.on_call.usage import LONG_MAX, Given, Refused, number_in, whole
from minikafka.course.on_call.world import World
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.wire.errors import Error

NOT_EXECUTED = (
    "WARN: No action will be performed as the --execute option is missing. In version"
    " 5.0, this command will require either --dry-run or --execute to be specified. You"
    " should add the --dry-run option explicitly if you are scripting this command and"
    " want to keep the current default behavior without prompting."
)
NOT_FOUND = (
    "Error: Executing consumer group command failed due to"
    " org.apache.kafka.common.errors.GroupIdNotFoundException: Group {} not found."
)
NOT_INACTIVE = (
    "Error: Assignments can only be reset if the group '{}' is inactive, but the"
    " current state is {}."
)
REBALANCING = ("PreparingRebalance", "CompletingRebalance")
TABLES = {"--offsets", "--members", "--state"}
NO_MEMBERS = "Consumer group '{}' has no active members."
REBALANCES = "Warning: Consumer group '{}' is rebalancing."
OF_OFFSETS = [
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
]
OF_MEMBERS = [
    "GROUP",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
    "#PARTITIONS",
]
EPOCH = "LEADER-EPOCH"  # a column of --offsets --verbose
VERBOSE = [
    "CURRENT-EPOCH",
    "CURRENT-ASSIGNMENT",
    "TARGET-EPOCH",
    "TARGET-ASSIGNMENT",
]
OF_STATE = (
    "GROUP",
    "COORDINATOR (ID)",
    "ASSIGNMENT-STRATEGY",
    "STATE",
    "#MEMBERS",
)
OF_RESET = [
    "GROUP",
    "TOPIC",
    "PARTITION",
    "NEW-OFFSET",
]
# how wide the tool makes its columns, at least
OFFSETS_WIDE = [15, 15, 10, 15, 15, 15, 15, 15]
MEMBERS_WIDE = [15] * 5
VERBOSE_WIDE = [15, 20, 15, 20]
STATE_WIDE = [15, 25, 20, 20]
LIST_WIDE = [25, 20]
RESET_WIDE = [15, 15, 10]
NONE = "-"  # what isn't there
UNITS_MS = {
    "H": 3_600_000,
    "M": 60_000,
    "S": 1000,
}
TO_COME = (
    "{} is still to come on this night, so it would skip all there is. date says which"
    " day it is, and what time, in UTC; --to-latest skips all."
)
RESETS = (
    "--to-earliest",
    "--to-latest",
    "--to-current",
    "--to-offset",
    "--shift-by",
    "--by-duration",
    "--to-datetime",
)
TOO_HIGH = (
    "WARN New offset ({}) is higher than latest offset for topic partition {}. Value"
    " will be set to {}. (org.apache.kafka.tools.GroupOffsetsResetter)"
)
TOO_LOW = (
    "WARN New offset ({}) is lower than earliest offset for topic partition {}. Value"
    " will be set to {}. (org.apache.kafka.tools.GroupOffsetsResetter)"
)
DELETED = "Deletion of requested consumer groups ({}) was successful."
NOT_DELETED = "Error: Deletion of some consumer groups failed:"
NOT_DELETED_ROW = "* Group '{}' could not be deleted due to: {}: {}"


class Member(NamedTuple):
    """A member as DescribeGroups describes it."""

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


def listed(world: World, given: Given) -> str:
    """kafka-consumer-groups --list"""
    states = _states(world)
    if "--type" in given:
        rows = [("GROUP", "TYPE"), *((name, "Classic") for name in states)]
        return columns(rows, least=LIST_WIDE)
    if "--state" not in given:
        return "\n".join(states)
    rows = [("GROUP", "STATE"), *states.items()]
    return columns(rows, least=LIST_WIDE)


def _states(world: World) -> dict[str, str]:
    """All groups, of all coordinators, in order: name -> state."""
    states: dict[str, str] = {}
    for broker in asking.live_brokers(world.brokers):
        told = world.brokers.ask("ListGroups", {}, broker)
        states |= {group.group_id: group.group_state for group in told.groups}
    return dict(sorted(states.items()))


def describe(world: World, given: Given) -> Said:
    """kafka-consumer-groups --describe"""
    if len(TABLES & given.keys()) > 1:
        raise Refused(f"One table at a time: {', '.join(sorted(TABLES))}.")
    if "--all-groups" in given:
        names = list(_states(world))
    elif "--group" in given:
        names = given["--group"].split(",")
    else:
        raise Refused("--describe needs --group GROUP or --all-groups.")
    told = [_described(world, name, given) for name in names]
    tables = "\n\n".join(each.out for each in told if each.out)
    return Said(tables, "\n".join(each.err for each in told if each.err))


def _described(world: World, name: str, given: Given) -> Said:
    """The table that kafka-consumer-groups --describe prints for one group."""
    group = find(world, name)
    if group is None:
        return Said(NOT_FOUND.format(name))
    if "--members" in given:
        table = _members(group, "--verbose" in given)
    elif "--state" in given:
        table = _state(group)
    else:
        table = _offsets(world, group, "--verbose" in given)
    if group.state == "Empty":
        return Said(table, NO_MEMBERS.format(name))
    if group.state in REBALANCING:
        return Said(table, REBALANCES.format(name))
    return Said(table)


def find(world: World, name: str) -> Group | None:
    """The coordinator's description of a group; None if there is none. Raises
    KafkaError if there is no coordinator.
    """
    coordinator = asking.coordinator(world.brokers, name, FOR_GROUPS)
    answer = world.brokers.ask("DescribeGroups", {"groups": [name]}, coordinator)
    [told] = answer.groups
    if told.error_code == Error.GROUP_ID_NOT_FOUND or told.group_state == "Dead":
        return None
    asking.check(told)
    return Group(
        name=name,
        coordinator=coordinator,
        state=told.group_state,
        assignor=told.protocol_data,
        members=_read_members(world, told.members),
    )


def _read_members(world: World, told: Any) -> list[Member]:
    """With what they are assigned, and the addresses of their pods."""
    members = []
    for each in told:
        partitions = []
        if each.member_assignment:
            partitions = decode_assignment(each.member_assignment)
        member = Member(
            member_id=each.member_id,
            client_id=each.client_id,
            host=f"/{world.address_of(each.client_id)}",
            partitions=partitions,
        )
        members.append(member)
    return members


def _state(group: Group) -> str:
    """The table of --describe --state: coordinator, assignor, state, number of
    members.
    """
    coordinator = f"kafka-{group.coordinator}:9092  ({group.coordinator})"
    assignor = group.assignor or NONE
    count = str(len(group.members))
    row = (group.name, coordinator, assignor, group.state, count)
    return columns([OF_STATE, row], least=STATE_WIDE)


def _members(group: Group, verbose: bool) -> str:
    """With --members, and --verbose."""
    rows = [OF_MEMBERS]
    wide = MEMBERS_WIDE
    if verbose:
        rows = [OF_MEMBERS + VERBOSE]
        wide = MEMBERS_WIDE + VERBOSE_WIDE
    for member in group.members:
        count = str(len(member.partitions))
        row = [group.name, member.member_id, member.host, member.client_id, count]
        if verbose:
            row += [NONE, _by_topic(member.partitions), NONE, NONE]
        rows.append(row)
    return columns(rows, least=wide)


def _by_topic(partitions: list[TopicPartition]) -> str:
    """Partitions grouped by topic, such as orders:0,2."""
    found: dict[str, list[str]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(str(number))
    texts = [f"{topic}:{','.join(numbers)}" for topic, numbers in found.items()]
    return ", ".join(texts)


def _offsets(world: World, group: Group, verbose: bool) -> str:
    """With neither: a row for each partition. verbose: with the leader epoch of each
    offset.
    """
    told = _committed(world, group)
    committed = {place: each.committed_offset for place, each in told.items()}
    owners = {}
    for member in group.members:
        for partition in member.partitions:
            owners[partition] = member
    partitions = sorted({*committed, *owners})
    ends = _ends(world, partitions)
    rows: list[list[str]] = [list(OF_OFFSETS)]
    for partition in partitions:
        offset = committed.get(partition)
        end = ends.get(partition)
        lag = None
        if offset is not None and end is not None:
            lag = end - offset
        rows.append(
            [
                group.name,
                partition.topic,
                str(partition.partition),
                _or_dash(offset),
                _or_dash(end),
                _or_dash(lag),
                *_owner(owners.get(partition)),
            ]
        )
    wide = list(OFFSETS_WIDE)
    if verbose:
        epochs = [EPOCH]
        for partition in partitions:
            each = told.get(partition)
            epoch = -1 if each is None else each.committed_leader_epoch
            epochs.append(NONE if epoch < 0 else str(epoch))
        for row, epoch in zip(rows, epochs, strict=True):
            row.insert(3, epoch)
        wide.insert(3, len(EPOCH) + 3)
    return columns(rows, least=wide)


def _owner(member: Member | None) -> Row:
    """The owner of a partition, in three columns."""
    if member is None:
        return [NONE] * 3
    return [member.member_id, member.host, member.client_id]


def _or_dash(number: int | None) -> str:
    """The number, or a dash for None."""
    return NONE if number is None else str(number)


def committed_offsets(world: World, group: Group) -> dict[TopicPartition, int]:
    """The offsets that the group has committed."""
    told = _committed(world, group)
    return {place: each.committed_offset for place, each in told.items()}


def _committed(world: World, group: Group) -> dict[TopicPartition, Any]:
    """Partition -> what OffsetFetch says about it."""
    asked = {
        "group_id": group.name,
        "topics": None,
    }
    body = {
        "groups": [asked],
        "require_stable": False,
    }
    [told] = world.brokers.ask("OffsetFetch", body, group.coordinator).groups
    names = {
        topic.topic_id: name for name, topic in world.brokers.image().topics.items()
    }
    found = {}
    for topic in told.topics:
        name = topic.name or names.get(topic.topic_id, "")
        for each in topic.partitions:
            partition = TopicPartition(name, each.partition_index)
            found[partition] = each
    return found


def _ends(world: World, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    """Where each partition ends, if it has a leader."""
    led: dict[str, dict[int, int]] = {}
    ends = {}
    for partition in partitions:
        topic, number = partition
        if topic not in led:
            led[topic] = leaders(world.brokers, topic)
        leader = led[topic].get(number, -1)
        if leader >= 0:
            ends[partition] = asking.offset_at(world.brokers, partition, LATEST, leader)
    return ends


# -- resetting


def reset(world: World, given: Given) -> Said:
    """kafka-consumer-groups --reset-offsets"""
    does_nothing = "--execute" not in given
    warnings = []
    if does_nothing and "--dry-run" not in given:
        warnings.append(NOT_EXECUTED)
    name = given["--group"]
    group = find(world, name)
    if group is None:
        return Said(NOT_FOUND.format(name), "\n".join(warnings))
    rows: list[Row] = [OF_RESET]
    if group.state not in ("Empty", "Dead"):
        refusal = NOT_INACTIVE.format(name, group.state)
        table = columns(rows, least=RESET_WIDE)
        return Said(f"{refusal}\n{table}", "\n".join(warnings))
    wanted = _wanted(world, group, given, warnings)
    if not does_nothing:
        world.cluster.alter_offsets(name, wanted)
    for (topic, number), offset in sorted(wanted.items()):
        rows.append([name, topic, str(number), str(offset)])
    return Said(columns(rows, least=RESET_WIDE), "\n".join(warnings))


def _wanted(
    world: World, group: Group, given: Given, warnings: list[str]
) -> dict[TopicPartition, int]:
    """The new offset of each partition that is to be reset. warnings: gets a line where
    that isn't the one that was asked for.
    """
    committed = committed_offsets(world, group)
    if "--all-topics" in given:
        chosen = sorted(committed)
    elif "--topic" in given:
        chosen = _chosen(world, given["--topic"])
    else:
        raise Refused("--reset-offsets needs --topic TOPIC or --all-topics.")
    found = {}
    for partition in chosen:
        leader = leaders(world.brokers, partition.topic)[partition.partition]
        place = _Place(
            world=world,
            partition=partition,
            leader=leader,
            committed=committed.get(partition),
        )
        found[partition] = place.meant(given, warnings)
    return found


def _chosen(world: World, text: str) -> list[TopicPartition]:
    """orders, or orders:0,2. Raises Refused."""
    topic, _, wanted = text.partition(":")
    known = [str(number) for number in leaders(world.brokers, topic)]
    numbers = wanted.split(",") if wanted else known
    if not set(numbers) <= set(known):
        raise Refused(f"{topic} has the partitions {', '.join(known)}.")
    return [TopicPartition(topic, int(number)) for number in numbers]


class _Place(NamedTuple):
    """A partition in which an offset is looked for."""

    world: World
    partition: TopicPartition
    leader: int
    committed: int | None

    def meant(self, given: Given, warnings: list[str]) -> int:
        """The offset, within what the log has."""
        how = [name for name in RESETS if name in given]
        if len(how) != 1:
            raise Refused(f"--reset-offsets needs one of {', '.join(RESETS)}.")
        first = self._at(EARLIEST)
        end = self._at(LATEST)
        offset = self._asked(how[0], given, first, end)
        where = f"{self.partition.topic}-{self.partition.partition}"
        if offset > end:
            warnings.append(TOO_HIGH.format(offset, where, end))
        if offset < first:
            warnings.append(TOO_LOW.format(offset, where, first))
        return min(max(offset, first), end)

    def _asked(self, how: str, given: Given, first: int, end: int) -> int:
        """The offset that one of RESETS means."""
        committed = self.committed
        if how == "--to-earliest":
            return first
        if how == "--to-latest":
            return end
        if how == "--to-current":
            return end if committed is None else committed
        if how == "--to-offset":
            return whole(given, how, most=LONG_MAX)
        if how == "--shift-by":
            begin = first if committed is None else committed
            return begin + _shift(given[how])
        # a time: the first record since then, if there is one
        if how == "--to-datetime":
            since_ms = timestamp_ms(how, given[how])
            if since_ms > MIDNIGHT_MS + self.world.now_ms:
                raise Refused(TO_COME.format(given[how]))
        else:
            ago_ms = _duration_ms(given[how])
            since_ms = MIDNIGHT_MS + self.world.now_ms - ago_ms
        offset = self._at(max(since_ms, 0))
        return end if offset < 0 else offset

    def _at(self, when: int) -> int:
        """ListOffsets at the partition's leader."""
        return asking.offset_at(self.world.brokers, self.partition, when, self.leader)


def _shift(text: str) -> int:
    """-5, or 1. Raises Refused."""
    number = number_in(text, LONG_MAX)
    if number is None:
        raise Refused("--shift-by is a whole number, such as -5.")
    return number


def _duration_ms(text: str) -> int:
    """A duration in ISO 8601, in ms: PT15M, PT1H, PT90S. Raises Refused."""
    number, unit = number_in(text[2:-1]), text[-1:]
    is_known = text.startswith("PT") and unit in UNITS_MS
    if not is_known or number is None or number < 0:
        raise Refused("--by-duration is one such as PT15M: fifteen minutes.")
    return number * UNITS_MS[unit]


# -- deleting


def delete(world: World, given: Given) -> str:
    """kafka-consumer-groups --delete"""
    names = given["--group"].split(",")
    refused = []
    for name in names:
        coordinator = asking.coordinator(world.brokers, name, FOR_GROUPS)
        body = {"groups_names": [name]}
        [told] = world.brokers.ask("DeleteGroups", body, coordinator).results
        error = Error(told.error_code)
        if error is not Error.NONE:
            java = asking.java_class(error)
            refused.append(NOT_DELETED_ROW.format(name, java, error.message))
    if refused:
        return "\n".join([NOT_DELETED, *refused])
    return DELETED.format(", ".join(f"'{name}'" for name in names))
