"""`make site`: the course as one folder of static files, for any web host, also under a
sub-path.

    python -m minikafka.course.publishing.site DIR

A front page, the playground, JupyterLite with the lessons that a tab can run, the
gallery, the lessons as pages to read, the glossary, the cheat sheet. All links are
relative and nothing comes from another host. nbconvert (it comes with JupyterLab) makes
pages of notebooks.
"""

import ast
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
    shared_pictures,
    site_address,
    site_bugs,
    site_claims,
    site_errors,
    site_hook,
    site_lab,
    site_look,
    site_news,
    site_python,
    title_pictures,
)
from minikafka.course.publishing.site_look import (
    FRONT,
    MADE_BY,
    NAV,
    Head,
    around,
    contents_beside,
    filled,
    foot,
    foot_links,
    own,
    page,
    source,
    with_code,
    with_contents,
    within,
)
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.page import colours, script_hash
from minikafka.theatre.palette import ICON
from minikafka.theatre.svg import HATCH
from minikafka.theatre.text import counted, escape, script_json

GALLERY, LESSONS, PICTURES, PYTHON = gallery.PATH, "lessons", "pictures", "python"
# what lessons link to as ../notebooks/NAME.md is NAME.html beside the front page
READINGS = {
    "glossary": Head(
        "glossary.html",
        "Glossary",
        "Every term of the course in one plain sentence, from acks to zombie, with the"
        " lesson that introduces it.",
        "01",
    ),
    "from_notebook_to_spark_submit": Head(
        "from_notebook_to_spark_submit.html",
        "From a notebook to spark-submit",
        "A Spark query that reads Kafka leaves the notebook: its file, its packages, a"
        " checkpoint, a cluster, reports, and a clean stop.",
        "17",
    ),
    "the_larger_number": Head(
        "the_larger_number.html",
        "The larger number fences the old boss",
        "A process hangs, another takes over, and the first comes back and writes as if"
        " it still led. Four places in Kafka where a larger number refuses it.",
        "the_larger_number",
    ),
    "what_is_promised": Head(
        "what_is_promised.html",
        "What is promised when",
        "At least once, exactly once: with which settings, and after which fault? Each"
        " cell of these tables is a run, and says what happened to the record.",
        "03",
    ),
    "settings_on_monday": Head(
        "settings_on_monday.html",
        "Which settings on Monday",
        "The few Kafka settings to look at first, by what you do: those whose default"
        " is old, and those whose value only you can know.",
        "16",
    ),
    "client_defaults": Head(
        "client_defaults.html",
        "What each client does unless told otherwise",
        "Defaults belong to a client, not to Kafka: Java, librdkafka and kafka-python"
        " side by side, as a test asks the installed clients.",
        "04",
    ),
    "kills_of_three_sinks": Head(
        "kills_of_three_sinks.html",
        "Three sinks, killed at each of their calls",
        "A Spark query is killed at each call of its sink and starts again. Does its"
        " table still equal the topic?",
        "19",
    ),
}
OF_RECIPES = NOTEBOOKS / "recipes"
# which `python -m tests.recipes` writes, and what its page says without that
RECIPES = site_look.MATRIX.with_name("recipes.md")
TO_COPY = """\
# A producer, a consumer and an outbox to copy

Each file works on its own. Take a copy to work, then change what an order is, what paying
does, and the settings, which you see here.

| file | client | what it is |
|--|--|--|
"""
# how a recipe's text begins: what it is, in a word and in more, and for which client
A_RECIPE = re.compile(r"((?:A|An) (\w+)[^,]*), for (([\w-]+) [\d.]+)(.*)\.")
TESTING, DIFFERENCES = "a_kafka_for_tests.html", "known_differences.html"
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
WHERE_ALIKE = ' and <a href="matrix.html">where they don’t</a>'
CARD_LETTERS = 150
MANY_SECTIONS = 5
SKIPPED = re.compile(
    r"(Nobody has to do this one|You (don't have to do|can skip) this one)\. "
)
# the title of a lesson, its picture if it has one, and what it asks
BEGINS = re.compile(
    r'</h1>\s*(?:<p>(<img [^>]*/pictures/(\d\d)\.svg"/>)</p>\s*)?(<p>.*?</p>)',
    re.DOTALL,
)
# what a cell printed, and a line of a table that is wider than the page
PRINTED = re.compile("<pre>(?!<)(.*?)</pre>", re.DOTALL)
A_DIGEST = re.compile(", scenes [0-9a-f]{12}")  # of a picture, as text
A_WIDE_ROW = re.compile(r"(?m)^(?=.{97}).*\S {3,}\S")
# a map of faults, as text: its moments, and what a row is called before its runs
# what says in text, beside a map, that the picture is live and how long it plays
A_MAPS_PICTURE = re.compile(r"(?m)^(?:live|.* \d+ steps, [\d.]+ s)\n")
A_MAPS_HEAD = re.compile(r"\d ms, every \d+ ms")
A_MAPS_ROW = re.compile(r"(?m)^((?:\S.*?)? {2,})(?:([.a-z]{8,})|(\S.*))$")
ONE_LINE = re.compile(r"<pre>(?=[^\n]*\n?(?:</code>)?</pre>)")
SHORT_CODE = re.compile("(?<!<pre>)<code>([^<\n]{1,30})</code>")
# what stays on one line of a command: a flag with its value, a name with a hyphen
WHOLE = re.compile(r"(?<!\S)--?[a-zA-Z]\S*(?: (?!-[a-zA-Z-])\S+)?|\S*-\S*")
# where to begin, by what one wants: the lesson, the aim, and the way from there
# the ways into the course: name, and which lessons
AIMS = (
    (
        "I have half an hour",
        "Lesson 00, a quarter of an hour: a question, a cluster, and an order that arrives too early. Then"
        f' read <a href="{essay.PATH}">how Kafka loses an order</a>.',
    ),
    (
        "I have a day",
        "Lessons 00, 01, 02, 04, 05 and 06: the log, keys, offsets, groups, and what"
        " happens when a consumer joins or dies.",
    ),
    (
        "I use Spark",
        "Lessons 00, 01, 02 and 04. Then 17 to 20 on your own machine: a topic as a"
        " source, event time, sinks that fail, and state.",
    ),
    (
        "I run a cluster",
        "Lessons 05 to 07 and 09 to 12 show what happens on its own, 16 what you do, 22"
        " the bad nights, and 24 the locks.",
    ),
    (
        "I want to build one",
        "Lessons 01, 08 and 12 show the log, its files and the bytes. In 23 you write a"
        " Kafka that real clients talk to.",
    ),
)
# a theme of the change log: its heading without the link to itself, and its list
A_THEME = re.compile(
    r'(<h3 [^\n]*?)<a class="anchor-link".*?</h3>(.*?</ul>)', re.DOTALL
)
A_NUMBER = re.compile(r"<td>(\d\d)</td>")  # of a lesson, in a table
A_TERM = re.compile(r"<tr>\s*<td>(?:<code>)?(\w)")  # the glossary's rows begin so
NUMBER = re.compile(r"\b\d\d\b")
OF_LESSONS = re.compile(r"\b[Ll]essons? \d\d(?:(?:, | and | to )\d\d)*")  # in a text
A_LESSON = re.compile(r"\b(\d\d)\b(?: to (\d\d))?")
# what one can do here without a lesson: where it is, its name, and a sentence
DOORS = {
    essay.PATH: (
        "How Kafka loses an order",
        "Eight ways, with a picture and something to move for every one.",
    ),
    "playground.html": (
        "Break a cluster",
        "Kill, freeze, slow down, cut off; the picture and the numbers answer.",
    ),
    GAME: (
        "Lose an order",
        "A puzzle a day: the shop was told that its order is safe.",
    ),
    f"{GALLERY}/index.html": (
        "Watch the pictures",
        "Every lesson’s picture plays, and asks what the lesson asks.",
    ),
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
    stage = fault_game.first_picture().page(at_end=True, widths=LAYOUTS)
    save(folder / "game_stage.html", stage)
    say("the essay, with all its runs")
    save(folder / essay.PATH, essay_page(essay.write(folder)))
    say("the gallery, from the lessons' cells")
    gallery.write(folder / GALLERY, folder)
    say("the course in a tab: JupyterLite")
    notebooks = [*contents().values(), *extras().values()]
    live = site_lab.build(folder, notebooks)
    say("the lessons as pages")
    shutil.copytree(NOTEBOOKS / "pictures", folder / PICTURES, dirs_exist_ok=True)
    title_pictures.write_small(folder / PICTURES)
    (folder / "recipes").mkdir()
    for path in OF_RECIPES.glob("*.py"):
        shutil.copy(path, folder / "recipes")
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
    if site_look.MATRIX.exists():
        save(folder / "matrix.html", matrix_page())
    save(folder / "recipes.html", recipes_page())
    save(folder / TESTING, testing_page())
    save(folder / DIFFERENCES, differences_page())
    save(folder / site_news.PATH, news_page())
    save(folder / FRONT, front())
    shared_pictures.place_all(folder)
    site_news.place(folder)


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
            f'<li><a href="#play={each.name}" title="{escape(each.more)}">'
            f"{each.title}</a></li>"
        )
    watched = []
    for path, (title, more) in playground_plays.OF_LESSONS.items():
        watched.append(
            f'<li><a href="{GALLERY}/{path}" title="{escape(more)}">{title}</a></li>'
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
    head = Head(
        "playground.html",
        "A Kafka cluster to play with",
        "Kill, freeze, slow down or cut off a broker or a consumer, and watch what a"
        " small real Kafka does. It runs in your browser's tab.",
        "05",
    )
    return page(head, body, policy=policy)


def essay_page(first: Mapping[str, Any]) -> str:
    """first: by the name of a case, the run that the page itself holds."""
    body = filled(
        "essay.html",
        style=own("essay.css"),
        colours=essay.style(),
        patterns=HATCH,
        article=essay.body(first, from_markdown),
    )
    head = Head(essay.PATH, essay.TITLE, essay.DESCRIPTION, "10")
    return page(head, body, policy="; script-src 'self'; connect-src 'self'")


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
    head = Head(
        GAME,
        "Lose an acknowledged order",
        "A puzzle: the shop was told that its order is safe. Lose it all the same, with"
        " the fewest tries. A new one each day.",
        "09",
    )
    return page(head, body, policy=policy)


def cheat_sheet() -> str:
    """The page that is made for paper, as one of the site's, in the site's colours."""
    html = (NOTEBOOKS / "cheat_sheet.html").read_text(encoding="utf-8")
    style, after, body = html.partition("</style>")
    for colour, name in {"1b1f24": "ink", "555": "quiet", "ccc": "rule"}.items():
        style = style.replace(f"#{colour};", f"var(--{name});")
    style = style.replace("body {", "main {")
    style = style.replace("<style>", f"<style>\n{colours()}", 1)
    style += own("site_cheat_sheet.css")
    style = style.replace("<title>", f'<link rel="icon" href="{ICON}">\n<title>', 1)
    body = body.replace("<body>", "<body>\n<main>", 1)
    body = re.sub("(<pre.*?>)(.*?)(?=</pre>)", _lines, body, flags=re.DOTALL)
    body = re.sub("<pre", '<pre tabindex="0"', body)  # it scrolls, by keys too
    head = Head(
        "cheat_sheet.html",
        "Kafka on one page",
        "Commands, settings and what the errors mean, on one page to print: kafka-python's"
        " command line, Kafka's own tools, producers, consumers, brokers.",
        "11",
    )
    ends = f"</main>\n{foot(head)}\n</body>"
    return around(style + after + body.replace("</body>", ends, 1), head)


def _lines(found: re.Match[str]) -> str:
    """Commands, each in an element of its own, which sets off where a line goes on. It
    goes on at a space, not within a flag or between a flag and its value.
    """
    lines = []
    for line in found[2].strip().split("\n"):
        words = WHOLE.sub(r"<i>\g<0></i>", line)
        lines.append(f"<span>{words}</span>")
    return found[1] + "".join(lines)


def errors_page() -> str:
    """The meaning of clients' error messages."""
    body = filled(site_errors.TEMPLATE, **site_errors.parts())
    head = Head(site_errors.PATH, site_errors.TITLE, site_errors.DESCRIPTION, "22")
    return page(head, body, policy=may_run(site_errors.script()))


def bugs_page() -> str:
    """Bugs of real clients."""
    head = Head(site_bugs.PATH, site_bugs.TITLE, site_bugs.DESCRIPTION, "13")
    return page(head, filled(site_bugs.TEMPLATE, **site_bugs.parts()))


def write_claims(folder: Path) -> None:
    """The ledger, and the source of each test that is evidence."""
    head = Head(site_claims.PATH, site_claims.TITLE, site_claims.DESCRIPTION, "15")
    html = filtered(head, site_claims.TEMPLATE, site_claims.parts())
    save(folder / site_claims.PATH, html)
    (folder / site_claims.TESTS).mkdir(exist_ok=True)
    for path, its_page in site_claims.tested().items():
        head = Head(
            its_page,
            Path(path).name,
            "Tests that are evidence for what the course says about Kafka.",
            "15",
        )
        save(folder / its_page, page(head, site_claims.source(path)))


def matrix_page() -> str:
    """What minikafka and Apache Kafka do alike, as the last night has found it here.
    Each API is folded.
    """
    head = Head(
        "matrix.html",
        "What minikafka and Apache Kafka do alike",
        "Tests ask minikafka and Apache Kafka the same: what each answered, behaviour by"
        " behaviour, and where they differ on purpose.",
        "12",
    )
    text = site_look.MATRIX.read_text(encoding="utf-8")
    begins, *sections = re.split("(?=<h2)", from_markdown(text))
    folded = []
    for each in sections:
        name, end, rows = each.partition("</h2>")
        name = re.sub("<a .*</a>", "", name)  # no link within what is clicked
        count = rows.count("<tr>") - rows.count("<thead>")
        folded.append(
            f"<section><details><summary>{name}{end}<span>{count}</span></summary>{rows}"
            "</details></section>"
        )
    parts = {"begins": begins, "sections": "\n".join(folded)}
    return filtered(head, "site_matrix.html", parts)


def recipes_page() -> str:
    """Fault by recipe, what happened, as the last run has found it here; without one,
    the recipes.
    """
    if not RECIPES.exists():
        text = recipes()
        head = Head(
            "recipes.html",
            "Recipes to copy",
            "Producers, consumers and an outbox to take to work, for confluent-kafka and"
            " kafka-python.",
            "14",
        )
        return page_with_code(head, from_markdown(text))
    head = Head(
        "recipes.html",
        "Our recipes under our faults",
        "The course's recipes for producers and consumers, each under each fault: what"
        " was lost, and what came twice.",
        "14",
    )
    return page(head, from_markdown(RECIPES.read_text(encoding="utf-8")))


def recipes() -> str:
    """All recipes, in Markdown: what each file says of itself, unless the one before it
    has said so, and its settings.
    """
    rows, sections, said = [], [], set[str]()
    for path in sorted(OF_RECIPES.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        [settings] = [
            ast.get_source_segment(text, node)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "SETTINGS"
        ]
        paragraphs = (ast.get_docstring(tree) or "").split("\n\n")
        found = A_RECIPE.fullmatch(paragraphs[0])
        assert found is not None, paragraphs[0]
        what, word, version, client, more = found.groups()
        file = f"[`{path.name}`](recipes/{path.name})"
        rows.append(f"| {file} | {version} | {what}{more} |\n")
        news = "\n\n".join(each for each in paragraphs if each not in said)
        said.update(paragraphs)
        sections.append(
            f"## {word.capitalize()}, {client}\n\n{news}\n\n"
            f"{file} begins with its settings:\n\n```python\n{settings}\n```"
        )
    return "\n\n".join([TO_COPY + "".join(rows), *sections])


def testing_page() -> str:
    """How programs that use Kafka are tested with minikafka. What the page links to in
    the project is not on the site.
    """
    text = files("minikafka.testing").joinpath("README.md").read_text(encoding="utf-8")
    text = re.sub(r"\[([^]]+)\]\(\.\./[^)]*\)", r"\1", text)
    html = from_markdown(text.replace("](known_differences.md)", f"]({DIFFERENCES})"))
    head = Head(
        TESTING,
        "A Kafka for your tests",
        "A Kafka inside pytest: it starts in milliseconds, without Docker or a JVM, and"
        " fails when your test tells it to.",
        "23",
    )
    return page_with_code(head, html)


def page_with_code(head: Head, html: str) -> str:
    """A long page with much code: coloured, with a button that copies it, and with its
    sections beside it. A block of one line goes on below where it is too long, and a
    short command stays on its line. One empty line is enough between functions.
    """
    style = f"<style>\n{own('site_code.css')}</style>\n"
    script = "\n" + own("copy.js")
    html = ONE_LINE.sub('<pre class="line">', with_contents(html))
    html = SHORT_CODE.sub(r'<code class="whole">\1</code>', html)
    html = re.sub("\n{3,}(?=<span)", "\n\n", html)
    body = f"{style}{contents_beside(html)}{html}<script>{script}</script>"
    return page(head, body, policy=may_run(script))


def differences_page() -> str:
    """Every known difference from Apache Kafka, as the tests that compare them know
    it.
    """
    page_of_tests = files("minikafka.testing").joinpath("known_differences.md")
    text = page_of_tests.read_text(encoding="utf-8")
    head = Head(
        DIFFERENCES,
        "Known differences from Apache Kafka",
        "Where minikafka answers otherwise than Apache Kafka, and why: each difference"
        " that a test knows of.",
        "12",
    )
    html = from_markdown(text.replace("](README.md)", f"]({TESTING})"))
    return page(head, contents_beside(html) + with_contents(html))


def news_page() -> str:
    """The project's change log. A page that it names as the site does is a link."""
    head = Head(site_news.PATH, site_news.TITLE, site_news.DESCRIPTION, "00")
    html = from_markdown(site_news.text())
    names = {f"the {words} page": path for path, words in NAV.items()}
    names |= {words.lower(): path for path, words in foot_links().items()}
    names |= {each.title.lower(): each.path for each in READINGS.values()}
    longest_first = sorted(names, key=len, reverse=True)
    named = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)

    def link(found: re.Match[str]) -> str:
        return f'<a href="{names[found[0].lower()]}">{found[0]}</a>'

    html = re.sub("<li>.*", lambda line: named.sub(link, line[0]), html)
    html = SHORT_CODE.sub(r'<code class="whole">\1</code>', html)
    script = "\n" + own("site_news.js")
    body = filled(
        "site_news.html",
        contents=contents_beside(html, "h3"),
        changes=A_THEME.sub(_folded, with_contents(html, "h3")),
        script=script,
    )
    return page(head, body, policy=may_run(script))


def _folded(theme: re.Match[str]) -> str:
    """What changed in a theme, below its heading, in which nothing else is clicked."""
    return f"<details open><summary>{theme[1]}</h3></summary>{theme[2]}</details>"


def filtered(head: Head, template: str, parts: Mapping[str, str]) -> str:
    """A page with boxes that leave what is asked for; it is complete without them."""
    script = "\n" + own("filters.js")
    body = filled(template, **parts, script=script, filters=own("filters.css"))
    return page(head, body, policy=may_run(script))


def may_run(script: str) -> str:
    """The part of a content security policy that allows this one inline script."""
    digest = hashlib.sha256(script.encode()).digest()
    encoded = base64.b64encode(digest).decode()
    return f"; script-src 'sha256-{encoded}'"


def front() -> str:
    """The question of lesson 00, the ways into the course, and each lesson with its
    picture.
    """
    script = site_hook.script()
    body = filled(
        "site_front.html",
        style=own("site_front.css"),
        fix=f"{RUNS}{contents()['00'].path.name}",
        begin=page_of("00"),
        aims="\n".join(aim(*each) for each in AIMS),
        doors=tiles(DOORS),
        lessons=lessons(),
        alike=WHERE_ALIKE if site_look.MATRIX.exists() else "",
        python=pythons(),
        source=source("The source is public.").strip(),
        **site_hook.parts(),
    )
    head = Head(
        FRONT,
        "minikafka: learn Kafka by watching one work",
        "A course about Apache Kafka that runs in your browser: predict what happens,"
        " watch a small real Kafka do it, then change it.",
        "00",
    )
    return page(head, body, policy=may_run(script))


def page_of(number: str) -> str:
    """The way from the front page to a lesson."""
    return f"{LESSONS}/{contents()[number].path.stem}.html"


def aim(words: str, more: str) -> str:
    """A way into the course: its lessons are links, the first one also by the name."""
    numbers = list(contents())
    way = []
    for first, last in A_LESSON.findall(more):
        begin, end = numbers.index(first), numbers.index(last or first)
        way += numbers[begin : end + 1]
    hours = round(sum(contents()[number].stated_minutes for number in way) / 60)
    linked = NUMBER.sub(_linked, more)
    takes = f" About {counted(hours, 'hour')}." if hours else ""
    takes = takes.replace(f"{hours} ", f"{hours}\N{NO-BREAK SPACE}")
    return (
        f'<li><a href="{page_of(way[0])}">{words}</a><span>{linked}{takes}</span></li>'
    )


def _linked(number: re.Match[str]) -> str:
    return _number(number[0])


def _number(number: str) -> str:
    return f'<a href="{page_of(number)}">{number}</a>'


def tiles(found: Mapping[str, tuple[str, str]]) -> str:
    """Places to go on to. found: path -> its name, and a sentence."""
    return "\n".join(
        f'<li><a href="{path}">{words}</a><span>{more}</span></li>'
        for path, (words, more) in found.items()
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
    """Its picture, its name, the sentence it begins with, and how long it takes."""
    number, _, name = gallery.title(lesson).partition(" · ")
    image = f"{PICTURES}/{title_pictures.card(number)}"
    return (
        f'<li><img src="{image}" alt="" loading="lazy">'
        f'<h3><a href="{LESSONS}/{lesson.path.stem}.html"><span>{number}</span>'
        f"{escape(name)}</a></h3><p>{escape(sentence(lesson))}"
        f" <i>{lesson.stated_minutes} min</i></p></li>"
    )


def sentence(lesson: Contents) -> str:
    """The beginning of a lesson, without Markdown's marks; from a long paragraph, as
    many sentences as fit on a card. Before it come the title and, in a lesson, a
    picture; in an extra it begins by saying that one may skip it.
    """
    paragraphs = re.split(r"\n\s*\n", lesson.sections[0].text)
    begins = next(each for each in paragraphs[1:] if not each.startswith("!["))
    words = re.sub("[*`]", "", begins).replace("\n", " ")
    words = SKIPPED.sub("", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", words))
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
    if not live:
        link = own_machine(lesson)
    else:
        link = (
            f'<p><a class="go first" href="../{RUNS}{lesson.path.name}">run this lesson'
            " in a tab</a></p>"
        )
    has_picture = (NOTEBOOKS / "pictures" / f"{lesson.number}.svg").exists()
    head = Head(
        f"{LESSONS}/{lesson.path.stem}.html",
        f"{gallery.title(lesson)} · minikafka",
        sentence(lesson),
        lesson.number if has_picture else "00",
    )
    style = f"<style>\n{own('site_code.css')}{own('site_lesson.css')}</style>\n"
    body = read(lesson, site)
    sections = contents_beside(body)
    body = opening(body, f"{link}{within(body, 'h2')}")
    return page(head, style + sections + body + beside(lesson))


def opening(body: str, ways: str) -> str:
    """The same lesson: below its title what it asks, then the ways into it, and then
    its picture, of which a phone shows a drawing of its own.
    """

    def begins(found: re.Match[str]) -> str:
        picture, number, asks = found.groups()
        if not picture:
            return f"</h1>{asks}{ways}"
        small = f"../{PICTURES}/{title_pictures.small(number)}"
        return (
            f'</h1>{asks}{ways}<p class="opening"><picture>'
            f'<source media="(max-width: 820px)" srcset="{small}">{picture}</picture></p>'
        )

    return BEGINS.sub(begins, body, count=1)


def own_machine(lesson: Contents) -> str:
    """How to run a lesson that no tab can run."""
    more = ""
    if "spark" in lesson.path.stem:
        more = " Spark needs Java 17, and another 600 MB."
    return (
        f'<p class="own">This lesson runs on your own machine: <a href="../{FRONT}#own">'
        f"set up the course</a> (a few minutes, once), then <code>make lab</code>.{more}"
        "</p>"
    )


def beside(lesson: Contents) -> str:
    """The way to the lessons before and after this one, and to its extras."""
    numbers = list(contents())
    here = numbers.index(lesson.number)
    found = []
    for words, place in (("before", here - 1), ("next", here + 1)):
        if 0 <= place < len(numbers):
            there = contents()[numbers[place]]
            found.append(
                f'<a class="go" href="{there.path.stem}.html">{words}:'
                f" {escape(gallery.title(there))}</a>"
            )
    return f'<p class="turns">{"".join(found)}</p>'


def read(lesson: Contents, site: Path) -> str:
    """A lesson to read, with the outputs that it is stored with; where it has a
    picture, that of the gallery plays. A question is words; the code that asks it is
    folded.
    """
    import nbformat
    from nbconvert.exporters import HTMLExporter

    notebook: Any = nbformat.read(lesson.path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.asked = [
            {
                "question": with_code(each.question),
                "options": [with_code(option) for option in each.options],
            }
            for each in lesson.predictions
            if each.cell == cell.id
        ]
        if cell.metadata.asked:
            cell.metadata.asks, cell.source = parted(cell.source)
        if cell.cell_type == "markdown":
            cell.source = linked(cell.source)
        elif (site / GALLERY / f"{lesson.number}-{cell.id}.html").exists():
            source = f"../{GALLERY}/{lesson.number}-{cell.id}.html"
            html = (
                f'<iframe src="{source}" title="a picture that plays"'
                f' loading="lazy"></iframe><p class="alone"><a href="{source}">this'
                " picture alone</a></p>"
            )
            cell.outputs = [nbformat.v4.new_output("display_data", {"text/html": html})]
        else:
            cell.outputs = [each for each in cell.outputs if not _is_undone(each)]
    exporter = HTMLExporter(
        raw_template=own("site_lesson.html"),
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    return PRINTED.sub(_printed, str(exporter.from_notebook_node(notebook)[0]))


def parted(source: str) -> tuple[str, str]:
    """The code that asks and shows the question, and the other lines of its cell."""
    lines = source.splitlines()
    asks: list[str] = []
    body = ast.parse(source).body
    questions = [
        node
        for node in body
        if isinstance(node, ast.Assign) and "predict(" in ast.unparse(node.value)
    ]
    names = {ast.unparse(node.targets[0]) for node in questions}
    for node in reversed(body):
        if node in questions or ast.unparse(node) in names:
            asks[:0] = lines[node.lineno - 1 : node.end_lineno]
            del lines[node.lineno - 1 : node.end_lineno]
    others = re.sub("\n{3,}", "\n\n", "\n".join(lines).strip())
    return "\n".join(asks), others


def _printed(found: re.Match[str]) -> str:
    """Long lines go on below, but for those of a table, which stand in columns. What
    tells two runs apart is for tests.
    """
    text, kind = A_DIGEST.sub("", found[1]), ""
    if A_MAPS_HEAD.search(text):
        text = A_MAPS_PICTURE.sub("", text)
        text, kind = A_MAPS_ROW.sub(_cells, text), ' class="map"'
    elif len(A_WIDE_ROW.findall(text)) > 2:
        kind = ' class="table"'
    return f"<pre{kind}>{text}</pre>"


def _cells(row: re.Match[str]) -> str:
    """A row of a map of faults, with a cell for each run; or a line above or below the
    cells. A phone shows the row's name above them.
    """
    name, runs, other = row.groups()
    if other:
        return f'<span class="room">{name}</span>{other}'
    cells = "".join(f"<i{_ending(sign)}</i>" for sign in runs)
    return f'<span class="name">{name}</span><span class="runs">{cells}</span>'


def _ending(sign: str) -> str:
    return ">·" if sign == "." else f' class="{sign}">{sign}'


# What a lesson answers as long as nobody has done anything, which a reader can't, and
# the question, which the page has asked.
UNDONE = (
    "You haven't predicted yet",
    "Not attempted yet",
    "Not answered yet",
    "Predict. ",
)


def _is_undone(output: Any) -> bool:
    data = output.get("data", {})
    words = output.get("text") or data.get("text/plain", "")
    return "".join(words).startswith(UNDONE)


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
    if name == "glossary":
        return glossary(html)
    html = OF_LESSONS.sub(lambda found: NUMBER.sub(_linked, found[0]), html)
    if name == "from_notebook_to_spark_submit":
        return page_with_code(READINGS[name], html)
    if name == "kills_of_three_sinks":
        return page(READINGS[name], first_two_paired(html))
    is_long = html.count("<h2") >= MANY_SECTIONS
    return page(READINGS[name], with_contents(html) if is_long else html)


def first_two_paired(html: str) -> str:
    """The same page with its first two sections beside each other where they fit."""
    begins, *sections = re.split("(?=<h2)", html)
    pair = "".join(f"<section>{each}</section>" for each in sections[:2])
    return f'{begins}<div class="pair">{pair}</div>{"".join(sections[2:])}'


def glossary(html: str) -> str:
    """Its tables, with letters that lead to the terms, and a box that leaves those that
    are asked for.
    """
    table = html.index("<table")
    tables = A_NUMBER.sub(lambda found: f"<td>{_number(found[1])}</td>", html[table:])
    terms, *others = re.split("(?=<h2)", tables)
    letters: list[str] = []

    def led_to(row: re.Match[str]) -> str:
        """The row, with a name if it is the first with its letter."""
        letter = row[1].lower()
        if letter in letters:
            return row[0]
        letters.append(letter)
        return row[0].replace("<tr>", f'<tr id="{letter}">')

    terms = A_TERM.sub(led_to, terms)
    sections = [f"<section>\n{each}</section>" for each in (terms, *others)]
    parts = {
        "begins": html[:table],
        "letters": "".join(f'<a href="#{each}">{each.upper()}</a>' for each in letters),
        "sections": "\n".join(sections),
    }
    return filtered(READINGS["glossary"], "site_glossary.html", parts)


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
