"""What the server says to whoever looks after it: lines on standard error, and nothing
else speaks there.
"""

import sys
import traceback

from minikafka.trace import printable

LINE_CHARACTERS = 2000


def log(line: str, error: BaseException | None = None) -> None:
    """One line. error: its traceback follows, indented, so that no message of a
    client's making passes for a line of ours. If nobody can hear us (a closed pipe, a
    full disk), the server has still to go on.
    """
    lines = [f"minikafka: {printable(line, LINE_CHARACTERS)}"]
    if error is not None:
        told = "".join(traceback.format_exception(error))
        lines += [f"  {printable(part, LINE_CHARACTERS)}" for part in told.splitlines()]
    text = "".join([f"{each}\n" for each in lines])
    try:
        # in one piece: the processes of --processes all write here
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        pass
