"""`python -m tests.client_bugs [ID ...]` runs the programs of these bugs, or of all,
with the version that has the bug and the one that hasn't, on minikafka, and keeps what
they print for the tests and the site.
"""

import sys

from minikafka.course.client_bugs import FOLDER, bugs
from tests.client_bugs.fetching import Missing
from tests.client_bugs.running import printed
from tests.kafka import MINIKAFKA


def main(ids: list[str]) -> int:
    """Errors: a line on standard error for a client that can't be fetched."""
    failed = 0
    for bug in bugs():
        if ids and bug.id not in ids:
            continue
        for version in (bug.old, bug.mended):
            try:
                said = printed(bug, version, MINIKAFKA)
            except Missing as missing:
                print(f"{bug.client} {version}: {missing}", file=sys.stderr)
                failed = 1
                continue
            print(
                f"--- {bug.title}: {bug.client} {version}", said, sep="\n", flush=True
            )
            path = FOLDER / "printed" / f"{bug.id}-{version}.txt"
            path.write_text(said, encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
