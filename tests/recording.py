"""Our code can't change Apache Kafka's answers, so only the nightly tests ask for them.
`make test` compares minikafka with what they found, which is kept in tests/recordings/.

A nightly test asks both, and compares the answers field by field. Where they are the
same, or differ on purpose only, `confirm` compares a few letters of a hash of each of
minikafka's answers with the file: whole answers would be a megabyte. In `make test`
minikafka alone is asked, and `check` finds the first answer that has changed. Then the
nightly test says what Apache Kafka answers.

`python -m tests.recording FILE ...` runs the nightly tests of these files and writes their
recordings again.
"""

import hashlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.kafka import ROOT, VERSION

FOLDER = Path(__file__).with_name("recordings")
WRITES = "MINIKAFKA_WRITES_RECORDINGS"  # a variable, for pytest that main starts
LETTERS = 5


class Recording:
    """Of one file of tests: story -> a mark for each of its steps."""

    def __init__(self, of_file: str) -> None:
        test = Path(of_file)
        self.test = test.relative_to(ROOT).as_posix()
        self.path = FOLDER / f"{test.stem.removeprefix('test_')}.txt"
        self.writes = bool(os.environ.get(WRITES))
        has_text = self.path.exists() and not self.writes
        text = self.path.read_text(encoding="utf-8") if has_text else ""
        self.stories = read(text)

    def check(self, story: str, steps: Sequence[Any]) -> None:
        """Each step's answer is the one that was recorded."""
        command = f"python -m tests.recording {self.test}"
        recorded, now = self.stories.get(story, []), [mark(step) for step in steps]
        for number, (then, step) in enumerate(zip(recorded, steps, strict=False)):
            assert then == now[number], (
                f"{story}, step {number}: not the answer that was compared with Apache"
                f" Kafka {VERSION}. minikafka answers {step} now. `pytest {self.test} -m"
                f" nightly` shows what differs. If nothing does: `{command}`"
            )
        assert len(recorded) == len(now), f"other steps than recorded: `{command}`"

    def confirm(self, story: str, steps: Sequence[Any]) -> None:
        """Apache Kafka has just been asked the same story, and nothing differed but on
        purpose: check the recording, or write it.
        """
        if not self.writes:
            return self.check(story, steps)
        self.stories[story] = [mark(step) for step in steps]
        self.path.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """The file: each story with its marks."""
        lines = [
            "# A mark for each of minikafka's answers in a story. Each was compared with"
            f" Apache Kafka {VERSION}'s.",
            f"# Written by `python -m tests.recording {self.test}`.",
        ]
        for story, marks in sorted(self.stories.items()):
            lines += [story, *wrapped(marks)]
        return "\n".join(lines) + "\n"


def wrapped(marks: Sequence[str]) -> list[str]:
    indents = {"initial_indent": " ", "subsequent_indent": " "}
    return textwrap.wrap(" ".join(marks), 88, **indents)


def read(text: str) -> dict[str, list[str]]:
    """The stories of a file."""
    stories: dict[str, list[str]] = {}
    marks: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            marks += line.split()
        elif not line.startswith("#"):
            marks = stories[line] = []
    return stories


def mark(step: Any) -> str:
    """The same for the same answer on every machine."""
    text = json.dumps(step, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:LETTERS]


def main(files: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "nightly", *files]
    variables = os.environ | {WRITES: "1"}
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
