"""The programs that lessons 04 and 05 give to copy, word for word: each is the block of
its notebook that begins with its name.
"""

import json
import re

from minikafka.course.places import NOTEBOOKS


def recipe(lesson, name):
    """The text of a recipe in a lesson, by the name in its first line."""
    [path] = NOTEBOOKS.glob(f"{lesson}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells)
    [text] = re.findall(rf"```python\n(# {name}\n.*?)```", prose, re.DOTALL)
    return text


def at(text, bootstrap, topic):
    """The same, with an address and with a topic of this test's own."""
    text = text.replace('"H"', repr(bootstrap))
    return text.replace('"orders', f'"{topic}')
