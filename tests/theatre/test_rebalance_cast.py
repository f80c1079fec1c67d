"""Who is on the rebalance's stage: letters, colours, patterns."""

from minikafka.theatre import picture
from minikafka.theatre.pictures.rebalance.cast import Actor, actors_of, cast
from minikafka.trace import Event
from tests.theatre import groups


def test_six_members_have_six_colours_and_the_next_one_has_the_first_ones_with_a_pattern():
    actors = list(actors_of(picture("rebalance", groups.six()).cast).values())
    assert [actor.letter for actor in actors] == list("ABCDEF")
    assert len({actor.colour for actor in actors}) == 6 and {
        actor.pattern for actor in actors
    } == {0}
    seventh = Actor("worker 7", "G", 6)
    assert (seventh.colour, seventh.pattern) == (actors[0].colour, 1)


def test_a_member_that_came_back_beside_its_old_self_has_its_colour_and_a_pattern():
    joins = [
        Event(
            ("broker 1", n),
            n,
            "broker 1",
            "MemberJoined",
            None,
            {"group": "g", "member": f"id {n}", "client": "b"},
        )
        for n in (1, 2)
    ]
    old, new = cast(joins, None, None, None).actors
    assert (old.letter, new.letter) == ("B", "B'") and old.colour == new.colour
    assert (old.pattern, new.pattern) == (0, 1)
