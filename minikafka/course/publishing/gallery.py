"""`minikafka gallery DIR`: every lesson's pictures as a folder of static files, for any
web host.

The lessons' cells are run for it (pictures_of_lessons.py). Each picture is a page of
its own that plays by itself and asks what the lesson asks; `index.html` lists them all.
Its stills show the moment of the question, so that nothing is told before.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from minikafka.course.contents import Contents, contents
from minikafka.course.demo import Problem
from minikafka.course.publishing.pictures_of_lessons import (
    Shown,
    leading_to_pictures,
    shown,
)
from minikafka.theatre.drawing import NARROW
from minikafka.theatre.page import colours
from minikafka.theatre.picture import Picture
from minikafka.theatre.text import counted, escape

INDEX = "index.html"
MADE_BY = '<meta name="generator" content="minikafka gallery">'
NAV_ID = "gallery"  # a frame that shows page.html#gallery shows the picture alone
NAV_STYLE = (
    "<style>nav{display:flex;flex-wrap:wrap;gap:4px 18px;padding:8px"
    " 16px}nav:target{display:none}nav a{color:var(--ink)}nav"
    " span{color:var(--quiet)}</style>"
)
HAS_LEVERS = "In the lesson you change it while it plays."

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


def write(folder: Path) -> None:
    """All lessons, and the index anew after each: what is there can be looked at, at
    any time.
    """
    chosen = [
        lesson for lesson in contents().values() if leading_to_pictures(lesson.code)
    ]
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
    done: Lessons = []
    try:
        prepare(folder)
        (folder / INDEX).write_text(index(done), encoding="utf-8", newline="\n")
        for lesson in chosen:
            print(f"{title(lesson)} ...", end=" ", flush=True)
            done.append((lesson, list(shown(lesson))))
            for name, text in pages(done[-1]):
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
            (folder / INDEX).write_text(index(done), encoding="utf-8", newline="\n")
            print(counted(len(done[-1][1]), "picture"), flush=True)
    except OSError as error:
        raise Problem(f"can't write to {folder}: {error.strerror}") from error
    print(
        f"{counted(sum(len(each) for _, each in done), 'picture')}, and a list of them:"
        f" {folder / INDEX}"
    )


def prepare(folder: Path) -> None:
    """Make the folder; refuse one that holds something else, of which a file might be
    lost.
    """
    if folder.exists() and not folder.is_dir():
        raise Problem(f"{folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    there = {path.name for path in folder.iterdir()}
    if there and not (
        INDEX in there
        and MADE_BY in (folder / INDEX).read_text(encoding="utf-8", errors="replace")
    ):
        raise Problem(f"{folder} holds other files: name a new folder, or an empty one")


def pages(of: tuple[Contents, list[Shown]]) -> Iterator[tuple[str, str]]:
    """Name and text of each file of one lesson: a page and a still for each picture."""
    lesson, pictures = of
    for number, each in enumerate(pictures):
        picture = without_levers(each)
        neighbours = [("previous", pictures[number - 1])] if number else []
        neighbours += (
            [("next", pictures[number + 1])] if number + 1 < len(pictures) else []
        )
        here = f"<span>{escape(title(lesson))}: {heading(each, pictures)}</span>"
        links = [f'<a href="{INDEX}">all pictures</a>', here]
        links += [
            f'<a href="{other.name}.html">{word}</a>' for word, other in neighbours
        ]
        nav = f'<nav id="{NAV_ID}" aria-label="gallery">{" ".join(links)}</nav>'
        yield (
            f"{each.name}.html",
            picture.page().replace("<body>", f"<body>\n{NAV_STYLE}{nav}", 1),
        )
        yield f"{each.name}.svg", picture.svg(still(picture), NARROW)


def without_levers(each: Shown) -> Picture:
    """What was clicked here would reach no kernel."""
    if not each.levers:
        return each.picture
    cast = {name: value for name, value in each.picture.cast.items() if name != "live"}
    return Picture(
        type(each.picture.play), cast, each.picture.scenes, seed=each.picture.seed
    )


def still(picture: Picture) -> int:
    """The step that a picture is known by: where it asks, or else halfway. The end
    would tell too much.
    """
    asked = picture.prediction
    return (
        len(picture.scenes) // 2 if asked is None or asked.stop is None else asked.stop
    )


def title(lesson: Contents) -> str:
    """ "05 · Consumer groups"."""
    return lesson.sections[0].text.lstrip("# ").splitlines()[0]


def heading(each: Shown, pictures: list[Shown]) -> str:
    """What a picture is called, as HTML: the heading that it stands under, numbered
    from the second one on.
    """
    same = [other.cell for other in pictures if other.heading == each.heading]
    words = re.sub(r" \((core|stretch)\b[^)]*\)$", "", each.heading)
    return escape(
        f"{words} · {same.index(each.cell) + 1}" if same[0] != each.cell else words
    )


def line(each: Shown) -> str:
    """What it is about: its question, or what it shows."""
    picture = each.picture
    if picture.prediction is not None:
        return picture.prediction.question
    words = f"{picture.title}: {picture.play.scenario(picture.scenes[still(picture)])}."
    return f"{words} {HAS_LEVERS}" if each.levers else words


def index(done: Lessons) -> str:
    """The list of all pictures, in the look of their pages."""
    parts = {
        "colours": colours(),
        "made_by": MADE_BY,
        "lessons": "\n".join(map(_section, done)),
    }
    html = files(__package__).joinpath("gallery.html").read_text(encoding="utf-8")
    return re.sub("{{([a-z_]+)}}", lambda found: parts[found[1]], html)


def _section(of: tuple[Contents, list[Shown]]) -> str:
    lesson, pictures = of
    cards = "\n".join(
        f'<li><img src="{each.name}.svg" alt="" loading="lazy">'
        f'<h3><a href="{each.name}.html">{heading(each, pictures)}</a></h3>'
        f"<p>{escape(line(each))}</p></li>"
        for each in pictures
    )
    return (
        f"<section>\n<h2>{escape(title(lesson))}</h2>\n<ul>\n{cards}\n</ul>\n</section>"
    )
