"""`minikafka demo`: a page in the browser, without Jupyter."""

import json
import webbrowser

import pytest

from minikafka.__main__ import main
from minikafka.course import demo
from minikafka.theatre.pictures.rebalance.group import Group
from minikafka.theatre.pictures.rebalance.record_events import RECORDS
from minikafka.theatre.pictures.rebalance.spans import lasted_ms
from tests.theatre import groups

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def no_browser(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_NO_BROWSER", "1")


@pytest.fixture(scope="module")
def traces():
    return {
        (name, what): demo.rebalance(name, what, 7)
        for name in demo.PROTOCOLS
        for what in demo.HAPPENINGS
    }


@pytest.fixture
def page(tmp_path, monkeypatch, traces):
    """Writes the page of the command line's arguments; returns its text."""
    monkeypatch.setattr(demo, "rebalance", lambda name, what, seed: traces[name, what])

    def written(*args):
        assert main(["demo", "--out", str(tmp_path / "page.html"), *args]) == 0
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return written


def recorded(path):
    lines = [
        json.dumps(event.to_json())
        for event in groups.classic("range", "broker")
        if event.node == "broker 1"
    ]
    path.write_text(
        "\n".join([*lines, '{"id": ["broker 1", 99'.strip()]) + "\n", encoding="utf-8"
    )
    return path


def test_the_page_offers_protocols_and_what_happens_and_stays_small(
    page, capsys, tmp_path
):
    text = page("--protocol", "kip-848")
    assert f"the rebalance is in {tmp_path / 'page.html'}" in capsys.readouterr().out
    for words in (
        *demo.PROTOCOLS,
        *demo.HAPPENINGS,
        "eager beside cooperative",
        '"first":6',
    ):
        assert words in text
    assert len(text.encode()) < 1_500_000


def test_a_share_group_is_shown_with_all_that_can_go_wrong(page, capsys):
    text = page("--picture", "share-partition")
    for words in (*demo.WRONG, "side_by_side(poison=3, says='reject')", "lesson 15"):
        assert words in text
    assert len(text.encode()) < 500_000
    assert "was refused" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fork", ["it stays cut", "two_leaders_meet()", "lesson 10", "lonely order"]),
        ("gate", ["is committed", "held_back()", "lesson 13", "dashboard"]),
    ],
)
def test_two_leaders_and_an_open_transaction_are_shown_with_how_they_end(
    page, name, words
):
    text = page("--picture", name)
    for each in words:
        assert each in text
    assert text.count('"cursor"') >= 2 and len(text.encode()) < 500_000


def test_the_same_seed_gives_the_same_trace(traces):
    again = demo.rebalance("range", "C joins", 7)
    assert [event.to_json() for event in again] == [
        event.to_json() for event in traces["range", "C joins"]
    ]


def test_cooperative_members_leave_less_unread_than_eager_ones(traces):
    def unread(name):
        pic = demo.picture("rebalance", traces[name, "C joins"], since_ms=demo.SINCE_MS)
        spans, at = pic.scenes[-1]["space"]["spans"], pic.scenes[-1]["at"]
        return sum(
            lasted_ms("nobody", spans[lane], demo.SINCE_MS, at)
            for lane in spans
            if lane != "group"
        )

    assert 3 * unread("cooperative-sticky") < unread("range")


@pytest.mark.parametrize("name", list(demo.PROTOCOLS))
def test_every_run_ends_with_a_stable_group_and_never_has_two_owners(traces, name):
    for what in demo.HAPPENINGS:
        space = demo.picture("rebalance", traces[name, what]).scenes[-1]["space"]
        assert space["state"] == "Stable" and not space["two_owners"], what
        assert sum(len(each["owns"]) for each in space["members"]) == 6, what


def test_a_recorded_trace_is_shown_even_if_its_last_line_is_cut_short(page, tmp_path):
    text = page("--trace", str(recorded(tmp_path / "trace.jsonl")))
    assert "Rebalance of group billing" in text and '"plays":' not in text


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (None, (), "can't read"),
        ("hello\n", (), "holds no event"),
        ("", (), "nobody joins a group"),
        ("trace", ("--group", "other"), "no group 'other'"),
    ],
)
def test_a_trace_that_can_not_be_shown_is_explained(
    tmp_path, capsys, content, options, said
):
    path = tmp_path / "trace.jsonl"
    if content == "trace":
        recorded(path)
    elif content is not None:
        path.write_text(content, encoding="utf-8")
    assert main(["demo", "--trace", str(path), *options]) == 1
    assert said in capsys.readouterr().err


def test_a_place_that_can_not_be_written_is_explained(tmp_path, capsys):
    path = recorded(tmp_path / "trace.jsonl")
    assert (
        main(
            [
                "demo",
                "--trace",
                str(path),
                "--out",
                str(tmp_path / "missing" / "page.html"),
            ]
        )
        == 1
    )
    assert "can't write" in capsys.readouterr().err


def test_the_browser_opens_the_page_unless_it_is_told_not_to(
    tmp_path, monkeypatch, capsys
):
    opened = []
    monkeypatch.setattr(
        webbrowser, "open", lambda address: opened.append(address) or False
    )
    args = [
        "demo",
        "--trace",
        str(recorded(tmp_path / "trace.jsonl")),
        "--out",
        str(tmp_path / "page.html"),
    ]
    assert main(args) == 0 and opened == []
    monkeypatch.delenv("MINIKAFKA_NO_BROWSER")
    assert main(args) == 0 and opened == [(tmp_path / "page.html").as_uri()]
    assert "no browser was found" in capsys.readouterr().out


WRONG = (None, True, -1, 1 << 70, 0.5, "\u202e", [], [None], {}, {"topic": 5})
RECORDED = [
    event.to_json()
    for event in groups.classic("range", "broker")
    if event.node == "broker 1"
]
FIRST_OF_ITS_KIND = {
    event["kind"]: number for number, event in reversed([*enumerate(RECORDED)])
}
FIELDS = [
    *((kind, field) for kind in FIRST_OF_ITS_KIND for field in RECORDED[0]),
    *(
        (kind, ("detail", name))
        for kind, at in FIRST_OF_ITS_KIND.items()
        for name in RECORDED[at]["detail"]
    ),
]


@pytest.mark.parametrize("wrong", WRONG, ids=map(repr, WRONG))
def test_a_wrong_type_anywhere_in_a_trace_is_a_sentence_or_no_matter(
    wrong, tmp_path, capsys
):
    """One value of the file is another one; whoever wrote it, nobody sees a
    traceback.
    """
    refused = 0
    for kind, field in FIELDS[WRONG.index(wrong) :: 29]:
        event = json.loads(json.dumps(RECORDED[FIRST_OF_ITS_KIND[kind]]))
        if isinstance(field, tuple):
            event["detail"][field[1]] = wrong
        else:
            event[field] = wrong
        lines = [
            event if number == FIRST_OF_ITS_KIND[kind] else each
            for number, each in enumerate(RECORDED)
        ]
        path = tmp_path / "trace.jsonl"
        path.write_text(
            "".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8"
        )
        code = main(
            ["demo", "--trace", str(path), "--out", str(tmp_path / "page.html")]
        )
        assert code in (0, 1)
        refused += code
        if code:
            said = capsys.readouterr().err
            assert said.startswith("minikafka demo: ") and said.count("\n") == 1
    assert refused


def test_a_trace_too_long_for_a_picture_is_refused_in_a_sentence(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(demo, "MOST_EVENTS", 20)
    path = recorded(tmp_path / "trace.jsonl")
    assert main(["demo", "--trace", str(path)]) == 1
    assert (
        "holds more than 20 events, which no picture shows" in capsys.readouterr().err
    )


def test_who_owns_what_is_looked_up_only_when_that_can_have_changed(monkeypatch):
    """Nearly all events of a trace are about records."""
    looked = []
    before = Group.two_owners.fget
    monkeypatch.setattr(
        Group, "two_owners", property(lambda self: looked.append(1) or before(self))
    )
    trace = groups.classic("range", "broker")
    demo.picture("rebalance", trace)
    assert len(looked) <= 2 * sum(event.kind not in RECORDS for event in trace)
