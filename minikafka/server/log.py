"""The server's messages to the person who looks after it: lines on standard error,
where nothing else is written.
"""

import sys
import traceback

from minikafka.trace import printable

LINE_CHARACTERS = 2000


def log(line: str, error: BaseException | None = None) -> None:
    """Write one line. error: its traceback follows, indented, so that no text from a
    client can look like a line of ours. If nobody can read it (a closed pipe, a full
    disk), the server goes on all the same.
    """
    lines = [f"minikafka: {printable(line, LINE_CHARACTERS)}"]
    if error is not None:
        told = "".join(traceback.format_exception(error))
        lines += [f"  {printable(part, LINE_CHARACTERS)}" for part in told.splitlines()]
    text = "".join([f"{each}\n" for each in lines])
    try:
        # in one piece, because the processes of --processes all write here
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        pass
