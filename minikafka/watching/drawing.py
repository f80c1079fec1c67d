"""What is seen, drawn with the theatre's boxes for a page of any width: brokers above,
then topics with every partition's leader and replicas, then groups: who reads
what, and how far behind.

Colours are those of all pictures: a broker has its number's, a member its letter's, and
vermilion is trouble.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minikafka.theatre.actors import actor_colour
from minikafka.theatre.boxes import Item, Places, Stage, column, part, row, space, words
from minikafka.theatre.drawing import Box, Drawing, fit, has_room, text_width, widest
from minikafka.theatre.nodes import Card, Chip, card_high, colour, draw_disc
from minikafka.theatre.nodes import listed as brokers_listed
from minikafka.theatre.text import counted, dotted, key_part
from minikafka.watching.problems import SETTLED
from minikafka.watching.seen import NOBODY, UNKNOWN, Group, Member, Part, Place, Seen
from minikafka.watching.watched import Watched

# what a page can hold and a person can follow; the rest is counted
MOST_TOPICS, MOST_GROUPS, MOST_MEMBERS, MOST_LANES = 12, 8, 12, 16
# partitions of one topic, and roughly of all topics together
MOST_PARTS, MOST_PARTS_IN_ALL = 24, 96
BESIDE = 4  # partitions, unless the page is too narrow
MOST_ROWS = 500
LEAST_CARD, CARD = 150, 230
PART, PART_HIGH, PITCH, GAP = 128, 50, 25, 8
LANE, LANE_HIGH = 24, 17
CURVE = 110  # width of the last minute's curve
LEAST_SCALE = 100  # records that a whole bar stands for, at least
ROOM_FOR_CURVE = 640
NUMBER = 84  # width of what is at the end of a lane
TITLE = 16
WITHOUT = {NOBODY: "none", UNKNOWN: ""}  # a leader's name in the table


def drawn(watched: Watched, width: int) -> Drawing:
    """All of it, on a page of this width."""
    drawing = Drawing(width)
    if watched.seen is not None:
        Stage(column(*whole(watched, watched.seen), gap=20)).draw(drawing, {})
    return drawing


def summary(seen: Seen | None) -> str:
    """For those who don't see it; the table has the rest."""
    if seen is None:
        return "nothing was seen yet"
    return dotted(
        counted(len(seen.brokers), "broker"),
        counted(len(seen.parts), "partition"),
        counted(len(seen.groups), "group"),
    )


def whole(watched: Watched, seen: Seen) -> Iterator[Item]:
    yield row(
        *(broker_box(watched, seen, each) for each in sorted(watched.brokers)),
        gap=12,
        line_gap=12,
    )
    topics: dict[str, list[Place]] = {}
    for place in sorted(seen.parts):
        topics.setdefault(place.topic, []).append(place)
    if topics:
        troubled = {place.topic for place, its in seen.parts.items() if is_ill(its)}
        names = sorted(topics, key=lambda topic: topic not in troubled)
        shown = [(topic, topics[topic]) for topic in names[:MOST_TOPICS]]
        most = min(MOST_PARTS, max(MOST_PARTS_IN_ALL // len(shown), BESIDE))
        boxes = [topic_box(seen, topic, places, most) for topic, places in shown]
        yield column(
            words("topics", "Topics", bold=True, size=TITLE, high=22),
            row(*boxes, gap=32, line_gap=12, lower=0),
            *left_out("topics", len(topics) - len(shown), "topic"),
            gap=6,
        )
    groups = sorted(seen.groups.values(), key=lambda group: urgency(seen, group))
    lags = [seen.lag(group, place) or 0 for group in groups for place in group.places]
    scale = max([*lags, LEAST_SCALE])
    for group in groups[:MOST_GROUPS]:
        yield group_box(watched, seen, group, scale)
    yield from left_out("groups", len(groups) - MOST_GROUPS, "group")


def is_ill(its: Part) -> bool:
    return its.leader == NOBODY or bool(its.out_of_sync)


def urgency(seen: Seen, group: Group) -> tuple[bool, bool, str]:
    """Groups with members come first, then those with a lag."""
    lag = total_lag(seen, group)
    return not group.members, not lag, group.name


def total_lag(seen: Seen, group: Group) -> int:
    return sum(seen.lag(group, place) or 0 for place in group.places)


def left_out(key: str, count: int, noun: str) -> list[Item]:
    if count <= 0:
        return []
    said = f"and {counted(count, noun)} more"
    return [words(f"more/{key}", said, fill="quiet")]


# -- brokers


def broker_box(watched: Watched, seen: Seen, broker: int) -> Item:
    is_away = broker in watched.away or watched.missed is not None
    led = sum(part.leader == broker for part in seen.parts.values())
    copies = sum(
        broker in part.replicas and part.leader != broker
        for part in seen.parts.values()
    )
    chip = Chip()
    if broker == seen.controller and not is_away:
        chip = Chip("controller", "chip", "ink")

    def draw(d: Drawing, places: Places, scene: object) -> None:
        card = Card(d, broker, places[f"broker/{broker}"], live=False)
        card.draw("away" if is_away else "", chip, leads=False)
        card.say("address", watched.brokers[broker], line=0)
        if is_away:
            card.say("role", "away", "trouble", line=1)
        else:
            role = dotted(f"leads {led}", f"follows {copies}" if copies else "")
            card.say("role", role, line=1)

    return part(
        f"broker/{broker}",
        draw,
        high=card_high(2, levers=False),
        least=LEAST_CARD,
        wanted=CARD,
        grow=1,
    )


# -- topics


def topic_box(seen: Seen, topic: str, places: Sequence[Place], most: int) -> Item:
    """most: partitions that are shown; those in trouble come first."""
    key = f"topic/{key_part(topic)}"
    by_need = sorted(places, key=lambda place: not is_ill(seen.parts[place]))
    shown = sorted(by_need[:most])
    head = row(
        words(f"{key}/name", topic, bold=True, most=320),
        words(
            f"{key}/many", counted(len(places), "partition"), fill="quiet", size=12.5
        ),
        gap=4,
    )
    return column(
        space(min(len(shown), BESIDE) * (PART + GAP) - GAP),
        head,
        row(
            *(part_box(place, seen.parts[place]) for place in shown),
            gap=GAP,
            line_gap=GAP,
        ),
        *left_out(key, len(places) - most, "partition"),
        gap=GAP / 2,
    )


def part_box(place: Place, its: Part) -> Item:
    """A partition: its leader's colour around it, its replicas, and where it ends."""
    key = f"part/{key_part(place.topic)}/{place.number}"
    others = [each for each in its.replicas if each != its.leader]
    is_led = its.leader not in (NOBODY, UNKNOWN)
    replicas = [its.leader, *others] if is_led else others

    def draw(d: Drawing, places: Places, scene: object) -> None:
        box = places[key]
        is_lost = its.leader == NOBODY
        line = colour(its.leader) if is_led else "trouble" if is_lost else "rule"
        dash = "5 4" if is_lost else None
        d.rect(key, *box, fill="paper", line=line, r=6, width=2, dash=dash)
        d.text(f"{key}/name", box.x + 8, box.y + 19, f"P{place.number}", bold=True)
        x = box.x + 17 + text_width(f"P{place.number}", bold=True)
        for broker in replicas:
            if x + 22 > box.right:
                d.note(f"{key}/more", x + 2, box.y + 18, "…")
                break
            replica(d.part(f"{key}/{broker}", x + 10, box.y + 15), broker, its)
            x += PITCH
        ends = (
            "no leader"
            if is_lost
            else f"end {its.end:,}"
            if its.end is not None
            else ""
        )
        ink = "trouble" if is_lost else "quiet"
        d.text(f"{key}/end", box.x + 8, box.y + 41, ends, ink, size=12, mono=True)

    wide = max(
        PART, 29 + text_width(f"P{place.number}", bold=True) + PITCH * len(replicas)
    )
    return part(key, draw, high=PART_HIGH, least=min(wide, 260))


def replica(d: Drawing, broker: int, its: Part) -> None:
    """A disc for each replica: the leader's has a ring, one that is not in sync is an
    outline.
    """
    if broker in its.out_of_sync:
        d.circle("disc", 0, 0, r=9, fill="paper", line="trouble", dash="3 3", width=1.5)
        d.text("word", 0, 4.3, str(broker)[:2], "trouble", size=12, anchor="middle")
        return
    draw_disc(d, broker, 0, 0, "")
    if broker == its.leader:
        d.circle("ring", 0, 0, r=11, line="ink", width=2)


# -- groups


class Actor(NamedTuple):
    """A member, and the letter and colour that it has here."""

    member: Member
    number: int

    @property
    def letter(self) -> str:
        return chr(ord("A") + self.number % 26)


def group_box(watched: Watched, seen: Seen, group: Group, scale: int) -> Item:
    """scale: the lag that a whole bar stands for."""
    key = f"group/{key_part(group.name)}"
    actors = [Actor(member, at) for at, member in enumerate(group.members)]
    by_place = {place: actor for actor in actors for place in actor.member.parts}
    kind = "KIP-848" if group.kind == "consumer" else group.kind
    said = dotted(kind, counted(len(actors), "member"))
    head = row(
        words(f"{key}/name", f"Group {group.name}", bold=True, size=TITLE, most=420),
        state_chip(key, group),
        words(f"{key}/said", said, fill="quiet", size=12.5),
        sum_of_lags(f"{key}/lag", total_lag(seen, group)),
        gap=8,
    )
    cards = [member_box(key, actor) for actor in actors[:MOST_MEMBERS]]
    is_idle = not actors and not total_lag(seen, group)
    places = [] if is_idle else group.places
    by_lag = sorted(places, key=lambda place: -(seen.lag(group, place) or 0))
    lanes = [
        lane(watched, seen, group, place, by_place.get(place), scale)
        for place in sorted(by_lag[:MOST_LANES])
    ]
    return column(
        head,
        row(*cards, gap=8, line_gap=8),
        *left_out(f"{key}/members", len(actors) - MOST_MEMBERS, "member"),
        column(*lanes),
        *left_out(f"{key}/lanes", len(places) - MOST_LANES, "partition"),
        gap=8,
    )


def sum_of_lags(key: str, lag: int) -> Item:
    said = f"lag {lag:,}"

    def draw(d: Drawing, places: Places, scene: object) -> None:
        place = places[key]
        d.number(key, place.right, place.y + 14, said, "ink")

    wide = widest(said, 12.5, mono=True, bold=True)
    return part(key, draw, high=18, least=wide, grow=1)


def state_chip(key: str, group: Group) -> Item:
    is_settled = group.state in SETTLED
    fill, ink = ("good", "ink") if group.state == "Stable" else ("chip", "ink")
    if not is_settled:
        fill, ink = "said", "ink"

    def draw(d: Drawing, places: Places, scene: object) -> None:
        place = places[f"{key}/state"]
        d.chip(f"{key}/state", place.x, place.y, group.state, fill, ink)

    wide = widest(group.state, 12, bold=True) + 10
    return part(f"{key}/state", draw, high=19, least=wide)


def member_box(group: str, actor: Actor) -> Item:
    member = actor.member
    key = f"{group}/member/{actor.number}"
    has = shares(member.parts)

    def draw(d: Drawing, places: Places, scene: object) -> None:
        box = places[key]
        d.rect(key, *box, fill="paper", line="rule", r=8, width=1.5)
        card = d.part(f"{key}/card", box.x, box.y)
        disc(card, 19, 18, actor)
        room = (box.w - 44) * 0.95
        card.text("name", 36, 22, fit(member.client, room, bold=True), bold=True)
        said = f"reads {has}" if has else "has no partition"
        card.note("has", 10, 45, fit(said, box.w - 18, 12.5))
        where = fit(dotted(member.host, member.member_id), box.w - 18, 12)
        card.note("where", 10, 62, where, size=12)

    return part(key, draw, high=70, least=LEAST_CARD, wanted=CARD + 40, grow=1)


def shares(places: Sequence[Place]) -> str:
    """Partitions by topic: "orders 0 1 2, payments 0"."""
    numbers: dict[str, list[str]] = {}
    for topic, number in places:
        numbers.setdefault(topic, []).append(str(number))
    return ", ".join(f"{topic} {' '.join(all_of)}" for topic, all_of in numbers.items())


def disc(d: Drawing, x: float, y: float, actor: Actor) -> None:
    d.disc("disc", x, y, r=11, letter=actor.letter, number=actor.number, size=13)


def lane(
    watched: Watched,
    seen: Seen,
    group: Group,
    place: Place,
    actor: Actor | None,
    scale: int,
) -> Item:
    """How far a group is behind in a partition: a bar, the last minute, a number."""
    key = f"group/{key_part(group.name)}/lane/{key_part(str(place))}"
    lag = seen.lag(group, place)
    grows = watched.grows(group, place)
    is_unread = actor is None and bool(lag)
    samples = watched.lags(group, place)

    def draw(d: Drawing, places: Places, scene: object) -> None:
        box = places[key]
        part_of = d.part(key, box.x, box.y)
        name = box.w * 0.34 if box.w < ROOM_FOR_CURVE else 190
        said = "no offset" if lag is None else f"{lag:,}{' ↑' if grows else ''}"
        ink = "trouble" if is_unread or grows else "ink"
        part_of.text(
            "place",
            0,
            16,
            fit(str(place), name - 34, 12.5, mono=True),
            size=12.5,
            mono=True,
        )
        if actor is not None:
            disc(part_of, name - 14, 11.5, actor)
        right = box.w
        part_of.number("lag", right, 16, said, ink)
        right -= NUMBER
        if box.w >= ROOM_FOR_CURVE:
            right -= CURVE + 12
            curve(part_of, Box(right + 12, 3, CURVE, LANE_HIGH), samples, ink)
        ground = Box(name + 6, 3, max(right - name - 6, 20), LANE_HIGH)
        part_of.rect("ground", *ground, fill="wash", r=3)
        bar(part_of, ground, (lag or 0) / scale, actor, is_unread)

    return part(key, draw, high=LANE, least=240, wanted=900, grow=1)


def bar(
    d: Drawing, ground: Box, share: float, actor: Actor | None, is_unread: bool
) -> None:
    """As long as the lag, in the colour of the member that reads; hatched where nobody
    does.
    """
    if share:
        wide = max(ground.w * share, 3)
        fill = "hatch" if actor is None else actor_colour(actor.number)
        line = "trouble" if actor is None else "none"
        d.rect("bar", ground.x, ground.y, wide, ground.h, fill=fill, line=line, r=3)
    if is_unread:
        unread = "nobody reads"
        if has_room(unread, ground.w, 12):
            x, y = ground.x + 6, ground.y + 13
            plate = text_width(unread, 12) + 8
            d.rect("plate", x - 3, ground.y + 1, plate, ground.h - 2, fill="paper", r=3)
            d.text("unread", x, y, unread, "trouble", size=12)


def curve(d: Drawing, box: Box, samples: Sequence[tuple[float, int]], ink: str) -> None:
    """The lag of the last minute."""
    if len(samples) < 2 or not any(lag for _, lag in samples):
        return
    begins_s, ends_s = samples[0][0], samples[-1][0]
    most = max(max(lag for _, lag in samples), 1)
    points = []
    for at_s, lag in samples:
        x = (at_s - begins_s) / (ends_s - begins_s) * box.w
        points.append(f"{x:.1f},{box.h * (1 - lag / most):.1f}")
    d.path("curve", box.x, box.y, f"M{' L'.join(points)}", line=ink, width=1.5)


# -- the same as text


def rows(watched: Watched) -> list[dict[str, str]]:
    """A row for each partition of a group, and for each that no group reads."""
    seen = watched.seen
    if seen is None:
        return []
    found = []
    read: set[Place] = set()
    for group in seen.groups.values():
        for place in group.places:
            read.add(place)
            reader, lag = group.reader(place), seen.lag(group, place)
            found.append(
                of_place(seen, place)
                | {
                    "group": f"{group.name} ({group.state})",
                    "reader": "nobody" if reader is None else reader.client,
                    "lag": "no offset yet" if lag is None else f"{lag:,}",
                }
            )
    for place in sorted(seen.parts.keys() - read):
        found.append(of_place(seen, place))
    return found[:MOST_ROWS]


def of_place(seen: Seen, place: Place) -> dict[str, str]:
    its = seen.parts.get(place, Part(UNKNOWN))
    return {
        "partition": str(place),
        "leader": WITHOUT.get(its.leader, str(its.leader)),
        "in sync": brokers_listed(its.isr) if its.isr else "",
        "end": "" if its.end is None else f"{its.end:,}",
        "group": "",
        "reader": "",
        "lag": "",
    }
