"""The colours of actors: an actor has the same one wherever it is drawn."""

from collections.abc import Sequence

COLOURS = 6  # as many as everybody can tell apart, in both themes


def actor_colour(number: int) -> str:
    """Actors are numbered from 0; the seventh has the first one's colour."""
    return f"actor{number % COLOURS + 1}"


def ink_on_actor(number: int) -> str:
    """The colour of words on an actor's colour."""
    return f"on{number % COLOURS + 1}"


def actor_number(name: str, others: Sequence[str]) -> int:
    """The number of an actor's colour: A to F have their own everywhere ("consumer a"
    is A); an actor without a letter gets the next one in order.
    """
    *_, last_word = name.replace("-", " ").split(" ")
    letter = last_word.upper()
    is_a_letter = len(letter) == 1 and "A" <= letter <= "Z"
    if is_a_letter:
        return ord(letter) - ord("A")
    return list(others).index(name)
