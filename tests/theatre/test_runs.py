"""Small multiples: a run's records and lengths, tile by tile, and none before its
time.
"""

import json

import pytest

from minikafka.course.experiments.lesson_03_sweep import lost_sweep
from minikafka.course.experiments.lesson_09_sweep import killed_sweep
from minikafka.course.experiments.lesson_13_sweep import died_sweep
from minikafka.theatre.drawing import LAYOUTS, NARROW, WIDE, has_room
from minikafka.theatre.picture import Picture
from tests.chromium import running_chromium

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lost():
    return lost_sweep(
        {
            "not idempotent": {"enable_idempotence": False},
            "idempotent": {"enable_idempotence": True},
        }
    )


@pytest.fixture(scope="module")
def killed():
    return killed_sweep(acks=(0, 1, "all"))


@pytest.fixture(scope="module")
def died():
    return died_sweep()


def ended(pic):
    """(row, column) -> the records of each run, and whether it went wrong."""
    found = {}
    for row, column, records, _, wrong, _ in pic.scenes[-1]["space"]["runs"]:
        found[row, column] = (records, bool(wrong))
    return found


def test_what_is_lost_doubles_or_overtakes_without_idempotence_only(lost):
    wrong = {place for place, (_, is_wrong) in ended(lost).items() if is_wrong}
    assert wrong == {(row, column) for row in (0, 1) for column in range(3)}
    records, _ = ended(lost)[0, 0]
    assert records == [["2", "there"], ["1", "late"], ["0", "late"]]
    records, _ = ended(lost)[1, 2]
    assert records == [["0", "there"], ["1", "there"], ["2", "twice"], ["2", "twice"]]


@pytest.mark.nightly
def test_the_later_a_leader_dies_the_more_is_gone_that_was_acknowledged(killed):
    gone = {}
    for place, (records, _) in ended(killed).items():
        gone[place] = sum(became == "lost" for _, became in records)
    for row in (0, 1):
        stairs = [gone[row, column] for column in range(6)]
        assert stairs == sorted(stairs) and stairs[-1] >= 3
    assert all(gone[0, column] >= gone[1, column] for column in range(6))
    assert not any(gone[2, column] for column in range(6))


def test_an_open_transaction_is_as_long_as_it_was_open(died):
    drawn = died.drawings(WIDE)[-1].shapes
    waits, comes = drawn["run/2/0/bar/0"], drawn["run/2/1/bar/0"]
    [[_, waits_ms, _]], [[_, comes_ms, _]] = (
        run[3] for run in died.scenes[-1]["space"]["runs"][4:6]
    )
    assert waits["w"] / comes["w"] == pytest.approx(waits_ms / comes_ms, rel=0.02)
    assert drawn["run/2/0/0/cross"]["line"] == "trouble"
    assert died.summary(died.scenes[-1]) == "1 of 8 runs went wrong"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_run_is_drawn_before_its_time(killed, width):
    fourth = killed.drawings(width)[3].shapes
    assert "run/0/3" in fourth and "run/0/4" not in fourth
    assert "place/2/5" in fourth


def test_what_goes_wrong_is_held_once_and_the_end_shows_all(killed, lost):
    lit = [scene["step"] for scene in killed.scenes if "light" in scene]
    assert lit == [1]
    assert "light" not in lost.scenes[-1]
    assert [scene["time"] for scene in killed.scenes[:2]] == ["run 1", "run 2"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_records_are_named_alike_in_all_tiles(died, width):
    drawn = died.drawings(width)[-1].shapes
    words = {
        shape["text"]
        for key, shape in drawn.items()
        if key.startswith("run/") and key.endswith("/text")
    }
    assert words in ({"alice", "bob"}, {"a", "b"})


@pytest.mark.parametrize("width", LAYOUTS)
def test_sums_stand_beside_their_rows_once_all_of_them_are_told(killed, width):
    fifth, sixth = [drawing.shapes for drawing in killed.drawings(width)[4:6]]
    assert "sum/0" not in fifth and "sum/0" in sixth
    last = killed.drawings(width)[-1].shapes
    sums = [last[f"sum/{band}"]["text"].removesuffix(" wrong") for band in range(3)]
    assert sums == ["5 of 6", "3 of 6", "0 of 6"]


def test_the_end_says_what_all_runs_say(lost, killed, died):
    ends = [pic.scenes[-1]["sentence"] for pic in (lost, killed, died)]
    assert "Wrong: not idempotent 6 of 6, idempotent 0 of 6." in ends[0]
    assert "acks=0 loses 11, in 5 of 6 runs" in ends[1]
    assert "In 1 of 8 runs it is paid twice" in ends[2]
    assert not any(sentence.endswith("…") for sentence in ends)


@pytest.mark.parametrize("width", LAYOUTS)
def test_no_name_of_a_row_or_column_is_cut(lost, killed, died, width):
    for pic in (lost, killed, died):
        drawn = pic.drawings(width)[-1].shapes
        for key, shape in drawn.items():
            if key.split("/")[0] in ("across", "band", "column", "row"):
                room = shape.get("room", width)
                bold = shape.get("bold", False)
                size = shape.get("size", 13)
                assert has_room(shape["text"], room, size, bold=bold), key


def test_drawn_again_from_its_json_it_is_the_same(died):
    again = Picture(type(died.play), *json.loads(json.dumps([died.cast, died.scenes])))
    assert again.svg() == died.svg() and again.digest == died.digest


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_no_two_texts_overlap_and_axe_finds_nothing(lost, killed, died, tmp_path):
    pytest.importorskip("playwright.sync_api")
    axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
    from tests.theatre.overlaps import visit

    with running_chromium() as browser:
        page = browser.new_page(reduced_motion="reduce")
        found = []
        for name, pic in (("lost", lost), ("killed", killed), ("died", died)):
            steps = [len(pic.scenes) - 1]
            found.append(visit(page, name, pic, tmp_path, axe_api.Axe(), steps))
    assert not [line for each in found for line in (*each.overlaps, *each.violations)]
