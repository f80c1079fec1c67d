"""What a client names is text in every picture: nothing runs, nothing breaks, and a
page stays small.
"""

import json
import xml.etree.ElementTree as ElementTree

import pytest

from minikafka import Cluster
from minikafka.theatre import picture
from minikafka.theatre.text import escape, key_part, readable, script_json
from minikafka.trace import Event
from tests.theatre import hostile

pytestmark = pytest.mark.slow

PICTURES = ["commit", "lag", "log", "partitioner", "pipeline", "rebalance"]
LONGEST_PAGE = 200_000  # bytes, at most 160 steps


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return {
        "classic": hostile.simulated(),
        "KIP-848": hostile.simulated("consumer"),
        "served": hostile.served(tmp_path_factory.mktemp("served")),
    }


@pytest.fixture(scope="module")
def pictures(traces):
    shown = {
        (name, run): picture(name, trace, seed=7)
        for run, trace in traces.items()
        for name in PICTURES
    }
    classic, served, names = traces["classic"], traces["served"], hostile.NAMES[2:4]
    shown["beside", "both"] = picture(
        "rebalance", classic, beside=traces["KIP-848"], names=names
    )
    shared = picture("share-partition", hostile.shared(), seed=7)
    shown["share-partition", "shared"] = shared
    shown["beside", "served"] = picture("rebalance", served, beside=served)
    return shown


def test_every_kind_of_name_is_hostile(traces):
    for trace in traces.values():
        told = json.dumps([event.to_json() for event in trace])
        assert [
            name for name in hostile.NAMES if json.dumps(name[:90])[1:-1] not in told
        ] == []


def test_every_picture_of_hostile_names_has_steps_that_say_them(pictures):
    for (name, run), pic in pictures.items():
        # those need a client that tells what it does
        if run != "served" or name not in ("partitioner", "pipeline"):
            assert len(pic.scenes) > 10, (name, run)
        assert all(row.isprintable() for rows in pic.table() for row in rows)


def test_a_picture_finds_its_group_by_the_name_as_it_is(traces):
    group = next(
        event.detail["group"]
        for event in traces["classic"]
        if event.kind == "MemberJoined"
    )
    assert (
        not group.isprintable()
        and picture("rebalance", traces["classic"], group=group).scenes
    )
    assert not picture("rebalance", traces["classic"], group=group[:50]).scenes


def test_every_svg_is_well_formed(pictures):
    for pic in pictures.values():
        for step in range(0, max(len(pic.scenes), 1), 7):
            ElementTree.fromstring(pic.svg(step if pic.scenes else None))


def test_a_page_stays_small_whatever_names_are_in_it(pictures):
    sizes = {of: len(pic.page().encode()) for of, pic in pictures.items()}
    assert max(sizes.values()) < LONGEST_PAGE, sizes


def test_texts_that_are_ordinary_stay_as_they_are():
    event = Event(
        ("billing", 3),
        7,
        "billing",
        "MemberJoined",
        ("billing-1", 4),
        {"why": "new", "parts": [["a", 0]]},
    )
    assert readable(event) is event
    assert readable(["Zoë – Καφκα 卡夫卡 😀", 3, None, 2.5, True]) == [
        "Zoë – Καφκα 卡夫卡 😀",
        3,
        None,
        2.5,
        True,
    ]


def test_texts_that_are_not_become_one_short_line():
    told = Event(
        ("a\nb", 1),
        7,
        "a\nb",
        "GroupDeleted",
        ("a\nb", 4),
        {"group": "\x1b[31m", "parts": [["\u202e", 0]]},
    )
    shown = readable(told)
    assert (shown.id, shown.node, shown.cause) == (("a\\nb", 1), "a\\nb", ("a\\nb", 4))
    assert shown.detail == {"group": "\\x1b[31m", "parts": [["\\u202e", 0]]}
    assert len(readable("x" * 20_000)) == 200 and readable(
        readable("\n" * 999)
    ) == readable("\n" * 999)


def test_what_is_no_character_of_xml_is_replaced_and_quotes_are_escaped():
    assert (
        escape("<a b='\"'>&\x00\ufffe")
        == "&lt;a b=&#x27;&quot;&#x27;&gt;&amp;\ufffd\ufffd"
    )
    assert (
        ElementTree.fromstring(f"<a b='{escape(''.join(map(chr, range(0x11000))))}'/>")
        is not None
    )


def test_json_in_a_script_can_not_end_it_and_can_be_written():
    text = script_json({"<!--": "</script>&\u2028\u2029\ud800"})
    assert text == '{"\\u003c!--":"\\u003c/script\\u003e\\u0026\\u2028\\u2029\\ud800"}'


def test_a_shape_is_found_by_its_key_whatever_slashes_a_name_has():
    assert (
        len(
            {
                f"reader/{key_part(name)}/name"
                for name in ("a", "a/name", "a%2Fname", "a%")
            }
        )
        == 4
    )


def test_a_trace_with_texts_that_are_no_unicode_is_saved(tmp_path):
    detail = {"topic": "orders", "partitions": 1, "configs": {"\ud800": "\udfff"}}
    story = [Event(("broker 1", 1), 0, "broker \udc00", "TopicCreated", None, detail)]
    question = {"question": "\ud800", "options": ["\udfff"], "mine": None}
    picture("log", story, prediction=question).save(tmp_path / "page.html")


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_nothing_that_a_client_names_runs_in_the_browser(pictures, chromium, tmp_path):
    """The page's content security policy refuses other scripts too, and says so in the
    console.
    """
    page = chromium.new_page(
        viewport={"width": 960, "height": 647}, reduced_motion="reduce"
    )
    heard = []
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.add_init_script("window.hit = () => { throw new Error('a name has run') }")
    for (name, run), pic in pictures.items():
        if not pic.scenes:
            continue
        framed = run == "KIP-848"  # as in a notebook
        text = (
            f"<!doctype html><meta charset=utf-8><body>{pic.frame()}"
            if framed
            else pic.page()
        )
        (tmp_path / f"{name}-{run}.html").write_text(text, encoding="utf-8")
        page.goto((tmp_path / f"{name}-{run}.html").as_uri())
        inside = page.frames[1] if framed else page
        inside.focus("#text")
        for key in ("End", "ArrowLeft", "Home", "n", "t", "t", "End"):
            page.keyboard.press(key)
        inside.hover("#said")
        last = pic.scenes[-1]
        shown = [
            inside.text_content(f"#{each}") for each in ("title", "sentence", "number")
        ]
        assert shown == [
            pic.title,
            pic.sentence(last),
            f"{last['number']} of {last['of']}",
        ]
        assert inside.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            name,
            run,
        )
        assert heard == [], (name, run)
    page.close()


def test_a_cluster_and_a_group_show_each_name_on_one_line():
    with Cluster(seed=7) as cluster:
        cluster.create_topic("orders")
        consumer = cluster.consumer(
            "orders", client_id="a\nb\x1b[2J", group_id="g\r\nh"
        )
        consumer.poll(timeout_ms=5000)
        assert repr(consumer) == "<a\\nb\\x1b[2J: up>"
        texts = [repr(cluster), repr(cluster.group("g\r\nh")), *map(str, cluster.trace)]
    assert all(line.isprintable() for text in texts for line in text.split("\n"))
    assert ["a\\nb\\x1b[2J", "up"] in [line.split() for line in texts[0].split("\n")]
    assert texts[1].startswith("group g\\r\\nh (classic)") and not any(
        "\n" in text for text in texts[2:]
    )
