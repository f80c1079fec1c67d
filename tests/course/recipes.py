"""The programs that lessons 04 and 05 give to copy, word for word: each is the block of
its notebook that begins with its name.
"""

import re

from minikafka.course.contents import contents


def recipe(lesson, name):
    """The text of a recipe in a lesson, by the name in its first line."""
    prose = contents()[lesson].prose
    [text] = re.findall(rf"```python\n(# {name}\n.*?)```", prose, re.DOTALL)
    return text


def at(text, bootstrap, topic):
    """The same, with an address and with a topic of this test's own."""
    text = text.replace('"H"', repr(bootstrap))
    return text.replace('"orders', f'"{topic}')
