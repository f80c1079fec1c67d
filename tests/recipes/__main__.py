"""Each recipe under each fault: python -m tests.recipes [WORDS OF RECIPES OR FAULTS]

On minikafka, and some on Apache Kafka where Java is. Writes build/recipes.md, which the site
shows: fault by recipe, what happened.
"""

import sys
import tempfile
from pathlib import Path

from tests.kafka import APACHE_KAFKA, MINIKAFKA, java_missing
from tests.recipes import table
from tests.recipes.faults import CASES, happens


def main(words):
    kinds = [MINIKAFKA] if java_missing() else [MINIKAFKA, APACHE_KAFKA]
    rows = []
    for recipe, fault in CASES:
        if words and not all(word in f"{recipe} {fault}" for word in words):
            continue
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="recipe-") as folder:
                try:
                    what = happens(recipe, fault, kind, Path(folder))
                except Exception as error:  # the others have their turn all the same
                    what = f"**fails**: {error!r}"
            rows.append((fault, recipe, kind, what))
            print(f"{recipe}, {fault}, {kind}: {what}", flush=True)
    table.write(rows)
    return int(any(what.startswith("**fails**") for *_, what in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
