"""The controller quorum: terms, votes with their reasons, the metadata log, and a
client that believes what is past.
"""

import re

import pytest

from minikafka.course.experiments.lesson_11_runs import controller_dies
from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, PHONE, WIDE
from minikafka.trace import Event
from tests.seeds import first_now
from tests.theatre import replicas
from tests.theatre.overlaps import faults_of
from tests.theatre.replicas import first, shapes

pytestmark = pytest.mark.slow

stale = replicas.drawn_once("quorum", replicas.stale)


def test_kip_996_a_voter_first_asks_whether_it_would_win_and_begins_no_epoch(stale):
    asks, stands = (
        first(stale, "VotesRequested", "PreVote"),
        first(stale, "VotesRequested", "stands for epoch 1"),
    )
    assert (
        asks["space"]["voters"][0]["epoch"] == 0
        and stands["space"]["voters"][0]["epoch"] == 1
    )
    assert first(stale, "VoteAnswered", "would vote")["step"] < stands["step"]


def test_a_voter_gives_one_vote_an_epoch_and_a_refusal_says_why(stale):
    refused = first(stale, "VoteAnswered", "does not vote")
    assert "because it has voted for itself" in refused["sentence"]
    voter = int(refused["node"].split()[1]) - 1
    drawn = shapes(stale, refused)
    assert drawn[f"node/{voter + 1}/asks"]["line"] == "trouble"
    assert drawn[f"vote/{voter + 1}/word"]["text"] == str(voter + 1)
    assert on_the_card(drawn, voter + 1) == {voter + 1}


def test_one_that_hears_its_controller_gives_no_vote():
    pic = picture("quorum", replicas.cut_off())
    assert (
        "because it still hears from a controller"
        in first(pic, "VoteAnswered", "would not vote")["sentence"]
    )


def test_who_has_a_majority_is_the_controller_and_one_without_it_resigns():
    pic = picture("quorum", replicas.cut_off())
    elected, resigns = first(pic, "ControllerElected"), first(pic, "ControllerResigned")
    assert "2 votes, which is a majority" in elected["sentence"] and resigns["trouble"]
    assert all(scene["space"]["two"] == 0 for scene in pic.scenes)
    assert (
        shapes(pic, pic.scenes[-1])["lamp/word"]["text"]
        == "one controller in each epoch"
    )


def offset_of_fencing(scene):
    return next(
        record[0]
        for record in scene["space"]["voters"][2]["records"]
        if record[3] == "fenced"
    )


def test_the_metadata_log_says_in_words_what_the_controller_has_decided(stale):
    fences = first(stale, "MetadataAppended", "broker 1 fenced")
    assert "BrokerRegistrationChangeRecord (broker 1 fenced)" in fences["sentence"]
    assert "PartitionChangeRecord (leader 2 orders-0, ISR 2 3)" in fences["sentence"]
    record = shapes(stale, fences)[f"record/3/{offset_of_fencing(fences)}/3"]
    assert (record["text"], record["more"], record["fill"]) == (
        "broker 1",
        "fenced",
        "paper",
    )


def test_a_decision_counts_when_a_majority_has_it_and_a_broker_knows_it_when_it_hears_so(
    stale,
):
    counts = first(
        stale, "MetadataCommitted", "broker 1 is fenced and broker 2 leads orders-0"
    )
    knows = {voter["broker"]: voter["knows"] for voter in counts["space"]["voters"]}
    assert knows == {1: 1, 2: 1, 3: 2} and counts["space"]["fenced"] == [1]
    drawn = shapes(stale, counts)
    record = f"{offset_of_fencing(counts)}/3"
    assert (
        drawn[f"record/3/{record}"]["fill"] == "actor3"
        and drawn[f"record/2/{record}"]["fill"] == "paper"
    )
    assert drawn["log/1/knows"]["text"] == "fenced"


def test_a_client_with_stale_metadata_asks_a_broker_that_leads_no_more_and_is_put_right(
    stale,
):
    wrong = first(stale, "BatchSent", "stale")
    right = first(stale, "BatchSent", "up to date")
    assert (
        "Shop still sends the records of orders-0 to broker 1" in wrong["sentence"]
        and wrong["trouble"]
    )
    assert shapes(stale, wrong)["clients/state/word"]["text"] == "stale metadata"
    decided = first(stale, "MetadataCommitted", "broker 2 leads orders-0")
    assert decided["space"]["clients"] == [["shop", 1, False]], (
        "before it sends again and is refused"
    )
    assert stale.scenes[decided["step"] - 1]["space"]["clients"] == [["shop", 1, True]]
    assert right["step"] > wrong["step"] and "broker 2" in right["sentence"]


def test_metadata_is_not_called_stale_where_a_client_writes_to_other_partitions():
    with replicas.three() as cluster:
        cluster.create_topic("payments", partitions=3, replication_factor=3)
        shop = cluster.producer(client_id="shop", linger_ms=0)
        for partition in (0, 1, 2, 0, 1, 2):
            shop.send("payments", partition=partition, value="paid")
            cluster.run_ms(300)
        leaders = {cluster.leader("payments", partition) for partition in range(3)}
        pic = picture("quorum", cluster.trace, topic="payments")
    assert len(leaders) > 1
    assert [scene for scene in pic.scenes if "stale" in scene["sentence"]] == []
    fresh = [scene["space"]["clients"] for scene in pic.scenes]
    assert ["shop", cluster_leader(pic), True] in fresh[-1]


def cluster_leader(pic):
    return pic.scenes[-1]["space"]["leader"]


@pytest.mark.parametrize("run", [replicas.stale, replicas.unclean])
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ["quorum", "replica-set"])
def test_every_card_says_whose_it_is_whatever_its_state(run, name, width):
    """However wide its chip is."""
    pic = picture(name, run())
    for drawing in pic.drawings(width):
        cards = [key for key in drawing.shapes if re.fullmatch(r"node/\d+/disc", key)]
        for card in cards:
            assert f"{card.removesuffix('/disc')}/name" in drawing.shapes, card


def test_a_picture_may_begin_near_its_story_with_all_that_is_known_by_then(stale):
    fences = first(stale, "MetadataAppended", "broker 1 fenced")
    since_ms = fences["at"]
    later = picture("quorum", replicas.stale(), since_ms=since_ms)
    expected = [scene for scene in stale.scenes if scene["at"] >= since_ms]
    assert 0 < len(expected) < len(stale.scenes)
    assert list(map(known, later.scenes)) == list(map(known, expected))


def known(scene):
    """What a scene says, and how far each voter's log goes."""
    space = scene["space"]
    ends = [(voter["end"], voter["high_watermark"]) for voter in space["voters"]]
    return scene["sentence"], space["controller"], space["leader"], ends


def test_what_brokers_alone_tell_is_enough_as_from_serve_with_real_clients():
    seen = [
        Event.from_json(event.to_json())
        for event in replicas.stale()
        if event.node.startswith("broker ")
    ]
    pic = picture("quorum", seen)
    assert (
        pic.scenes[-1]["space"]["controller"] == 3
        and pic.scenes[-1]["space"]["clients"] == []
    )


def test_kip_595_observers_follow_the_metadata_log_and_are_no_part_of_a_majority():
    pic = picture("quorum", replicas.unclean())
    last = pic.scenes[-1]
    assert "3 voters" in pic.play.scenario(last) and last["space"]["majority"] == 2
    chips = [
        shape["text"]
        for key, shape in shapes(pic, pic.scenes[-1]).items()
        if key.endswith("/chip/word")
    ]
    assert sorted(chips) == [
        "controller",
        "follower",
        "follower",
        "observer",
        "observer",
    ]


def on_the_card(drawn, broker):
    """Whose votes lie on a broker's card."""
    card = drawn[f"node/{broker}"]
    found = set()
    for key, shape in drawn.items():
        is_a_vote = key.startswith("vote/") and key.count("/") == 1
        inside = 0 < shape["x"] - card["x"] < card["w"]
        inside &= 0 < shape["y"] - card["y"] < card["h"]
        if is_a_vote and inside:
            found.add(int(key.removeprefix("vote/")))
    return found


def lacking(drawn, broker):
    return [key for key in drawn if key.startswith(f"node/{broker}/lacks/")]


@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_a_vote_lies_on_the_card_of_whom_it_is_for_and_what_is_lacking_is_seen(
    stale, width
):
    stands = first(stale, "VotesRequested", "stands for epoch 3")
    drawn = shapes(stale, stands, width)
    assert on_the_card(drawn, 3) == {3} and len(lacking(drawn, 3)) == 1
    gives = first(stale, "VoteAnswered", "one vote in epoch 3")
    drawn = shapes(stale, gives, width)
    assert on_the_card(drawn, 3) == {2, 3} and not lacking(drawn, 3)
    assert drawn["node/2/answer"]["text"] == "vote"
    assert (
        "node/3/asks" not in drawn and drawn["vote/2"]["from_x"] < drawn["node/3"]["x"]
    )
    wins = first(stale, "ControllerElected", "epoch 3")
    assert on_the_card(shapes(stale, wins, width), 3) == {2, 3}


@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_when_nobody_can_win_an_epoch_any_more_that_is_said_with_the_votes(
    stale, width
):
    tie = first(stale, "VoteAnswered", "nobody wins epoch 2")
    assert "Each has 1 vote, and a majority is 2" in tie["sentence"]
    assert tie["chapter"] == "nobody wins epoch 2" and tie["trouble"]
    assert tie["light"][0] == "result/2"
    assert tie["light"][1:] == ["time/lane/controller", "vote", "node/2", "node/3"]
    drawn = shapes(stale, tie, width)
    assert drawn["result/2"]["text"].endswith("none has 2 votes")
    votes = {key for key in drawn if key.startswith("result/2/") and "word" not in key}
    assert votes == {
        "result/2/name",
        *("result/2/vote/2", "result/2/lacks/0/1"),
        *("result/2/or/1", "result/2/vote/3", "result/2/lacks/1/1"),
    }
    assert "result/2" in stale.scenes[-1]["light"]
    for broker in (2, 3):
        assert drawn[f"node/{broker}/chip/word"]["text"] == "no majority"
        assert on_the_card(drawn, broker) == {broker}
        assert len(lacking(drawn, broker)) == 1
    answers = [s["text"] for key, s in drawn.items() if key.endswith("/answer")]
    assert answers == ["no"]
    refused_once = stale.scenes[tie["step"] - 1]
    assert "nobody wins" not in refused_once["sentence"]


def test_who_waits_for_a_controller_asks_for_votes_when_its_bar_is_empty():
    """Two whose time-outs end together ask together; the next one is random."""
    cluster, since_ms, _ = controller_dies(lambda cluster: cluster.crash(1))
    pic = picture("quorum", cluster.trace, since_ms=since_ms)
    gone, asks = first(pic, "NodeCrashed"), first(pic, "VotesRequested", "Broker 2")
    assert left(pic, gone, 2) > 100 and asks["at"] - gone["at"] == 1985
    assert left(pic, asks, 3) < 1, "1 ms before it asks, too"
    again = first(pic, "VotesRequested", "Broker 3 has waited for a random time")
    before = pic.scenes[again["step"] - 1]
    assert 0 < left(pic, before, 3) < left(pic, before, 2)
    assert left(pic, again, 3) is None, "what it waits for now are answers"
    assert left(pic, again, 2) > 0


def left(pic, scene, broker):
    """The width of what is left of a voter's time-out."""
    return shapes(pic, scene).get(f"time/waits/{broker}", {}).get("w")


def test_kip_996_a_prevote_gives_no_vote(stale):
    would = first(stale, "VoteAnswered", "would vote")
    drawn = shapes(stale, would)
    answers = {key: s["text"] for key, s in drawn.items() if key.endswith("/answer")}
    assert set(answers.values()) == {"would vote"}
    assert not [key for key in drawn if key.startswith("vote/")]


def test_of_five_brokers_the_axis_says_for_how_long_nobody_was_the_controller():
    cluster, since_ms, _ = controller_dies(lambda cluster: cluster.crash(1))
    pic = picture("quorum", cluster.trace, since_ms=since_ms - 500)
    last = pic.scenes[-1]
    for width in (WIDE, NARROW):
        drawn = shapes(pic, last, width)
        nobody = drawn["time/lane/controller/bar/1"]
        crashed = first(pic, "NodeCrashed")["at"]
        elected = first(pic, "ControllerElected")["at"]
        whole = drawn["time/lane/broker 1/bar/0"]
        scale = whole["w"] / (last["at"] - crashed)
        assert nobody["fill"] == "hatch"
        assert nobody["w"] == pytest.approx((elected - crashed) * scale, abs=0.2)
    votes = first(pic, "VotesRequested", "stands for epoch 3")
    assert "nobody is the controller" in pic.play.scenario(votes)


def test_at_the_end_it_is_said_for_how_long_nobody_was_the_controller_and_why():
    cluster, since_ms, _ = controller_dies(lambda cluster: cluster.crash(1))
    last = picture("quorum", cluster.trace, since_ms=since_ms).scenes[-1]
    assert last["sentence"] == (
        "Broker 1 is fenced. There was no controller for 3.4 s: broker 1 crashed,"
        " nobody won epoch 2 and broker 3 won epoch 3. Broker 4 led orders-0 all that"
        " time."
    )


def test_who_led_and_was_the_controller_did_not_lead_all_the_while(stale):
    last = stale.scenes[-1]["sentence"]
    assert "There was no controller for" in last
    assert "broker 1 was frozen" in last
    assert "all that time" not in last


def test_only_a_live_picture_has_levers():
    live = picture("quorum", replicas.stale(), live=True)
    acts = {
        shape["act"]
        for shape in shapes(live, live.scenes[-1], NARROW).values()
        if "act" in shape
    }
    to_the_controller = {f"cut broker {number}, broker 3" for number in (1, 2)}
    assert acts - to_the_controller == {
        f"{what} broker {number}"
        for what in ("kill", "freeze", "cut")
        for number in (1, 2, 3)
    }


def test_names_are_text_whatever_they_hold():
    pic = picture("quorum", replicas.crash(1, name="</script><script>hit()</script>"))
    assert "<script>hit" not in pic.page() and "<script>hit" not in pic.svg()


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("theme", first_now(["light", "dark"]))
def test_no_two_texts_overlap_and_axe_finds_nothing(theme, chromium, tmp_path):
    traces = {"stale": replicas.stale(), "five brokers": replicas.unclean()}
    traces |= {"long name": replicas.crash(1, name="shop " * 30, topic="t" * 200)}
    pics = {
        name: picture("quorum", traces[name], live=name == "long name")
        for name in (traces if theme == "light" else ["stale"])
    }
    assert faults_of(pics, chromium, theme, tmp_path) == []


def test_on_a_phone_the_last_records_of_a_log_are_seen_but_not_where_votes_are_the_end(
    stale,
):
    *told, last = stale.scenes
    assert "time/lane" in last["light"] and "record/3/17/3" in shapes(stale, last)
    assert not [key for key in shapes(stale, last, PHONE) if key.startswith("record/")]
    for found in told:
        drawn = shapes(stale, found, PHONE)
        for voter in found["space"]["voters"]:
            if voter["end"] < found["space"]["end"]:
                assert f"node/{voter['broker']}" in drawn
            elif voter["records"]:
                offset, epoch, text, *_ = voter["records"][-1]
                cell = drawn[f"record/{voter['broker']}/{offset}/{epoch}"]
                assert text.startswith(cell["text"].rstrip("…"))
