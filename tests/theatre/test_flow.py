"""While time flows: one moment on one screen. The clock only goes on, words belong to the
step one comes from, and lengths and durations run with the clock.
"""

import re
from itertools import pairwise

import pytest

from minikafka.theatre import picture
from tests.theatre import replicas
from tests.theatre.commit_traces import HERE, Commits

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
# from a step on until another one is reached: of each frame the clock, the step, and all
# words that are seen
PLAYED = """
([begin, until]) => new Promise(done => {
  const at = id => document.getElementById(id), frames = [];
  at('scrub').value = begin;
  at('scrub').dispatchEvent(new Event('input'));
  const seen = node => node.style.display !== 'none' && !['', '0'].includes(node.textContent)
    && (node.style.opacity === '' || Number(node.style.opacity) > 0);
  const look = () => {
    const words = [...document.querySelectorAll('#drawing > text')].filter(seen);
    frames.push([at('time').textContent, Number(at('scrub').value), words.map(node => node.textContent)]);
    if (frames.at(-1)[1] < until) requestAnimationFrame(look);
    else done(frames);
  };
  at('go').click();
  look();
})
"""
DURATION = re.compile(r"[0-9.]+ m?s\b")


@pytest.fixture
def played(chromium, tmp_path):
    """The frames of a picture that plays. again: it was seen to its end before."""
    pages = []

    def play(pic, begin, until, again=False, speed="1"):
        pic.save(tmp_path / "page.html")
        page = chromium.new_page(viewport={"width": 980, "height": 844})
        pages.append(page)
        page.goto((tmp_path / "page.html").as_uri())
        page.select_option("#speed", speed)
        if again:
            page.keyboard.press("End")
        return page.evaluate(PLAYED, [begin, until])

    yield play
    for page in pages:
        page.close()


def seconds(words):
    """What a clock shows, as a number."""
    if words.endswith(" s"):
        return float(words.removesuffix(" s"))
    hours, minutes, rest = words.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


def again_and_again():
    """A member is handed the same records again, which is lit."""
    story = Commits().orders(60)
    story.at(10_000).starts(0)
    for number in range(4):
        story.at(20_000 + 10_000 * number).poll("billing", 0, 0, 50)
        why = "auto.offset.reset=earliest"
        story.tell("billing", "PositionReset", **HERE, offset=0, why=why)
    return picture("lag", story.events)


def a_crash():
    """A broker is away for seconds."""
    return picture("replica-set", replicas.acks_1())


def test_what_is_played_again_has_a_clock_that_only_goes_on(played):
    """Where a step has been in the light, too: time goes on when that is over."""
    for pic in (again_and_again(), a_crash()):
        lit = [scene["step"] for scene in pic.scenes if "light" in scene]
        begin = max(lit[0] - 2, 0)
        until = min(lit[0] + 2, len(pic.scenes) - 1)
        frames = played(pic, begin, until, again=True, speed="4")
        clock = [seconds(time) for time, *_ in frames]
        assert clock == sorted(clock)
        times = [scene["time"] for scene in pic.scenes]
        ends = [seconds(times[step]) for _, step, _ in frames]
        starts = [seconds(times[step + 1]) for _, step, _ in frames[:-1]]
        assert all(end <= now for end, now in zip(ends, clock, strict=True))
        assert all(now <= start for now, start in zip(clock, starts, strict=False))


def unnumbered(words):
    return {DURATION.sub("#", each) for each in words}


@pytest.mark.parametrize("shown", [again_and_again, a_crash])
@pytest.mark.parametrize("again", [False, True])
def test_no_word_of_the_next_step_is_seen_before_it(played, shown, again):
    pic = shown()
    long = longest_wait(pic)
    frames = played(pic, long - 1, long + 2, again=again, speed="2")
    told = [words_of(drawing) for drawing in pic.drawings(920)]
    for _, step, words in frames:
        early = told[step + 1] - told[step] - told[step - 1]
        assert unnumbered(words) & early == set()


def words_of(drawing):
    texts = [each["text"] for each in drawing.shapes.values() if each["kind"] == "text"]
    return unnumbered(texts)


def longest_wait(pic):
    stays = pic.stays()
    return max(range(1, len(stays) - 2), key=lambda step: stays[step].passes)


def test_how_long_something_has_lasted_runs_with_the_clock(played):
    pic = a_crash()
    step = longest_wait(pic)
    frames = played(pic, step, step + 1)
    told = []
    for time, now, words in frames:
        crashed = [each for each in words if each.startswith("crashed, ")]
        if now == step and crashed:
            number = DURATION.search(crashed[0])[0].removesuffix(" s")
            told.append((seconds(time), float(number)))
    began = {round(time - lasted, 1) for time, lasted in told}
    assert len({lasted for _, lasted in told}) > 10
    assert max(began) - min(began) <= 0.2
    assert all(one[1] <= other[1] for one, other in pairwise(told))


def test_words_that_tell_how_long_a_bar_is_come_as_soon_as_it_has_room(played):
    pic = a_crash()
    words = "time/lane/broker 1/bar/2/words"
    drawings = pic.drawings(920)
    new = next(step for step, each in enumerate(drawings) if words in each.shapes)
    frames = played(pic, new - 1, new, speed="0.5")
    told = []
    for time, step, seen in frames:
        crashed = [each for each in seen if each.startswith("crashed, ")]
        if step == new - 1 and crashed:
            number = DURATION.search(crashed[0])[0].removesuffix(" s")
            told.append((seconds(time), float(number)))
    began = {round(time - lasted, 1) for time, lasted in told}
    assert len(told) > 1
    assert max(began) - min(began) <= 0.2
