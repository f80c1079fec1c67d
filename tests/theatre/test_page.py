"""Pages, static pictures, tables, and what a notebook stores."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from minikafka.theatre import picture
from minikafka.theatre.actors import COLOURS
from minikafka.theatre.casting import letters
from minikafka.theatre.clock import round_times, times
from minikafka.theatre.drawing import LAYOUTS, LEAST_STRETCH, NARROW, WIDE, text_width
from minikafka.theatre.page import ATTRIBUTES, NUMBERS, _back_to_front, colours
from minikafka.theatre.palette import PALETTE
from minikafka.theatre.text import lasting, spoken
from tests.theatre import commit_traces, groups, traces

pytestmark = pytest.mark.slow

EVERY = [
    ("log", traces.retention),
    ("log", traces.alice),
    ("log", traces.long_log),
    ("partitioner", traces.growing),
    ("commit", commit_traces.commit_after),
    ("lag", commit_traces.piling_up),
    ("rebalance", groups.classic),
    ("rebalance", groups.consumer),
]


@pytest.fixture(scope="module", params=EVERY, ids=lambda each: each[1].__name__)
def pic(request):
    name, trace = request.param
    return picture(name, trace(), seed=7)


def data(page):
    return json.loads(re.search(r'id="play">(.*?)</script>', page, re.S).group(1))


def unpacked(page, width):
    """The shapes of every step as the player unpacks them."""
    play = data(page)
    layout = next(layout for layout in play["layouts"] if layout["width"] == width)
    known, there, steps = {}, set(), []
    for changes, come, go in layout["steps"]:
        for shape, *pairs in changes:
            now = dict(known.get(shape, {}))
            for attribute, value in zip(pairs[::2], pairs[1::2], strict=True):
                if attribute < 0:
                    now = dict(known[value])
                elif value is None:
                    now.pop(ATTRIBUTES[attribute], None)
                else:
                    now[ATTRIBUTES[attribute]] = (
                        value if attribute < len(NUMBERS) else play["texts"][value]
                    )
            known[shape] = now
        there = (there | set(come)) - set(go)
        steps.append([known[shape] for shape in sorted(there)])
    return steps


def test_a_page_fetches_nothing(pic):
    page = pic.page()
    # the name of SVG, no address
    assert set(re.findall(r"https?://[^\s'\"<)]+", page)) == {
        "http://www.w3.org/2000/svg"
    }
    assert not re.search(
        r"<link(?! rel=.icon. href=.data:)|<img|@import|\bsrc=|fetch\(|url\((?!#)", page
    )


def test_a_page_holds_every_shape_of_every_step(pic):
    page = pic.page()
    for width in (WIDE, NARROW):
        for drawing, shapes in zip(
            pic.drawings(width), unpacked(page, width), strict=True
        ):
            told = sorted(
                json.dumps(shape, sort_keys=True) for shape in drawing.shapes.values()
            )
            assert sorted(json.dumps(shape, sort_keys=True) for shape in shapes) == told


@pytest.mark.parametrize(("name", "trace"), EVERY)
def test_what_is_in_front_at_a_step_is_not_covered_on_the_page(name, trace):
    """The page has one order for all steps."""
    for width in LAYOUTS:
        drawings = picture(name, trace()).drawings(width)
        place = {key: at for at, key in enumerate(_back_to_front(drawings))}
        for step, drawing in enumerate(drawings):
            for behind, covers in enumerate(drawing.shapes):
                for key in list(drawing.shapes)[behind + 1 :]:
                    if place[covers] > place[key]:
                        there = (drawing.shapes[covers], drawing.shapes[key])
                        assert not covered(*there), (width, step, covers, key)


def covered(plate, shape) -> bool:
    """Whether a filled box lies over the corner of a shape."""
    if plate["kind"] not in ("rect", "cell") or plate.get("fill") in (None, "none"):
        return False
    right, bottom = plate["x"] + plate["w"], plate["y"] + plate["h"]
    return plate["x"] < shape["x"] < right and plate["y"] < shape["y"] < bottom


def test_what_a_page_plays_stays_small():
    """Its scripts and styles are the same on every page, and don't count."""
    for name, trace in EVERY:
        shown = picture(name, trace())
        plays = re.search('id="play">(.*?)</script>', shown.page(), re.DOTALL)[1]
        size = len(plays.encode())
        # in a long log every record moves at every step
        allowed = 170_000 if trace is traces.long_log else 70_000
        assert size * 100 / max(len(shown.scenes), 100) < allowed, (
            trace.__name__,
            size,
        )


def test_the_frame_carries_the_page_unharmed(pic):
    from html.parser import HTMLParser

    found = []

    class Frame(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, dict(attributes)))

    Frame().feed(pic.frame())
    assert [tag for tag, _ in found] == ["iframe"]
    assert found[0][1]["srcdoc"] == pic.page() and found[0][1]["title"] == pic.title


def test_text_in_a_record_can_not_break_out_of_the_page():
    story = traces.Story()
    story.topic()
    story.append(0, 0, ("</script><b>", "<!-- ' \" & {{css}} -->"))
    pic = picture("log", story.events)
    page = pic.page()
    assert (
        "</script><b>" not in page
        and "<!--" not in page.split('id="play">')[1].split("</script>")[0]
    )
    assert "{{css}}" in data(page)["steps"][-1]["sentence"]
    ElementTree.fromstring(pic.svg())


def test_the_svg_is_well_formed_and_says_what_it_shows(pic):
    for step in (0, len(pic.scenes) // 2, -1):
        root = ElementTree.fromstring(pic.svg(step))
        space = "{http://www.w3.org/2000/svg}"
        assert root.get("role") == "img"
        assert root.find(f"{space}title").text == pic.title
        assert pic.summary(pic.scenes[step]) in root.find(f"{space}desc").text
        named = {element.get("id") for element in root.iter()}
        assert set(root.get("aria-labelledby").split()) <= named


def test_thousandths_are_told_where_times_need_them():
    assert times([12_400, 3_599_990, 4_200_000, 4_201_000, 4_201_005]) == [
        "00:00:12",
        "00:59:59",
        "01:10:00",
        "01:10:01",
        "01:10:01.005",
    ]


def test_all_times_of_a_picture_read_alike_and_the_latest_decides_how():
    assert times([12_400, 599_990]) == ["12.40 s", "599.99 s"]
    assert times([12_400, 1_200_035]) == ["00:00:12", "00:20:00"]
    assert times([1_200_035, 86_400_000]) == ["day 0 00:20:00", "day 1 00:00:00"]
    for last_ms, words in (
        (20_000, ["0 s", "10 s", "20 s"]),
        (400, ["0.0 s", "0.2 s", "0.4 s"]),
        (1_200_000, ["00:00:00", "00:10:00", "00:20:00"]),
        (90_000_000, ["day 0 00:00:00", "day 0 12:00:00", "day 1 00:00:00"]),
        (400_000_000, ["day 0", "day 2", "day 4"]),
    ):
        told = [each for _, each in round_times(0, last_ms, last_ms, 3)]
        assert told == words


def test_a_story_of_days_counts_days_and_its_clock_has_no_seconds():
    story = traces.Story()
    story.at(12_400).topic()
    for offset, at in enumerate(
        (3_599_990, 1_123_800_000, 1_123_801_000, 1_123_801_005)
    ):
        story.at(at).append(0, offset, ("a", "v"))
    pic = picture("log", story.events)
    assert [scene["time"] for scene in pic.scenes] == [
        "day 0 00:00",
        "day 0 00:59",
        "day 13 00:10",
        "day 13 00:10",
        "day 13 00:10",
    ]
    for width in (WIDE, NARROW):
        axis = [
            s
            for key, s in pic.drawings(width)[-1].shapes.items()
            if key.startswith("time/axis/")
        ]
        assert all(
            (b["x"] - a["x"]) * LEAST_STRETCH
            >= text_width(a["text"] + b["text"], 12, mono=True) / 2
            for a, b in pairwise(axis)
        )
    _, sentence = re.findall(r'<text x="(\d+)" y="71"', pic.svg())
    assert int(sentence) > 32 + len("day 13 00:10") * 12.5 * 0.61


def test_every_text_is_twelve_pixels_or_more(pic):
    assert all(
        float(size) >= 12 for size in re.findall(r'font-size="([\d.]+)"', pic.svg())
    )


def test_the_table_tells_every_scene(pic):
    assert [row[2] for row in pic.table()] == [
        spoken(scene["sentence"]) for scene in pic.scenes
    ]
    assert len(repr(pic.table()).splitlines()) == len(pic.scenes)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("shop writes “a”.", "Shop writes “a”."),
        ("send(“a”) returns at once.", "send(“a”) returns at once."),
        ("orders-0 has a leader.", "orders-0 has a leader."),
        ("A majority has it.", "A majority has it."),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_unless_it_begins_with_code(told, said):
    assert spoken(told) == said


def test_times_of_a_second_and_more_are_told_in_seconds():
    assert [lasting(ms) for ms in (80, 999, 1000, 1500, 12_000)] == [
        "80 ms",
        "999 ms",
        "1 s",
        "1.5 s",
        "12 s",
    ]


def test_text_only_pictures_are_a_summary_and_a_digest(pic, monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    bundle = pic._repr_mimebundle_()
    assert list(bundle) == ["text/plain"]
    assert (
        pic.digest in bundle["text/plain"]
        and pic.summary(pic.scenes[-1]) in bundle["text/plain"]
    )
    monkeypatch.delenv("MINIKAFKA_PICTURES")
    assert sorted(pic._repr_mimebundle_()) == ["text/html", "text/plain"]


def test_scenes_are_plain_json(pic):
    assert json.loads(json.dumps(pic.scenes)) == pic.scenes


def test_the_digest_is_the_same_in_another_process_and_under_other_hash_seeds():
    code = (
        "from minikafka.theatre import picture; from tests.theatre import traces;"
        "print([picture(n, getattr(traces, t)()).digest for n, t in"
        " (('log', 'retention'), ('log', 'alice'), ('partitioner', 'growing'))])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    here = [
        picture("log", traces.retention()),
        picture("log", traces.alice()),
        picture("partitioner", traces.growing()),
    ]
    assert runs == {f"{[pic.digest for pic in here]}\n"}


def test_saving_writes_the_page(tmp_path):
    pic = picture("log", traces.alice())
    pic.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == pic.page(
        widths=LAYOUTS
    )


def test_an_unknown_picture_or_option_is_named():
    with pytest.raises(
        ValueError,
        match="there is no picture 'film': choose one of bytes, cleaner, commit, fork, gate",
    ):
        picture("film", [])
    with pytest.raises(TypeError, match="'log' has no option 'topics'"):
        picture("log", [], topics="orders")


def test_keys_become_letters_that_differ():
    assert letters(["alice", "bob", None]) == {None: "–", "alice": "a", "bob": "b"}
    assert letters(["anna", "alice"]) == {None: "–", "anna": "an", "alice": "al"}
    assert letters(["customer-1", "customer-17"]) == {
        None: "–",
        "customer-1": "1",
        "customer-17": "17",
    }
    assert letters([]) == {None: "–"}


PAIRS = [
    *(("ink", ground) for ground in ("paper", "wash", "cell", "chip", "good", "said")),
    *((text, ground) for text in ("quiet", "trouble") for ground in ("paper", "wash")),
    ("gone", "paper"),
    *((f"on{number}", f"actor{number}") for number in range(1, COLOURS + 1)),
]


SHAPES = ["rule", "trouble", *(f"actor{number}" for number in range(1, COLOURS + 1))]

each_theme = pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    )
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, other, theme):
    lighter, darker = sorted(
        (luminance(PALETTE[name][theme]) for name in (one, other)), reverse=True
    )
    return (lighter + 0.05) / (darker + 0.05)


@each_theme
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_text_stands_out_from_its_ground(text, ground, theme):
    assert contrast(text, ground, theme) >= 4.5


@each_theme
@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_stands_out_from_the_page(shape, theme):
    """WCAG 1.4.11"""
    assert contrast(shape, "paper", theme) >= 3


def test_every_colour_of_a_drawing_has_a_light_and_a_dark_value(pic):
    for drawing in pic.drawings(WIDE):
        used = {
            shape.get(name, "none")
            for shape in drawing.shapes.values()
            for name in ("fill", "line", "ink", "halo")
        }
        assert used <= set(PALETTE) | {"none", "hatch"}
    assert all(colours().count(f"--{name}:") == 3 for name in PALETTE)
