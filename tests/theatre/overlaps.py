"""What a picture's page looks like in a browser: texts that overlap, what lies outside
of the drawing or the window, a verdict in sight, and whether all that one needs next is.

A page is opened once, and everything is measured there.
"""

from dataclasses import dataclass, field

import pytest

from minikafka.theatre.picture import Picture

# widths of the drawing: a phone, JupyterLab with its sidebar open, without it, a wide
# window
DRAWN = (358, 526, 760, 948)
MARGIN = 32  # of the page, left and right together
HEIGHT = 900
# a phone and a small laptop
WINDOWS = ((390, 660), (1280, 720))

# Each text as [words, left, top, right, bottom], in pixels of the drawing; words that
# are wider than their cell; and shapes that are not wholly in the window.
MEASURE = """
([steps, width]) => {
  const at = id => document.getElementById(id), scrub = at('scrub'), svg = at('drawing');
  dispatchEvent(new Event('resize'));
  const drawn = document.querySelector('main').clientWidth - 32;
  if (drawn !== width) throw new Error(`the drawing is ${drawn} px wide`);
  return steps.map(step => {
    scrub.value = step;
    scrub.dispatchEvent(new Event('input'));
    if (Number(scrub.value) !== step) throw new Error(`it stays at step ${scrub.value} and not ${step}`);
    const frame = svg.getBoundingClientRect(), texts = [], squeezed = [], outside = [];
    const scale = frame.width / svg.viewBox.baseVal.width;  // some pages are drawn larger
    if (document.documentElement.scrollWidth > innerWidth) outside.push('the page');
    for (const node of svg.querySelectorAll('[data-shape]:not(g, text)')) {
      const { left, right, width, height } = node.getBoundingClientRect();
      if ((width || height) && (left < 0 || right > innerWidth)) outside.push(`${node.tagName} ${left} to ${right}`);
    }
    for (const node of svg.querySelectorAll('text')) {
      const box = node.getBoundingClientRect(), words = node.textContent;
      if (!box.width || !words.trim()) continue;  // it isn't shown
      const edges = [box.left - frame.left, box.top - frame.top, box.right - frame.left, box.bottom - frame.top];
      texts.push([words, ...edges.map(edge => edge / scale)]);
    }
    for (const cell of svg.querySelectorAll('g')) {
      const [box, ...inside] = [...cell.children].slice(0, 3).map(part => [part, part.getBoundingClientRect().width]);
      for (const [text, wide] of inside) if (wide > box[1] + 1) squeezed.push(text.textContent);
    }
    return { step, width: frame.width / scale, height: frame.height / scale, texts, squeezed, outside };
  });
}
"""
# The steps at which the verdict can be seen, when one has chosen.
VERDICT = """
last => {
  const at = id => document.getElementById(id), scrub = at('scrub'), seen = [];
  for (let step = 0; step <= last; step++) {
    scrub.value = step;
    scrub.dispatchEvent(new Event('input'));
    if (at('verdict').checkVisibility()) seen.push(step);
  }
  return seen;
}
"""
# Those of the elements that are not wholly in the window, though they are shown, or that
# a phone's sheet covers.
OUT_OF_SIGHT = """
names => {
  dispatchEvent(new Event('resize'));
  const sheet = document.getElementById('sheet'), is_over = getComputedStyle(sheet).position === 'fixed';
  return names.filter(name => [...document.querySelectorAll(name)].some(node => {
    if (!node.checkVisibility()) return false;
    const { top, bottom } = node.getBoundingClientRect(), is_free = !is_over || sheet.contains(node);
    return top < 0 || bottom > (is_free ? innerHeight : sheet.getBoundingClientRect().top);
  }));
}
"""
# Whether a phone's sheet covers what is in the light at the last step, or the window's
# edge cuts it off; of what is higher than the room between them, whether its top is.
LIT_OUT_OF_SIGHT = """
last => {
  const scrub = document.getElementById('scrub'), sheet = document.getElementById('sheet');
  scrub.value = last;
  scrub.dispatchEvent(new Event('input'));
  const free = sheet.getBoundingClientRect().top;
  const nodes = [...document.querySelectorAll('.lit')].filter(node => node.checkVisibility());
  const lit = nodes.map(node => node.getBoundingClientRect());
  if (!lit.length) return false;
  const top = Math.min(...lit.map(box => box.top)), bottom = Math.max(...lit.map(box => box.bottom));
  return top < -1 || (bottom - top > free ? top > free / 2 : bottom > free + 1);
}
"""
SAYS_NOTHING = (
    "['verdict', 'rows'].every(id => !document.getElementById(id).checkVisibility())"
)


@dataclass
class Visit:
    """What was found on the page of one picture."""

    overlaps: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    out_of_sight: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def steps_to_measure(picture: Picture) -> list[int]:
    """Where it stops to ask, and where it dims what a step is not about."""
    lit = [step for step, scene in enumerate(picture.scenes) if "light" in scene]
    asked = picture.prediction
    return sorted({*lit, *([asked.stop] if asked else [])} - {len(picture.scenes) - 1})


def visit(page, name: str, picture: Picture, folder, axe=None, more_steps=()) -> Visit:
    """Open a picture's page, at every width and at every step that counts; the last
    step comes last: what was played to its end shows more.
    """
    picture.save(folder / "picture.html")
    page.goto((folder / "picture.html").as_uri())
    found, last, asked = Visit(), len(picture.scenes) - 1, picture.prediction
    if asked:
        ask(page, name, asked, last, found)
    earlier = sorted({*steps_to_measure(picture), *more_steps})
    for steps in filter(None, (earlier, [last])):
        for width in DRAWN:
            page.set_viewport_size({"width": width + MARGIN, "height": HEIGHT})
            for shown in page.evaluate(MEASURE, [steps, width]):
                found.overlaps += problems(
                    f"{name}, step {shown['step']}, {width} px", shown
                )
    if axe:
        for each in axe.run(page, options={"resultTypes": ["violations"]}).response[
            "violations"
        ]:
            found.violations.append(
                f"{name}: {each['id']},"
                f" {[node['html'][:160] for node in each['nodes']]}"
            )
    return found


def ask(page, name: str, asked, last: int, found: Visit) -> None:
    """It stops and asks, and says nothing of the answer before it is decided."""
    page.keyboard.press("End")
    if not page.is_visible("#ask") or int(page.input_value("#scrub")) != asked.stop:
        found.verdicts.append(f"{name}: it does not stop at step {asked.stop} to ask")
        return
    if not page.evaluate(SAYS_NOTHING):
        found.verdicts.append(f"{name}: at the question the answer is in sight")
    see_all(page, f"{name}, asking", ["#said", "#ask", ".drag [role=slider]"], found)
    page.click("#options button:first-child")
    seen = page.evaluate(VERDICT, asked.decided)
    see_all(page, f"{name}, decided", ["#said", "#verdict"], found)
    width, height = WINDOWS[0]
    page.set_viewport_size({"width": width, "height": height})
    if page.evaluate(LIT_OUT_OF_SIGHT, last):
        found.out_of_sight.append(f"{name}, {width} px: what is lit at the end")
    if seen != [asked.decided]:
        found.verdicts.append(
            f"{name}: decided at step {asked.decided}, and the verdict is in sight at"
            f" {seen}"
        )


def see_all(page, where: str, names: list[str], found: Visit) -> None:
    """What somebody needs at this step is in the window, without scrolling."""
    for width, height in WINDOWS:
        page.set_viewport_size({"width": width, "height": height})
        hidden = page.evaluate(OUT_OF_SIGHT, names)
        found.out_of_sight += [f"{where}, {width} px: {each}" for each in hidden]


def problems(where: str, shown) -> list[str]:
    """Two texts in one place, or one that is not wholly in the drawing or in its cell;
    a pixel is no matter.
    """
    found = [f"{where}: {words!r} is wider than its box" for words in shown["squeezed"]]
    found += [f"{where}: {what} is outside of the window" for what in shown["outside"]]
    texts = sorted(shown["texts"], key=lambda text: text[2])
    for number, (words, left, top, right, bottom) in enumerate(texts):
        if (
            left < -1
            or right > shown["width"] + 1
            or top < -1
            or bottom > shown["height"] + 1
        ):
            found.append(f"{where}: {words!r} leaves the drawing")
        for other, other_left, other_top, other_right, other_bottom in texts[
            number + 1 :
        ]:
            across, down = (
                min(right, other_right) - max(left, other_left),
                min(bottom, other_bottom) - other_top,
            )
            if across > 1 and down > 1:
                found.append(
                    f"{where}: {words!r} and {other!r} overlap by {across:.0f} x"
                    f" {down:.0f} px"
                )
    return found


def faults_of(pics, browser, theme, folder):
    """Texts that overlap in a chapter of these pictures, and what axe finds there.
    pics: by their names.
    """
    axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = browser.new_page(color_scheme=theme, reduced_motion="reduce")
    faults = []
    for name, pic in pics.items():
        steps = [scene["step"] for scene in pic.scenes if scene["chapter"]]
        found = visit(page, name, pic, folder, axe_api.Axe(), steps)
        faults += [*found.overlaps, *found.violations]
    page.close()
    return faults
