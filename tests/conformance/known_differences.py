"""Every known difference from Apache Kafka, on one page for those who test with
minikafka: python -m tests.conformance.known_differences

It collects what the tests that compare both let pass on purpose, with the reasons that
stand there, and what our brokers are started with. Those tests fail when a difference
is gone, so the page can't be behind; test_known_differences.py sees that it is written
again.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from minikafka import testing
from minikafka.broker.config_table import BROKER_CONFIGS, WITHOUT_EFFECT
from minikafka.server.defaults import PROPERTIES, PROPERTIES_OF_MANY
from minikafka.testing.brokers import ALONE, SMALL
from tests.broker.test_config import CASES, STRICTER
from tests.conformance import test_access, test_same_answers
from tests.conformance.matrix import stated
from tests.conformance.test_all_configs import DIFFERENCES
from tests.conformance.test_java_admin import DIFFERENT_OF_THREE
from tests.kafka import VERSION

PAGE = Path(testing.__file__).with_name("known_differences.md")
OF_JAVA = ("java_admin_of_one", "java_admin_of_three", "kafka_configs")
NAMED = 3  # of so many tests a title has the names
WORDS = ".error_message"  # how a pattern ends that is about the words of an error
HEAD = f"""\
# Known differences from Apache Kafka

Every night the same requests go to minikafka and to Apache Kafka {VERSION}, and their
answers are compared field by field. This page has every difference that these tests
let pass, with the reason, and the settings that our brokers start with. A test fails
when a difference is gone, so the list holds. What isn't here is meant to be the same.
If you find another difference, it's a bug.

What differs is the answer to a question. Code names the part of it that may differ: the
API, its version and the field; without code, the whole answer may. `*` stands for
anything.
"""
SPEED = """\
## Time

- Everything takes less time, since the brokers share one process and do little else.
  What takes half a second on Apache Kafka may take a millisecond here.
- A coordinator's topic is there in the first answer to FindCoordinator. On Apache Kafka
  clients of an unused cluster meet COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR and
  COORDINATOR_LOAD_IN_PROGRESS first. `@pytest.mark.minikafka(fresh=True)` gives a test
  brokers that answer so, too ([a Kafka for your tests](README.md)).
"""


class Difference(NamedTuple):
    """what: the things that are asked. where: patterns of the fields that differ."""

    what: tuple[str, ...]
    where: tuple[str, ...]
    why: str


def collected(tables: Mapping[str, Mapping[str, str]]) -> list[Difference]:
    """What tests let pass: scenario -> pattern -> why, as rows. Patterns of a scenario
    that have a reason in common share a row, and so do scenarios with the same patterns.
    """
    found: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for scenario, patterns in tables.items():
        by_reason: dict[str, list[str]] = {}
        for pattern, why in patterns.items():
            by_reason.setdefault(why, []).append(pattern)
        for why, where in by_reason.items():
            found.setdefault((tuple(where), why), []).append(stated(scenario))
    return [Difference(tuple(what), *row) for row, what in found.items()]


def is_about_words(each: Difference) -> bool:
    """Whether nothing but the text of an error is another one."""
    return all(pattern.endswith(WORDS) for pattern in each.where)


def answers() -> list[Difference]:
    """Of requests that any client may send."""
    found = collected(test_same_answers.DELIBERATE)
    found += collected({"who may do what": test_access.DELIBERATE})
    of_three = {" ".join(where): why for where, why in DIFFERENT_OF_THREE.items()}
    return found + collected({"Java's Admin, of three brokers": of_three})


def configs() -> list[Difference]:
    """Of how configs are described and changed. What Java's clients show of them is the
    same once more.
    """
    return collected(
        {name: rows for name, rows in DIFFERENCES.items() if name not in OF_JAVA}
    )


def table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = [*columns]
    lines = [f"| {' | '.join(names)} |", "|--" * len(names) + "|"]
    for row in rows:
        cells = [cell.replace("|", r"\|") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def shown(found: Iterable[Difference]) -> str:
    """A row for each; what many tests meet comes last."""
    rows = []
    for each in sorted(found, key=asked_by_many):
        many = f"in {len(each.what)} tests"
        about = many if asked_by_many(each) else "; ".join(each.what)
        rows.append((about, each.why, "; ".join(map(parted, each.where))))
    return table(("asked about", "why", "what differs"), rows)


def asked_by_many(each: Difference) -> bool:
    """Whether the names of those who ask would be too long a title."""
    return len(each.what) > NAMED


def parted(pattern: str) -> str:
    """A pattern as a question and a part of its answer, if it isn't the whole answer."""
    question, _, field = pattern.rpartition(": ")
    if not question:
        question, star, field = pattern.partition("*.")
        field = star + field
        question += "*" * question.endswith((" ", "."))
    words = question.replace("*", r"\*")
    if field in ("", "*"):
        return words
    return f"{words}: `{field}`" if words else f"`{field}`"


def coded(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def refused() -> list[tuple[str, str]]:
    """Properties that Apache Kafka takes, and the words of our refusal."""
    return [
        (coded(given.split(" ")), f"{words[0].lower()}{words[1:]}")
        for given, verdict, words in CASES
        if verdict is STRICTER
    ]


def without_effect() -> Iterator[tuple[str, str]]:
    """Why a broker's configs change nothing, and which these are."""
    for effect, why in WITHOUT_EFFECT.items():
        names = [row.name for row in BROKER_CONFIGS.values() if row.effect == effect]
        if names:
            yield why, coded(sorted(names))


def started_with() -> list[tuple[str, str, str]]:
    """The properties of our brokers: name, value and whose they are."""
    found = []
    for whose, given in {
        "all brokers": PROPERTIES,
        "several brokers": PROPERTIES_OF_MANY,
        "`minikafka.testing`": SMALL,
        "`minikafka.testing`, a single broker": ALONE,
    }.items():
        for name, value in given.items():
            default = BROKER_CONFIGS[name].default
            if str(default) != value:
                found.append((f"`{name}`", value, f"{default}", whose))
    return found


def text() -> str:
    """The whole page."""
    every = [*answers(), *configs()]
    parts = [
        HEAD,
        SPEED,
        "## Answers\n",
        shown(each for each in answers() if not is_about_words(each)) + "\n",
        "## How configs are described and changed\n",
        shown(each for each in configs() if not is_about_words(each)) + "\n",
        "## Words of errors\n",
        "The code is the same, the message isn't.\n",
        shown(each for each in every if is_about_words(each)) + "\n",
        "## What brokers start with\n",
        "The marker `minikafka` and `serve --override` may set them to Apache Kafka's"
        " defaults.\n",
        table(("config", "here", "Apache Kafka", "of"), started_with()) + "\n",
        "## Properties that are refused\n",
        "Apache Kafka starts with these, and then nobody can connect, join, commit or"
        " create.\n",
        table(("property", "our answer"), refused()) + "\n",
        "## Configs without effect\n",
        "They are taken, kept and described, as in Apache Kafka, and do nothing.\n",
        table(("reason", "configs"), without_effect()),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
