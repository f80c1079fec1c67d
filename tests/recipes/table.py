"""build/recipes.md, a page of the site: fault by recipe, what happened."""

from tests.kafka import ROOT, VERSION

FILE = ROOT / "build" / "recipes.md"
HEAD = f"""\
# Our recipes under our faults

Written by `python -m tests.recipes`, which runs the five files of `notebooks/recipes`
under each fault of the course, on minikafka and on Apache Kafka {VERSION}. After each
run it checks: what was acknowledged is in the log, once and in order; each order is paid
once, and a customer's in order; the lag is 0; poison is a dead letter with its attempts
counted; what the shop's database has committed is in Kafka, and nothing else; SIGTERM
ends a program with exit code 0 within 30 s.
"""


def text(rows):
    """rows: fault, recipe, where it ran, what happened."""
    parts = [HEAD]
    for recipe in dict.fromkeys(recipe for _, recipe, *_ in rows):
        lines = [
            f"| {fault} | {kind} | {in_a_cell(what)} |"
            for fault, of, kind, what in rows
            if of == recipe
        ]
        head = ["| fault | on | what happened |", "|--|--|--|"]
        name = f"## [{recipe}.py](recipes/{recipe}.py)"
        parts.append("\n".join([name, "", *head, *lines]) + "\n")
    return "\n".join(parts)


def in_a_cell(what):
    """Also of an AssertionError, which may have many lines."""
    return " ".join(what.replace("|", r"\|").split())[:600]


def write(rows):
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(rows), encoding="utf-8")
