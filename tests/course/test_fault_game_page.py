"""The game's page in Chromium. Its worker asks the Python of this process instead of a
browser's, so no Pyodide is needed: the runs are the same.
"""

import functools
import http.server
import re
import threading

import pytest

from minikafka.course.publishing import fault_game, game_levels, site
from minikafka.course.publishing.site_look import own
from minikafka.theatre.drawing import LAYOUTS
from tests.browser.site import Quiet
from tests.chromium import running_chromium

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
WORKER = """
postMessage({ ready: true });
onmessage = async ({ data }) => {
  const asked = await fetch('ask', { method: 'POST', body: data });
  postMessage({ answer: await asked.text() });
};
"""
REFUSED = """
Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } });
"""
NOT_COPIED = "navigator.clipboard.writeText = () => Promise.reject(new Error('no'));"
PATIENCE_MS = 120_000
FREEZE_1_AT_5030 = "2/10"
one_at_a_time = threading.Lock()


class Asked(Quiet):
    """Files, and answers of the game's Python."""

    def do_POST(self):
        question = self.rfile.read(int(self.headers["content-length"])).decode()
        with one_at_a_time:
            answer = fault_game.answer(question).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("game")
    site.save(folder / "game.html", site.game_page())
    stage = fault_game.first_picture().page(at_end=True, widths=LAYOUTS)
    site.save(folder / "game_stage.html", stage)
    site.save(folder / "game.js", own("game.js"))
    site.save(folder / "worker.js", WORKER)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Asked, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/game.html"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def chromium():
    with running_chromium() as browser:
        yield browser


class Game:
    """The page, and what a player does on it."""

    def __init__(self, page, address):
        self.page, self.address, self.errors = page, address, []
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.stage = page.frame_locator("#stage iframe")
        self.drawing = self.stage.locator("#drawing")

    def open(self, link=""):
        self.page.goto(f"{self.address}{link}")
        self.says("Choose a cell.")

    def can_keep(self):
        return self.page.locator("#keep").is_visible()

    def says(self, words):
        self.page.locator("#verdict", has_text=words).wait_for()

    def cell(self, key):
        return self.stage.locator(f'[data-key="{key}"]')

    def tries(self, key, words):
        self.cell(key).click()
        self.says(words)

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def keep(self):
        self.page.click("#keep")
        self.says("Kept: this fault")

    def score(self):
        return self.page.text_content("#tries")

    def hash(self):
        return self.page.evaluate("location.hash")

    def board(self):
        """Where it is on the page."""
        frame = self.page.locator("#stage iframe").evaluate(
            "node => node.getBoundingClientRect().top + scrollY"
        )
        return frame + self.cell("0/0").evaluate(
            "node => node.getBoundingClientRect().top"
        )


@pytest.fixture
def opened(chromium, address):
    contexts = []

    def open_(link="", before="", **options):
        size = {"width": 1280, "height": 720}
        options = {"viewport": size, "reduced_motion": "reduce"} | options
        contexts.append(chromium.new_context(**options))
        page = contexts[-1].new_page()
        if before:
            page.add_init_script(before)
        game = Game(page, address)
        game.open(link)
        return game

    yield open_
    for context in contexts:
        context.close()


@pytest.fixture
def game(opened):
    game = opened()
    yield game
    assert game.errors == []


def test_a_cell_can_be_chosen_while_the_table_is_open_and_the_table_is_its_runs(game):
    rows = game.stage.locator("#rows")
    game.tries(FREEZE_1_AT_5030, "are gone")
    game.stage.locator("#text").click()
    assert "is frozen" in rows.text_content()
    game.tries("0/10", "Nothing lost.")
    game.stage.locator("#scrub").press("End")
    rows.filter(has_text="Broker 1 crashes").wait_for()
    assert "is frozen" not in rows.text_content()
    game.stage.locator("#text").click()
    assert game.drawing.is_visible() and not rows.is_visible()
    game.stage.locator("#text").click()
    assert "Broker 1 crashes" in rows.text_content()


def test_what_can_not_be_shown_is_said_so(opened):
    game = opened()
    game.page.evaluate(
        """() => {
  const node = document.createElement('i');
  node.dataset.play = '{"steps": 3, "turn": 99}';
  document.querySelector('.minikafka-data').replaceChildren(node);
}"""
    )
    game.stage.locator("#said", has_text="could not show what came").wait_for()
    assert game.errors


def test_pointing_at_cells_runs_nothing(game):
    game.cell("5/19").hover()
    game.cell("0/3").hover()
    game.page.mouse.move(5, 5)
    assert game.page.text_content("#verdict") == "Choose a cell."
    assert game.stage.locator("#strip .untried").count() == 121  # one in the legend


def test_a_win_moves_nothing_and_the_replay_is_where_the_log_is_cut(game):
    game.tries("1/3", "No harm done")
    # with the first try the goal comes up, so that the run is in sight below the board
    game.page.wait_for_function(
        "Math.round(document.querySelector('#goal').getBoundingClientRect().top) < 10"
    )
    before, scrolled = game.board(), game.page.evaluate("scrollY")
    game.tries(FREEZE_1_AT_5030, "Solved.")
    assert game.board() == before
    fate = game.stage.locator("#strip .fate")
    assert "lost order 2, order 3, order 4" in fate.text_content()
    game.says("Broker 1 woke after broker 2 had taken over")
    game.stage.locator("#sentence", has_text="truncates its log").wait_for()
    assert game.page.locator("#next").is_visible()
    assert game.page.evaluate("scrollY") == scrolled


@pytest.mark.parametrize("goes_on", ["next puzzle", "start again"])
def test_a_new_start_shows_nothing_of_the_run_before(game, goes_on):
    game.tries(FREEZE_1_AT_5030, "Solved.")
    assert "lost" in game.drawing.get_attribute("aria-label")
    game.page.click("#link")
    assert "fault=" in game.hash()
    game.page.click("#next" if goes_on == "next puzzle" else "#again")
    game.says("Choose a cell.")
    label = game.stage.locator('#drawing[aria-label*="nothing acknowledged lost"]')
    label.wait_for()
    is_next = goes_on == "next puzzle"
    assert game.hash() == ("#level=2" if is_next else "#level=1")
    given = len(game_levels.LEVELS[1 if is_next else 0].also)
    assert game.stage.locator("#ticks .flag").count() == given


def test_what_was_solved_stays_solved_with_its_board_until_it_is_started_again(game):
    game.tries("1/3", "No harm done")
    game.tries(FREEZE_1_AT_5030, "Solved.")
    game.page.reload()
    game.says("Solved: 2 tries (2 is good).")
    solved = game.page.locator(".puzzles .solved")
    assert solved.count() == 1 and solved.get_attribute("title") == "solved; tries: 2"
    assert game.score() == "2 tries (2 is good) ·−3"
    assert game.cell(FREEZE_1_AT_5030).text_content() == "−3"
    assert game.page.locator("#next").is_visible()
    game.page.click("#again")
    game.says("Choose a cell.")
    assert game.score().startswith("0 tries")
    assert game.cell(FREEZE_1_AT_5030).text_content() == ""
    assert solved.count() == 1


def test_a_board_of_two_faults_is_there_again_with_the_one_that_was_kept(opened):
    game = opened("#level=4")
    game.tries("3/9", "No harm done")
    game.keep()
    game.tries("0/12", "Solved.")
    game.page.reload()
    game.says("Solved: 1 try")
    kept = game.stage.locator(".pinned button")
    assert kept.text_content() == "broker 2 freezes for 1 s at 5.025 s ✕"
    assert game.cell("0/12").text_content() == "−1"


def test_a_browser_that_keeps_nothing_plays_all_the_same(opened):
    game = opened(before=REFUSED)
    game.tries(FREEZE_1_AT_5030, "Solved.")
    assert game.page.locator(".puzzles .solved").count() == 1
    assert game.errors == []


def test_a_copied_result_can_be_read_by_itself_and_the_verdict_stays(opened):
    game = opened(before=NOT_COPIED)
    game.tries("1/3", "No harm done")
    game.tries("0/10", "waited")
    game.tries(FREEZE_1_AT_5030, "Solved.")
    game.page.click("#result")
    copied = game.page.locator("#copied", has_text="level 1")
    assert copied.text_content().splitlines() == [
        "Lose an acknowledged order, level 1: 3 tries (2 is good)",
        "⬜🟦🟧 Lost: orders 2, 3, 4",
        "⬜ no harm, 🟦 the shop waited, 🟧 orders lost",
        "Lose an order with a single fault.",
        f"{game.address}#level=1",
    ]
    game.says("Solved.")


def test_a_hint_comes_to_those_who_have_tried_often(game):
    game.tries("1/3", "No harm done")
    assert "A hint" not in game.page.text_content("#verdict")
    game.tries("1/9", "A hint: What does a leader do")


def test_with_other_moments_the_board_and_what_is_said_begin_anew(opened):
    game = opened("#free")
    game.tries(FREEZE_1_AT_5030, "are gone")
    game.page.select_option("#step_ms", "1")
    game.says("Choose a cell.")
    assert game.stage.locator("#strip .untried").count() == 121


@pytest.mark.parametrize("lasts_ms", fault_game.LASTS_MS)
def test_no_faults_name_is_cut(opened, lasts_ms):
    game = opened("#free")
    game.page.select_option("#lasts_ms", str(lasts_ms))
    long = f"{lasts_ms} ms" if lasts_ms < 1000 else f"{lasts_ms // 1000} s"
    names = game.stage.locator("[role=rowheader]")
    names.filter(has_text=f"cut for {long}").wait_for()
    cut = "all => all.filter(node => node.scrollWidth > node.clientWidth).length"
    assert names.evaluate_all(cut) == 0


def test_a_fault_that_is_given_has_no_button_and_leaves_no_other_one_to_keep(opened):
    game = opened("#level=2")
    pinned = game.stage.locator(".pinned")
    assert "broker 1 - broker 2 cut for 1 s at 5.000 s" in pinned.text_content()
    assert pinned.locator("button").count() == 0
    game.tries("0/10", "Not what this puzzle asks for. Order 1 was confirmed")
    assert not game.can_keep()
    game.tries("0/14", "Solved.")
    assert game.score() == "2 tries (1 is good) −1−3"


def test_the_lines_above_the_board_are_read_aloud(opened):
    game = opened("#level=2")
    lines = game.stage.locator("#strip .track")
    read = lines.evaluate_all("all => all.map(node => node.ariaLabel)")
    assert len(read) == 4
    assert read[0].startswith("on broker 1: 0 after 5.015 s, 1 after 5.0")
    assert read[2] == "on broker 2: nothing"


def test_a_run_with_fewer_faults_than_the_puzzle_takes_is_no_try(opened):
    game = opened("#level=3")
    assert not game.can_keep()
    game.tries("0/12", "No harm done")
    assert game.can_keep() and game.score().startswith("0 tries")
    game.keep()
    assert not game.can_keep()
    game.tries("1/12", "Solved.")
    assert game.score().startswith("1 try")
    assert "Orders 3 and 4" in game.page.text_content("#verdict")


def test_a_fault_is_chosen_and_kept_by_keys(opened):
    game = opened("#level=4")
    game.cell("0/0").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        game.page.keyboard.press(key)
    game.says("Nothing lost.")
    game.page.locator("#keep").press("Enter")
    game.says("Kept: this fault")
    pinned = game.stage.locator(".pinned button")
    assert pinned.text_content() == "broker 1 freezes for 1 s at 4.985 s ✕"


@pytest.mark.nightly
def test_the_last_puzzle_ends_in_why_it_can_not_be_won_and_every_moment_runs(opened):
    last = len(game_levels.LEVELS)
    game = opened(f"#level={last}")
    assert not game.page.locator("#every").is_visible()
    for column in range(5, 9):
        game.tries(f"2/{column}", "are safe")
    game.tries("2/9", "A hint: try two faults.")
    game.keep()
    game.tries("0/12", "that is the point")
    assert "unclean.leader.election.enable=true" in game.page.text_content("#verdict")
    assert game.page.locator(".puzzles .solved").count() == 1
    assert game.can_keep()
    game.page.click("#every")
    game.says("120 runs in")
    legend = game.stage.locator("#strip .legend")
    assert re.search("120 runs$", legend.text_content())
    assert "pale" not in legend.text_content()


def test_whoever_opens_a_link_sees_the_same_run(opened):
    game = opened()
    game.tries(FREEZE_1_AT_5030, "Solved.")
    game.page.click("#link")
    other = Game(game.page.context.new_page(), game.address)
    other.page.goto(f"{game.address}{game.hash()}")
    other.says("This tab ran it again, with the same result.")
    assert "Orders 2 to 4 were confirmed, and are gone." in (
        other.page.text_content("#verdict")
    )
    assert other.errors == []


PHONE = {"width": 390, "height": 660}


def on_a_phone(opened, link=""):
    game = opened(link, viewport=PHONE, has_touch=True, is_mobile=True)
    assert game.page.evaluate("document.documentElement.scrollWidth") == 390
    return game


def test_on_a_phone_the_board_is_there_at_first(opened):
    game = on_a_phone(opened)
    footer = game.page.locator("#told").bounding_box()
    assert footer["y"] + footer["height"] == PHONE["height"]
    assert footer["height"] <= 56
    cell = game.cell("5/19").bounding_box()
    assert cell["y"] + cell["height"] <= footer["y"]


def test_on_a_phone_a_finger_along_a_row_reads_its_cells_and_runs_the_last(opened):
    game = on_a_phone(opened)
    session = game.page.context.new_cdp_session(game.page)

    def touch(kind, *cells):
        places = [game.cell(key).bounding_box() for key in cells]
        points = [{"x": each["x"] + 8, "y": each["y"] + 16} for each in places]
        touched = {"type": kind, "touchPoints": points}
        session.send("Input.dispatchTouchEvent", touched)

    touch("touchStart", "2/4")
    touch("touchMove", "2/7")
    game.says("broker 1 freezes for 12 s at 5.015 s")
    touch("touchMove", "2/10")
    game.says("broker 1 freezes for 12 s at 5.030 s")
    assert game.score().startswith("0 tries")
    touch("touchEnd")
    game.says("Solved.")


def test_on_a_phone_the_whole_board_and_what_came_of_a_run_are_in_sight(opened):
    game = on_a_phone(opened)
    lines = game.stage.locator("#strip .track").first
    lines.evaluate("node => node.scrollIntoView({ block: 'start' })")
    before = game.page.evaluate("scrollY")
    game.cell("2/8").tap()
    game.says("Solved.")
    assert game.page.evaluate("scrollY") == before
    told = game.page.locator("#told").bounding_box()
    for part in ("#tries", "#verdict", "#next", "#result"):
        assert game.page.locator(part).bounding_box()["y"] >= told["y"], part
    for key in ("0/0", "5/19"):
        cell = game.cell(key).bounding_box()
        assert cell["x"] >= 0 and cell["x"] + cell["width"] <= 390
        assert cell["y"] >= 0 and cell["y"] + cell["height"] < told["y"]
        assert cell["height"] >= 32


@pytest.mark.parametrize("link", ["", "#level=2"])
def test_on_a_phone_the_first_try_brings_all_rows_in_sight(opened, link):
    game = on_a_phone(opened, link)
    game.cell("1/3").tap()
    game.says("No harm done")
    panel = game.page.locator("#told").bounding_box()
    names = game.stage.locator("[role=rowheader]")
    assert names.first.bounding_box()["y"] >= 0
    cell = game.cell("5/19").bounding_box()
    assert cell["y"] + cell["height"] <= panel["y"]
    goal = game.page.locator("#goal").bounding_box()
    assert goal["y"] + goal["height"] > 0
    before = game.page.evaluate("scrollY")
    game.cell("3/9").tap()
    game.says("A hint")
    assert game.page.evaluate("scrollY") == before
    assert game.page.locator("#told").bounding_box() == panel


def test_on_a_phone_two_lines_say_what_came_of_a_run_and_a_button_opens_the_rest(
    opened,
):
    game = on_a_phone(opened)
    game.cell("1/3").tap()
    game.says("No harm done")
    verdict, more = game.page.locator("#verdict"), game.page.locator("#more")
    lacks = "node => node.scrollHeight - node.clientHeight"
    low = verdict.bounding_box()["height"]
    assert low <= 48 and verdict.evaluate(lacks) > 0
    assert more.bounding_box()["height"] >= 44
    more.tap()
    assert verdict.evaluate(lacks) == 0 and more.text_content() == "less"
    more.tap()
    assert verdict.bounding_box()["height"] == low and more.text_content() == "why"
    game.cell("2/9").tap()
    game.says("Solved.")
    assert verdict.bounding_box()["height"] == low


def test_on_a_phone_buttons_step_along_a_row_and_only_where_they_stop_is_a_try(opened):
    game = on_a_phone(opened)
    earlier, later = game.page.locator("#earlier"), game.page.locator("#later")
    assert later.is_visible() and earlier.is_disabled()
    game.cell("2/5").tap()
    game.says("waited 12 s")
    for button in (earlier, later):
        box = button.bounding_box()
        assert box["height"] >= 44 and box["width"] >= 44
    later.evaluate("node => { for (let i = 0; i < 5; i++) node.click(); }")
    game.says("broker 1 freezes for 12 s at 5.030 s")
    shown = game.stage.locator("#strip .shown")
    assert shown.get_attribute("data-key") == FREEZE_1_AT_5030
    game.says("Solved.")
    assert game.score().startswith("2 tries")
    assert not later.is_visible()


def test_on_a_phone_steps_end_where_the_row_ends(opened):
    game = on_a_phone(opened)
    for key, end in (("1/0", "#earlier"), ("1/19", "#later")):
        game.cell(key).tap()
        game.says("No harm done")
        disabled = game.page.locator("#acts button:disabled")
        assert disabled.count() == 1 and disabled.get_attribute("id") == end[1:]


def test_steps_are_for_fingers(game):
    game.tries("1/3", "No harm done")
    assert not game.page.locator("#later").is_visible()
    assert not game.page.locator("#more").is_visible()


def test_on_a_phone_a_fault_is_kept_at_the_edge_of_the_window(opened):
    game = on_a_phone(opened, "#level=4")
    game.cell("3/9").tap()
    game.says("No harm done")
    keep = game.page.locator("#keep").bounding_box()
    assert game.page.locator("#told").bounding_box()["y"] <= keep["y"]
    assert keep["y"] + keep["height"] < PHONE["height"] and keep["height"] >= 44
    game.page.locator("#keep").tap()
    game.says("Kept: this fault")


def test_nothing_of_a_page_ends_under_the_edge_of_the_window_on_a_phone(opened):
    game = on_a_phone(opened)
    game.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    last = game.page.locator("footer, main").last.bounding_box()
    footer = game.page.locator("#told").bounding_box()
    assert last["y"] + last["height"] <= footer["y"] + 1


@pytest.mark.parametrize("width", [390, 1280])
def test_no_words_of_the_last_level_are_cut(opened, width):
    phone = {"has_touch": True, "is_mobile": True} if width < 500 else {}
    height = PHONE["height"] if phone else 720
    link = f"#level={len(game_levels.LEVELS)}"
    game = opened(link, viewport={"width": width, "height": height}, **phone)
    for column in range(5, 9):
        game.tries(f"2/{column}", "are safe")
    game.keep()
    game.tries("0/12", "that is the point")
    verdict = game.page.locator("#verdict")
    assert verdict.evaluate("node => node.scrollHeight - node.clientHeight") == 0
    box = verdict.bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= height


def test_a_finger_that_is_dragged_along_a_row_tries_the_moment_where_it_lets_go(opened):
    game = opened(viewport=PHONE, has_touch=True)
    session = game.page.context.new_cdp_session(game.page)
    row = game.cell("2/10")
    row.evaluate("node => node.scrollIntoView({ block: 'center' })")
    kinds = ("touchStart", "touchMove", "touchMove")
    places = [game.cell(f"2/{column}").bounding_box() for column in (3, 7, 10)]
    for kind, place in zip(kinds, places, strict=True):
        at = {"x": place["x"] + 7, "y": place["y"] + 15}
        touched = {"type": kind, "touchPoints": [at]}
        session.send("Input.dispatchTouchEvent", touched)
    assert game.score().startswith("0 tries")
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    game.says("Solved.")
    assert game.score().startswith("1 try")


def test_on_a_laptop_the_whole_board_is_above_the_fold(game):
    frame = game.page.locator("#stage iframe").bounding_box()["y"]
    board = game.stage.locator("#strip").evaluate("node => node.offsetHeight")
    top = game.stage.locator("#strip").evaluate("node => node.offsetTop")
    assert frame + top + board < 720
    said, played = game.page.locator("#verdict"), game.stage.locator("#strip")
    edges = ("x", "width")
    assert [said.bounding_box()[edge] for edge in edges] == [
        played.bounding_box()[edge] for edge in edges
    ]
