"""The program that a lesson gives to copy, word for word: the block of its notebook that
begins with its name.
"""

import re

from minikafka.course.contents import contents


def recipe(lesson, name):
    """The text of a recipe in a lesson, by the name in its first line."""
    prose = contents()[lesson].prose
    [text] = re.findall(rf"```python\n(# {name}\n.*?)```", prose, re.DOTALL)
    return text
