"""`make site`: the course as one folder of static files, for any web host, also under a
sub-path.

    python -m minikafka.course.publishing.site DIR

A front page, the playground, JupyterLite with the lessons that a tab can run, the
gallery, the lessons as pages to read, the glossary, the cheat sheet. All links are
relative and nothing comes from another host. nbconvert (it comes with JupyterLab) makes
pages of notebooks.
"""

import base64
import hashlib
import re
import shutil
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from minikafka.course.contents import Contents, contents, extras
from minikafka.course.demo import Problem
from minikafka.course.experiments.shop import MORE_PROTOCOLS
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import (
    essay,
    fault_game,
    gallery,
    game_levels,
    playground,
    playground_plays,
    site_address,
    site_bugs,
    site_claims,
    site_errors,
    site_hook,
    site_lab,
    site_python,
    site_tables,
)
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.page import colours, script_hash
from minikafka.theatre.palette import ICON
from minikafka.theatre.svg import HATCH
from minikafka.theatre.text import escape, script_json

MADE_BY = '<meta name="generator" content="minikafka site">'
GALLERY, LESSONS, PICTURES, PYTHON = "gallery", "lessons", "pictures", "python"
# what lessons link to as ../notebooks/NAME.md is NAME.html beside the front page
READINGS = {
    "glossary": "Glossary",
    "from_notebook_to_spark_submit": "From a notebook to spark-submit",
    "the_larger_number": "The larger number fences the old boss",
    "what_is_promised": "What is promised when",
    "settings_on_monday": "Which settings on Monday",
    "client_defaults": "What each client does unless told otherwise",
    "kills_of_three_sinks": "Three sinks, killed at each of their calls",
}
MATRIX = NOTEBOOKS.parent / "build" / "matrix.md"  # which `make nightly` writes
RECIPES = MATRIX.with_name("recipes.md")  # so does `python -m tests.recipes`
NO_RECIPES = """\
# Our recipes under our faults

`python -m tests.recipes` runs them and writes this page. It has not run where this site
was made.
"""
NO_NIGHT = """\
# What minikafka and Apache Kafka do alike

The tests that ask both write this page at night (`make nightly`). None have run where
this site was made.
"""
GAME = "lose_an_order.html"
SCRIPTS = ("playground.js", "worker.js", "game.js", "essay.js")
LABELS = {
    "per_second": "orders a second",
    "members": "members at first",
    "seconds": "virtual seconds",
}
RUNS = "lab/notebooks/index.html?path="
# the lesson that a part of the course begins with
PARTS = {
    "00": "Logs, and those who write and read",
    "09": "Brokers that fail",
    "12": "Bytes and promises",
    "16": "At work, and with Spark",
    "21": "Around Kafka, on call, your own, with locks",
}
CARD_LETTERS = 150
# what one can do here: where it is, its name, and a sentence
DOORS = {
    f"{RUNS}00_start_here.ipynb": (
        "open lesson 00 now",
        "A quarter of an hour, in JupyterLite: Python runs in this tab.",
    ),
    "playground.html": (
        "break a cluster",
        "Kill, freeze, slow down, cut off; the picture and the numbers answer.",
    ),
    GAME: (
        "lose an order",
        "A game: the shop was told that it is done. Lose it with the fewest faults.",
    ),
    f"{GALLERY}/index.html": (
        "watch the pictures",
        "Every lesson’s picture plays, and asks what the lesson asks.",
    ),
}
NAV = {
    "index.html": "minikafka",
    essay.PATH: "how Kafka loses an order",
    "playground.html": "playground",
    GAME: "the game",
    f"{GALLERY}/index.html": "pictures that play",
    "glossary.html": "glossary",
    "cheat_sheet.html": "on one page",
    site_errors.PATH: "errors",
    site_claims.PATH: "claims",
    "matrix.html": "beside Apache Kafka",
}


def write(folder: Path) -> None:
    """The whole site. Problem: the folder holds something else."""
    prepare(folder)
    say("Python for the browser")
    site_python.place(folder / PYTHON)
    say("the playground, with its first plays")
    place_playground(folder)
    say("the game, with its first picture")
    save(folder / GAME, game_page())
    stage = fault_game.first_picture().page(widths=LAYOUTS)
    save(folder / "game_stage.html", stage)
    say("the essay, with all its runs")
    save(folder / essay.PATH, essay_page(essay.write(folder)))
    say("the gallery, from the lessons' cells")
    gallery.write(folder / GALLERY, home="../index.html")
    say("the course in a tab: JupyterLite")
    notebooks = [*contents().values(), *extras().values()]
    live = site_lab.build(folder, notebooks)
    say("the lessons as pages")
    shutil.copytree(NOTEBOOKS / "pictures", folder / PICTURES, dirs_exist_ok=True)
    (folder / "recipes").mkdir()
    for recipe in (NOTEBOOKS / "recipes").glob("*.py"):
        shutil.copy(recipe, folder / "recipes")
    (folder / LESSONS).mkdir(exist_ok=True)
    for lesson in notebooks:
        save(
            folder / LESSONS / f"{lesson.path.stem}.html",
            lesson_page(lesson, folder, lesson.path.name in live),
        )
    for name in READINGS:
        save(folder / f"{name}.html", reading(name))
    save(folder / "cheat_sheet.html", cheat_sheet())
    save(folder / site_errors.PATH, errors_page())
    save(folder / site_bugs.PATH, bugs_page())
    write_claims(folder)
    save(folder / "matrix.html", matrix_page())
    save(folder / "recipes.html", recipes_page())
    save(folder / "a_kafka_for_tests.html", testing_page())
    save(folder / "index.html", front())


def prepare(folder: Path) -> None:
    """Make the folder again; refuse one that holds something else, of which a file
    might be lost.
    """
    if folder.exists():
        index = folder / "index.html"
        text = index.read_text("utf-8", errors="replace") if index.exists() else ""
        if any(folder.iterdir()) and MADE_BY not in text:
            raise Problem(
                f"{folder} holds other files: name a new folder, or an empty one"
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    save(folder / "index.html", MADE_BY)  # a folder in progress can be made again


def say(what: str) -> None:
    print(f"--- {what}", flush=True)


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def own(name: str) -> str:
    """The text of one of the course's files for pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(template: str, **parts: str) -> str:
    """One of the course's HTML files, with its parts. One pass: what a part holds is
    text, and never replaced again.
    """
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], own(template))


def page(title: str, body: str, up: str = "", policy: str = "") -> str:
    """One page with the site's look. up: the way from it to the front page's folder.
    policy: what else it may load.
    """
    nav = " ".join(f'<a href="{up}{path}">{words}</a>' for path, words in NAV.items())
    parts = {
        "title": escape(title),
        "icon": ICON,
        "colours": colours(),
        "made_by": MADE_BY,
        "nav": nav,
        "body": body,
    }
    html = filled("site.html", **parts, policy=policy)
    # they scroll, by keys too
    return re.sub("<(pre|table)(?=[ >])(?![^>]*tabindex)", r'<\1 tabindex="0"', html)


def place_playground(folder: Path) -> None:
    """Its page, the plays that are there at once, and its scripts."""
    beside = playground_plays.write(folder)
    save(folder / "playground.html", playground_page(beside))
    for name in SCRIPTS:
        save(folder / name, own(name))


def playground_page(beside: Mapping[str, Any]) -> str:
    """Its frame plays with the theatre's script and with levers, which this page's
    policy must let run, too. beside: what it shows beside each play that is ready.
    """
    first, limits = playground.Settings(), playground.LIMITS
    protocols = "".join(f"<option>{name}</option>" for name in MORE_PROTOCOLS)
    pictures = "".join(f"<option>{name}</option>" for name in playground.PICTURES)
    numbers = []
    for name, (least, most) in limits.items():
        label, value = LABELS.get(name, name), getattr(first, name)
        numbers.append(
            f'<label>{label} <input type="number" id="{name}" required '
            f'min="{least}" max="{most}" value="{value}"></label>'
        )
    plays = []
    for each in playground_plays.ALL:
        plays.append(
            f'<li><a href="#play={each.name}"><b>{each.title}</b>'
            f"<span>{each.more}</span></a></li>"
        )
    watched = []
    for path, (title, more) in playground_plays.OF_LESSONS.items():
        watched.append(
            f'<li><a href="{GALLERY}/{path}"><b>{title}</b><span>{more}</span></a></li>'
        )
    policy = (
        f"; script-src 'self' '{script_hash(['carry'])}'; worker-src 'self';"
        " connect-src 'self'"
    )
    body = filled(
        "site_playground.html",
        style=own("site_playground.css"),
        pictures=pictures,
        protocols=protocols,
        numbers="\n".join(numbers),
        plays="\n".join(plays),
        watched="\n".join(watched),
        first=f"{playground_plays.FOLDER}/{playground_plays.ALL[0].name}.html",
        beside=script_json(beside),
    )
    return page("A Kafka cluster to play with", body, policy=policy)


def essay_page(first: Mapping[str, Any]) -> str:
    """first: the run of each case that the page holds."""
    body = filled(
        "essay.html",
        style=own("essay.css"),
        colours=essay.style(),
        patterns=HATCH,
        article=essay.body(first, from_markdown),
    )
    return page(essay.TITLE, body, policy="; script-src 'self'; connect-src 'self'")


def game_page() -> str:
    """Its frame is a page of the site, with a policy of its own."""
    options = []
    for lasts_ms in fault_game.LASTS_MS:
        is_first = " selected" if lasts_ms == fault_game.Settings().lasts_ms else ""
        words = f"{lasts_ms} ms" if lasts_ms < 1000 else f"{lasts_ms // 1000} s"
        options.append(f'<option value="{lasts_ms}"{is_first}>{words}</option>')
    policy = "; script-src 'self'; worker-src 'self'; connect-src 'self'"
    style = own("site_game.css")
    puzzles = {
        "levels": [each.shown() for each in game_levels.LEVELS],
        "days": [each.shown() for each in game_levels.days()],
    }
    body = filled(
        "site_game.html",
        style=style,
        lasts="".join(options),
        puzzles=script_json(puzzles),
    )
    return page("Lose an acknowledged order", body, policy=policy)


def cheat_sheet() -> str:
    """The page that is made for paper, with a way back on the screen."""
    html = (NOTEBOOKS / "cheat_sheet.html").read_text(encoding="utf-8")
    icon = f'<link rel="icon" href="{ICON}">\n<title>'
    back = (
        "<body>\n<style>nav { margin-bottom: 4mm; } nav a { color: inherit; }"
        " @media print { nav { display: none; } }</style>\n"
        '<nav aria-label="site"><a href="index.html">minikafka</a></nav>'
    )
    return html.replace("<title>", icon, 1).replace("<body>", back, 1)


def errors_page() -> str:
    """The meaning of clients' error messages."""
    body = filled(site_errors.TEMPLATE, **site_errors.parts())
    return page(site_errors.TITLE, body, policy=may_run(site_errors.script()))


def bugs_page() -> str:
    """Bugs of real clients."""
    return page(site_bugs.TITLE, filled(site_bugs.TEMPLATE, **site_bugs.parts()))


def write_claims(folder: Path) -> None:
    """The ledger, and the source of each test that is evidence."""
    html = filtered(site_claims.TITLE, site_claims.TEMPLATE, site_claims.parts())
    save(folder / site_claims.PATH, html)
    (folder / site_claims.TESTS).mkdir(exist_ok=True)
    for path, its_page in site_claims.tested().items():
        source = site_claims.source(path)
        save(folder / its_page, page(Path(path).name, source, up="../"))


def matrix_page() -> str:
    """What minikafka and Apache Kafka do alike, as the last night has found it here."""
    text = MATRIX.read_text(encoding="utf-8") if MATRIX.exists() else NO_NIGHT
    begins, *sections = re.split("(?=<h2)", from_markdown(text))
    listed = "\n".join(f"<section>\n{each}</section>" for each in sections)
    title = "What minikafka and Apache Kafka do alike"
    return filtered(title, "site_matrix.html", {"begins": begins, "sections": listed})


def recipes_page() -> str:
    """Fault by recipe, what happened, as the last run has found it here."""
    text = RECIPES.read_text(encoding="utf-8") if RECIPES.exists() else NO_RECIPES
    return page("Our recipes under our faults", from_markdown(text))


def testing_page() -> str:
    """How programs that use Kafka are tested with minikafka. What the page links to in
    the project is not on the site.
    """
    text = files("minikafka.testing").joinpath("README.md").read_text(encoding="utf-8")
    html = from_markdown(re.sub(r"\[([^]]+)\]\(\.\./[^)]*\)", r"\1", text))
    return page("A Kafka for your tests", site_tables.fitted(html))


def filtered(title: str, template: str, parts: Mapping[str, str]) -> str:
    """A page with boxes that leave what is asked for; it is complete without them."""
    script = "\n" + own("filters.js")
    body = filled(template, **parts, script=script, filters=own("filters.css"))
    return page(title, body, policy=may_run(script))


def may_run(script: str) -> str:
    """The part of a content security policy that allows this one inline script."""
    digest = hashlib.sha256(script.encode()).digest()
    encoded = base64.b64encode(digest).decode()
    return f"; script-src 'sha256-{encoded}'"


def front() -> str:
    """The question of lesson 00, what there is, and each lesson with its picture."""
    doors = []
    for path, (words, more) in DOORS.items():
        doors.append(f'<li><a href="{path}">{words}</a><span>{more}</span></li>')
    script = site_hook.script()
    body = filled(
        "site_front.html",
        style=own("site_front.css"),
        fix=next(iter(DOORS)),
        doors="\n".join(doors),
        lessons=lessons(),
        python=pythons(),
        **site_hook.parts(),
    )
    return page(
        "minikafka: learn Kafka by watching one work", body, policy=may_run(script)
    )


def lessons() -> str:
    """Each lesson as a card, in the parts of the course."""
    found: list[str] = []
    for number, lesson in contents().items():
        if number in PARTS:
            found.append(f'<section>\n<h2>{PARTS[number]}</h2>\n<ul class="cards">')
        found.append(card(lesson))
        after = f"{int(number) + 1:02}"
        if after in PARTS or after not in contents():
            found.append("</ul>\n</section>")
    return "\n".join(found)


def card(lesson: Contents) -> str:
    """Its picture, its name and the sentence it begins with."""
    number, _, name = gallery.title(lesson).partition(" · ")
    return (
        f'<li><img src="{PICTURES}/{number}.svg" alt="" loading="lazy">'
        f'<h3><a href="{LESSONS}/{lesson.path.stem}.html"><span>{number}</span>'
        f"{escape(name)}</a></h3><p>{escape(sentence(lesson))}</p></li>"
    )


def sentence(lesson: Contents) -> str:
    """The beginning of a lesson, without Markdown's marks; from a long paragraph, as
    many sentences as fit on a card.
    """
    paragraphs = re.split(r"\n\s*\n", lesson.sections[0].text)
    words = re.sub("[*`]", "", paragraphs[2]).replace("\n", " ")
    whole, *more = re.split(r"(?<=[.?!]) ", words)
    for each in more:
        if len(whole) + len(each) > CARD_LETTERS:
            break
        whole += f" {each}"
    return whole


def pythons() -> str:
    """ "3.11 to 3.13", as pyproject.toml has it."""
    text = (NOTEBOOKS.parent / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', text)
    assert found is not None
    oldest, after = found.groups()
    return f"3.{oldest} to 3.{int(after) - 1}"


def lesson_page(lesson: Contents, site: Path, live: bool) -> str:
    """live: it runs in a tab, too."""
    link = ""
    if live:
        link = (
            f'<p><a class="go first" href="../{RUNS}{lesson.path.name}">run this lesson'
            " in a tab</a></p>"
        )
    return page(gallery.title(lesson), link + read(lesson, site), up="../")


def read(lesson: Contents, site: Path) -> str:
    """A lesson to read, with the outputs that it is stored with; where it has a
    picture, that of the gallery plays.
    """
    import nbformat
    from nbconvert.exporters import HTMLExporter

    notebook: Any = nbformat.read(lesson.path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = linked(cell.source)
        elif (site / GALLERY / f"{lesson.number}-{cell.id}.html").exists():
            source = f"../{GALLERY}/{lesson.number}-{cell.id}.html#{gallery.NAV_ID}"
            html = (
                f'<iframe src="{source}" title="a picture that plays"'
                ' loading="lazy"></iframe>'
            )
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html})]
    exporter = HTMLExporter(
        template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True
    )
    return str(exporter.from_notebook_node(notebook)[0])


def linked(markdown: str) -> str:
    """The Markdown with links to files of the project replaced by links to pages of the
    site.
    """
    links = site_address.links(site_address.address())
    start_here = links["notebooks/00_start_here.ipynb"]
    front = f"[{site_address.NAME}](../{site_address.PAGE})"
    markdown = markdown.replace(start_here, front)
    markdown = re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.html)", markdown)
    markdown = re.sub(r"\]\(\.\./notebooks/(\w+)\.md", r"](../\1.html", markdown)
    return markdown.replace("](../notebooks/", "](../")


def reading(name: str) -> str:
    """A Markdown page from beside the notebooks."""
    text = (NOTEBOOKS / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"\]\((\d\w+)\.ipynb\)", rf"]({LESSONS}/\1.html)", text)
    html = from_markdown(text.replace("](../notebooks/", "]("))
    return page(READINGS[name], site_tables.fitted(html))


def from_markdown(text: str) -> str:
    from nbconvert.filters.markdown_mistune import markdown2html_mistune

    return str(markdown2html_mistune(text))


def main(arguments: list[str]) -> int:
    """Write the site to a folder."""
    try:
        write(Path(arguments[0]))
    except Problem as problem:
        print(f"minikafka site: {problem}", file=sys.stderr)
        return 1
    print(f"the site is in {arguments[0]}: python3 -m http.server -d {arguments[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
