"""Where the tools print. JupyterLab breaks what is printed at the cell's edge, and a row
of a table can't be read when it is broken: in a notebook such a screen scrolls sideways.
"""

import html
import sys

from minikafka.course import cards

LOOK = (
    "margin:0;padding:0 8px;background:none;overflow-x:auto;white-space:pre;"
    "font:12px/1.4 var(--jp-code-font-family,ui-monospace,monospace);"
    "color:var(--jp-content-font-color1,inherit)"
)


def show(text: str) -> None:
    """In a notebook as a screen, unless its outputs hold text only; else printed."""
    shown = cards.bundle(text, page(text))
    if "ipykernel" in sys.modules and "text/html" in shown:
        from IPython.display import display

        display(shown, raw=True)
    else:
        print(text)


def page(text: str) -> str:
    """HTML in which no row is wrapped."""
    return f'<pre style="{LOOK}">{html.escape(text)}</pre>'
