"""The picture that other sites show when somebody shares a page. It's a PNG file, since
they don't read SVG, and shows a run.

Only a site whose address is known has them, because the tags that name them want whole
addresses. resvg-py (the extra `site`) draws them.
"""

import re
from pathlib import Path

from minikafka.course.demo import Problem
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import site_address
from minikafka.course.publishing.site_look import IMAGES
from minikafka.theatre.palette import PALETTE

WIDTH, HEIGHT = 1200, 630  # what other sites ask for
EDGE, TOP = 40, 100  # around the picture, and above it
FONTS = "'DejaVu Sans', sans-serif"


def place_all(site: Path) -> None:
    """The lessons' pictures, and those of pages that have one of their own."""
    for path in sorted((NOTEBOOKS / "pictures").glob("*.svg")):
        if not path.stem.startswith("hero"):  # it moves
            place(site, path.stem, path.read_text(encoding="utf-8"))


def place(site: Path, name: str, picture: str) -> None:
    """The PNG file of one picture, if the site's address is known. picture: SVG."""
    if not site_address.web_address():
        return
    folder = site / IMAGES
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.png").write_bytes(drawn(framed(picture)))


def framed(picture: str) -> str:
    """The picture as large as the frame allows, under the project's name."""
    found = re.search(r'viewBox="0 0 (\d+) (\d+)" width="\d+" height="\d+"', picture)
    assert found is not None
    width, height = map(int, found.groups())
    scale = min((WIDTH - 2 * EDGE) / width, (HEIGHT - TOP - EDGE) / height)
    left = (WIDTH - width * scale) / 2
    inner = picture.replace(
        found[0],
        f'viewBox="0 0 {width} {height}" x="{left:.0f}" y="{TOP}"'
        f' width="{width * scale:.0f}" height="{height * scale:.0f}"',
        1,
    )
    boxes = "".join(
        f'<rect x="{EDGE + 20 * place}" y="36" width="13" height="26" rx="3"'
        f' fill="{PALETTE[f"actor{place + 1}"][0]}"/>'
        for place in range(3)
    )
    ink, paper = PALETTE["ink"][0], PALETTE["paper"][0]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{paper}"/>{boxes}'
        f'<text x="{EDGE + 76}" y="60" font-family="{FONTS}" font-size="32"'
        f' font-weight="bold" fill="{ink}">minikafka</text>{inner}</svg>'
    )


def drawn(text: str) -> bytes:
    """PNG of SVG. Problem: what draws it isn't here, or no font is."""
    try:
        import resvg_py
    except ImportError as error:
        raise Problem(
            "the pictures for pages that are shared need resvg-py:"
            ' pip install "minikafka[site]"'
        ) from error
    letter = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">{}</svg>'
    with_letter = letter.format(f'<text y="30" font-family="{FONTS}">M</text>')
    empty = resvg_py.svg_to_bytes(svg_string=letter.format(""))
    if resvg_py.svg_to_bytes(svg_string=with_letter) == empty:
        raise Problem("no font is installed here: fonts-dejavu-core, for example")
    return bytes(resvg_py.svg_to_bytes(svg_string=text))
