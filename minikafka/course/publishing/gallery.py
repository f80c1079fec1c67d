"""`minikafka gallery DIR`: every lesson's pictures as a folder of static files, for any
web host.

The lessons' cells are run for it, but Spark is not (pictures_of_lessons.py). Each picture is a page of
its own that plays by itself and asks what the lesson asks; `index.html` lists them all.
Its thumbnails (thumbnails.py) show the moment of the question, so that nothing is told
before.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from minikafka.course.contents import Contents, contents
from minikafka.course.demo import Problem
from minikafka.course.publishing import shared_pictures, site_look
from minikafka.course.publishing.asking_pictures import ASKING
from minikafka.course.publishing.pictures_of_lessons import (
    Shown,
    has_pictures,
    shown,
)
from minikafka.course.publishing.thumbnails import thumbnail
from minikafka.theatre.drawing import LAYOUTS, NARROW
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import counted, escape

INDEX = "index.html"
MADE_BY = '<meta name="generator" content="minikafka gallery">'
NAV_ID = "gallery"
NAV_STYLE = (
    "<style>.framed nav,.framed #gallery{display:none}#gallery{display:flex;"
    "gap:4px 18px;padding:0 16px 8px;margin:0 auto;font-size:14px}"
    "#gallery a{color:var(--ink);padding:6px 0;white-space:nowrap}"
    "#gallery span{flex:1;padding:6px 0;color:var(--quiet);"
    "overflow:hidden;white-space:nowrap;text-overflow:ellipsis}"
    "#gallery a:last-child{min-width:0;overflow:hidden;text-overflow:ellipsis}"
    # a picture fills its window, and the site's header is as wide
    ".way,#gallery,.alone main{max-width:max(1160px,min(1440px,100% - 120px))}"
    ".alone #title{font:700 32px/38px Charter,'Iowan Old Style',"
    "'Bitstream Charter','Sitka Text',Cambria,Georgia,'DejaVu Serif',serif}"
    ".alone header{margin-top:12px}.alone .corner b{line-height:38px}"
    "@media (max-width:560px){#gallery{padding-bottom:0;gap:4px 14px}"
    "#gallery :is(a,span){padding:12px 0}#gallery span{min-width:88px}"
    ".alone #title{font-size:20px;line-height:25px}.alone #sheet{padding-inline:16px}"
    ".alone header{margin-top:10px}.alone .corner b{line-height:25px}"
    # in a lesson the words stand below the controls, and cover nothing
    ".framed #sheet{position:static;max-height:none!important;margin:5px 0 8px;"
    "border-width:1px!important;border-radius:6px;box-shadow:none}}"
    # nor does a question take room there, but for one that is answered in the picture
    ".framed:not(:has(#drag)) #ask{position:fixed;z-index:1;left:0;right:0;"
    "bottom:var(--up,0);max-height:calc(100vh - 60px);overflow-y:auto;"
    "padding:8px 16px;border-top:1.5px solid var(--ink);background:var(--wash);"
    "box-shadow:0 -4px 16px #0003}"
    ".framed #question{font-size:16px;line-height:22px}"
    ".framed:not(:has(#drag)) #sheet:has(#ask:not([hidden])){"
    "border:1px solid var(--saidline);background:var(--said)}"
    ".framed main:not(:has(#help[aria-pressed=true])) #keys{display:none}</style>"
)
PATH = "gallery"  # in a site
TITLE = "Kafka in pictures that play"
LEAD = (
    "Each picture is one run of a small real Kafka, event by event. Play it, step back,"
    " look at what caused what. Where it asks, predict before you go on. They belong to"
    " the lessons of minikafka, in which you change the runs yourself."
)
DESCRIPTION = (
    "What happens in Kafka when a consumer freezes, a leader dies, a producer retries:"
    " runs of a small real Kafka, event by event, to play and to step through."
)
HAS_LEVERS = "In the lesson you change it while it plays."
# what pictures are about that ask nothing: lesson and cell
QUESTIONS = {
    "02-use": "A partitioner of your own in a real producer: who shares a partition with"
    " whom?",
    "03-lost-change": "The same answer is lost, and the producer is idempotent: what does"
    " the broker do with the batch that comes again?",
    "04-line-change": "Its two lines swapped: at which call does a kill hurt now, and"
    " how?",
    "04-pay-map": "At which moments may your own consumer be killed, so that each payment"
    " is made once?",
    "05-use": "Three members, five partitions and an assignor of your own: who reads"
    " what?",
    "06-phases-use": "D joins a busy group: when does each partition change hands, and"
    " who waits meanwhile?",
}

Lessons = list[tuple[Contents, list[Shown]]]


def main(args: argparse.Namespace) -> int:
    """Write the folder, lesson by lesson."""
    try:
        write(Path(args.folder))
    except Problem as problem:
        print(f"minikafka gallery: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            f"\nstopped: what is in {args.folder} so far can be looked at",
            file=sys.stderr,
        )
        return 130
    return 0


def write(folder: Path, site: Path | None = None) -> None:
    """Write all lessons, and the index again after each, so that the finished ones can
    be looked at at any time. site: the folder of the site that the gallery is part of,
    if it is.
    """
    chosen = [lesson for lesson in contents().values() if has_pictures(lesson)]
    if not chosen:
        raise Problem(
            "there are no lessons here: the command needs the project's folder, with"
            " its notebooks/"
        )
    if not find_spec("ipywidgets"):
        print(
            "without ipywidgets (pip install ipywidgets) the pictures with levers are"
            " left out"
        )
    in_site = site is not None
    done: Lessons = []
    try:
        prepare(folder)
        save(folder / INDEX, index(done, in_site))
        for lesson in chosen:
            print(f"{title(lesson)} ...", end=" ", flush=True)
            done.append((lesson, list(shown(lesson))))
            for name, text in pages(*done[-1], in_site):
                save(folder / name, text)
            if site:
                for each in done[-1][1]:
                    whole = _whole(without_levers(each))
                    shared_pictures.place(site, each.name, whole)
            save(folder / INDEX, index(done, in_site))
            print(counted(len(done[-1][1]), "picture"), flush=True)
    except OSError as error:
        raise Problem(f"can't write to {folder}: {error.strerror}") from error
    print(
        f"{counted(sum(len(each) for _, each in done), 'picture')}, and a list of them:"
        f" {folder / INDEX}"
    )


def save(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def prepare(folder: Path) -> None:
    """Make the folder; refuse one that holds something else, of which a file might be
    lost.
    """
    if folder.exists() and not folder.is_dir():
        raise Problem(f"{folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not _is_a_gallery(folder):
        raise Problem(f"{folder} holds other files: name a new folder, or an empty one")


def _is_a_gallery(folder: Path) -> bool:
    """Did this command make it?"""
    index = folder / INDEX
    if not index.exists():
        return False
    return MADE_BY in index.read_text(encoding="utf-8", errors="replace")


def pages(
    lesson: Contents, pictures: Sequence[Shown], in_site: bool = False
) -> Iterator[tuple[str, str]]:
    """A lesson's files, by name and text: every picture has a page and a thumbnail."""
    for number, each in enumerate(pictures):
        picture = without_levers(each)
        links = [f'<a href="{INDEX}">all pictures</a>']
        begins = escape(title(lesson))
        if in_site:
            begins = f'<a href="{path_of(lesson)}">{begins}</a>'
        if picture.title not in heading(each, pictures):
            begins += f": {escape(heading(each, pictures))}"
        links.append(f"<span>{begins}</span>")
        if number > 0:
            links.append(f'<a href="{pictures[number - 1].name}.html">previous</a>')
        if number + 1 < len(pictures):
            links.append(f'<a href="{pictures[number + 1].name}.html">next</a>')
        else:
            links.append(after(lesson, in_site))
        nav = f'<nav id="{NAV_ID}" aria-label="gallery">{" ".join(links)}</nav>'
        page = picture.page(widths=LAYOUTS).replace(
            "<body>", f"<body>\n{NAV_STYLE}{nav}", 1
        )
        if in_site:
            head = site_look.Head(
                f"{PATH}/{each.name}.html",
                f"{heading(each, pictures)} · {title(lesson)}",
                line(each),
                each.name,
            )
            page = site_look.around(page, head)
        yield f"{each.name}.html", page
        yield f"{each.name}.svg", thumbnail(picture, still(picture))


def after(lesson: Contents, in_site: bool) -> str:
    """Where one goes from a lesson's last picture: in a site to the next lesson, if
    there is one, or else back to all pictures.
    """
    numbers = list(contents())
    number = numbers.index(lesson.number) + 1
    if not in_site or number == len(numbers):
        return f'<a href="{INDEX}">next: all pictures</a>'
    there = contents()[numbers[number]]
    return f'<a href="{path_of(there)}">next: {escape(title(there))}</a>'


def path_of(lesson: Contents) -> str:
    """The way from the gallery to the lesson's page, in a site."""
    return f"../lessons/{lesson.path.stem}.html"


def without_levers(each: Shown) -> Picture:
    """The picture without levers: a click here would reach no kernel. It asks
    something if it can (asking_pictures.py).
    """
    if each.name in ASKING:
        return ASKING[each.name]()
    if each.alone:
        return each.alone()
    if not each.levers:
        return each.picture
    live = each.picture
    cast = {name: live.cast[name] for name in live.cast if name != "live"}
    return Picture(type(live.play), cast, live.scenes, seed=live.seed)


def still(picture: Picture) -> int:
    """The step that a picture is known by: where it asks, or else halfway. The end
    would tell too much.
    """
    asked = picture.prediction
    if asked is None or asked.stop is None:
        return len(picture.scenes) // 2
    return asked.stop


def _whole(picture: Picture) -> str:
    """The still of a picture with its title, for places that show nothing beside it."""
    return picture.svg(still(picture), NARROW)


def title(lesson: Contents) -> str:
    """ "05 · Consumer groups"."""
    return lesson.sections[0].text.lstrip("# ").splitlines()[0]


def heading(each: Shown, pictures: Sequence[Shown]) -> str:
    """A picture's name among those of its lesson, numbered from the second one on."""
    name = _name(each)
    same = [other.cell for other in pictures if _name(other) == name]
    place = same.index(each.cell)
    return f"{name} · {place + 1}" if place > 0 else name


def _name(each: Shown) -> str:
    """Its story, or else the heading above it."""
    if each.picture.title != each.picture.stage:
        return each.picture.title
    return re.sub(r" \((core|stretch)\b[^)]*\)$", "", each.heading)


def line(each: Shown) -> str:
    """What the picture is about: its question, that of QUESTIONS, or what it shows."""
    picture = ASKING[each.name]() if each.name in ASKING else each.picture
    if picture.prediction is not None:
        return picture.prediction.question
    shows = f"{picture.title}: {picture.play.scenario(picture.scenes[still(picture)])}."
    words = QUESTIONS.get(each.name, shows)
    return f"{words} {HAS_LEVERS}" if each.levers else words


def index(done: Lessons, in_site: bool = False) -> str:
    """The list of all pictures."""
    head = site_look.Head(f"{PATH}/{INDEX}", TITLE, DESCRIPTION, "10")
    body = site_look.filled(
        "gallery.html",
        title=TITLE,
        lead=LEAD,
        jumps="\n".join(_jump(lesson) for lesson, _ in done),
        cards="\n".join(_cards(*each) for each in done),
    )
    return site_look.page(head, body, made_by=MADE_BY, alone=not in_site)


def _jump(lesson: Contents) -> str:
    """The way to the first picture of a lesson."""
    return f'<a href="#lesson-{lesson.number}">{escape(title(lesson))}</a>'


def _cards(lesson: Contents, pictures: Sequence[Shown]) -> str:
    """A card for each picture of a lesson."""
    cards = []
    for number, each in enumerate(pictures):
        place = "" if number else f' id="lesson-{lesson.number}"'
        cards.append(
            f'<li{place}><img src="{each.name}.svg" alt="" loading="lazy">'
            f'<p class="of">{escape(title(lesson))}</p>'
            f'<h2><a href="{each.name}.html">{escape(heading(each, pictures))}</a></h2>'
            f"<p>{escape(line(each))}</p></li>"
        )
    return "\n".join(cards)
