"""`python -m tests.transcripts.rewrite [NAME ...]` plays the scenarios and writes what
came of them. Look at the diff: it is what has changed in the protocol.
"""

import sys

from tests.transcripts.scenarios import SCENARIOS, file_of, played

if __name__ == "__main__":
    for name in sys.argv[1:] or SCENARIOS:
        file_of(name).write_text(played(name), encoding="utf-8", newline="\n")
        print(file_of(name).name)
