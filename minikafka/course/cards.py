"""Small cards: how a notebook shows a verdict, the claims and the progress. Each has a
text form, for nbval and for people who read without a browser.

Only inline styles: JupyterLab keeps them, and its own variables follow the theme.
"""

import html
import os
import re
from collections.abc import Iterable, Sequence

GOOD, TROUBLE, QUIET, HALF = "#1f7a4d", "#b3470a", "#57606a", "#8a6100"
MARKS = {
    "right": ("✓", GOOD),
    "wrong": ("✗", TROUBLE),
    "open": ("–", QUIET),
    "half": ("±", HALF),
}

_BASE = (
    "font:14px/1.5 var(--jp-content-font-family,system-ui,sans-serif);"
    "color:var(--jp-content-font-color1,inherit)"
)
_MONO = "font:13px/1.45 var(--jp-code-font-family,ui-monospace,monospace)"


def card(mark: str, headline: str, body: str = "") -> str:
    """One card. mark: of MARKS; body: HTML under the headline."""
    colour = MARKS[mark][1]
    return (
        f'<div style="{_BASE};max-width:860px;margin:2px 0 8px;padding:8px 14px;'
        "border:1px solid var(--jp-border-color2,#c8d1da);"
        f'border-left:5px solid {colour};border-radius:6px">'
        '<div style="display:flex;gap:10px;align-items:baseline">'
        f"{badge(mark)}<b>{_words(headline)}</b></div>"
        f"{body}</div>"
    )


def badge(mark: str) -> str:
    """A round mark that is read out as a word."""
    sign, colour = MARKS[mark]
    return (
        f'<span role="img" aria-label="{mark}"'
        ' style="flex:none;display:inline-block;width:20px;height:20px;'
        f"border-radius:10px;background:{colour};color:#fff;text-align:center;"
        f'font:bold 13px/20px system-ui,sans-serif">{sign}</span>'
    )


def line(words: str, mark: str = "") -> str:
    """A line of a card's body, marked or plain. Indented lines keep their columns,
    because they are data or tracebacks.
    """
    if mark:
        return (
            '<div style="display:flex;gap:10px;margin-top:5px">'
            f"{badge(mark)}<span>{_words(words)}</span></div>"
        )
    style = _MONO if words.startswith((" ", "File ")) else ""
    look = f"margin:3px 0 0 30px;white-space:pre-wrap;overflow-wrap:anywhere;{style}"
    return f'<div style="{look}">{_words(words)}</div>'


def small(words: str) -> str:
    """The HTML of a small note below a line of a card."""
    return f'<div style="margin:1px 0 0 30px;opacity:.85">{_words(words)}</div>'


def folded(summary: str, words: str) -> str:
    """The HTML of a line that opens when its summary is clicked."""
    return (
        f'<details style="margin:3px 0 0 30px"><summary>{html.escape(summary)}'
        f"</summary>{_words(words)}</details>"
    )


def strip(rows: Iterable[tuple[str, Sequence[tuple[str, int, int]]]]) -> str:
    """Progress: for each name, (what, how many are done, how many there are) as filled
    places.
    """
    look = (
        f"{_BASE};display:flex;flex-wrap:wrap;gap:4px 18px;"
        "align-items:center;padding:4px 0;max-width:860px;"
        "border-bottom:1px solid var(--jp-border-color2,#c8d1da)"
    )
    lines = []
    for name, parts in rows:
        title = f'<b style="width:210px">{html.escape(name)}</b>'
        places = "".join(_places(*part) for part in parts)
        lines.append(f'<div style="{look}">{title}{places}</div>')
    return "".join(lines)


def _words(text: str) -> str:
    """Escaped, with Markdown's `code` as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _places(what: str, done: int, there_are: int) -> str:
    if not there_are:
        return ""
    look = (
        "display:inline-block;width:13px;height:13px;margin-left:3px;"
        "border-radius:3px;vertical-align:-2px"
    )
    full = f'<i style="{look};background:{GOOD}"></i>'
    empty = f'<i style="{look};border:1px solid {QUIET};box-sizing:border-box"></i>'
    places = full * done + empty * (there_are - done)
    return (
        f'<span aria-label="{what}: {done} of {there_are}" role="img"'
        f' style="width:190px">{what} {places}</span>'
    )


def bundle(text: str, page: str) -> dict[str, str]:
    """The output that a notebook shows: text, and the card beside it unless outputs are
    text only.
    """
    if os.environ.get("MINIKAFKA_PICTURES") == "text":
        return {"text/plain": text}
    return {"text/plain": text, "text/html": page}


def is_notebook() -> bool:
    """Whether a picture can be seen here."""
    if os.environ.get("MINIKAFKA_PICTURES") == "text":
        return False
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None
