"""What a shell does with a line: which command it runs, on which machine, and which
filters its output goes through.

    sudo kafka-topics.sh --describe 2>&1 | grep orders | head -3
    ssh kafka-2 df -h
"""

import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

from minikafka.course.on_call import filters
from minikafka.course.on_call.usage import Refused

Filter = Callable[[list[str]], list[str]]

DROPPED, MERGED, SHOWN = "dropped", "merged", "shown"  # what a line wants of errors
REDIRECTED = re.compile(r"\s(2>&1|2>\s*/dev/null|&>\s*/dev/null|\|&)(?=\s|$)")
NOTHING_IN = re.compile(r"\s*<\s*/dev/null(?=\s|$)")
SILENT = ("echo", "printf", "true", "yes")  # what ends openssl s_client at once
PREFIXES = ("sudo", "time", "nohup", "command", "exec", "export")
ASSIGNED = re.compile(r"[A-Za-z_]\w*=(.*)")
NEXT_COMMAND = (
    "Nothing was run. One command per line: there is no {!r} here. Type one after the"
    " other."
)
NO_FILES = (
    "Nothing can be written to a file here: leave out {!r} and what follows it."
    " The output stays in the cell."
)
WATCHES = "{0} would run it again and again: incident.wait(minutes=1), then {1} again."
NO_VARIABLES = "There are no variables here: write {} in each line."
NO_LOOPS = (
    "There are no loops here: one command per line. Python's for works in a cell."
)
LOOPS = ("for", "while", "until", "if")
WORDS_OF_SSH = ("-o", "-p", "-i", "-l")  # ssh's options that have a value


class Said(NamedTuple):
    """What a command prints. err and end are its errors, before and after the rest:
    they aren't filtered.
    """

    out: str
    err: str = ""
    end: str = ""


class Line(NamedTuple):
    """words: the command, its program first. host: the machine that ssh names, or "".
    pipe: the commands that its output goes through. errors: one of DROPPED, MERGED,
    SHOWN.
    """

    words: list[str]
    host: str
    pipe: tuple[list[str], ...]
    errors: str

    def filters(self) -> list[Filter]:
        """What the commands of the pipe do. Raises Refused."""
        return [filters.read(words) for words in self.pipe]

    def shown(self, said: Said) -> str:
        """What is left on the screen."""
        out, err, end = said
        if self.errors == MERGED:
            out = _together(err, out, end)
        if self.errors != SHOWN:
            err = end = ""
        lines = out.splitlines()
        for each in self.filters():
            lines = each(lines)
        return _together(err, "\n".join(lines), end)


def _together(*texts: str) -> str:
    """The texts that aren't empty, below each other."""
    return "\n".join(filter(None, texts))


def read(text: str) -> Line:
    """A line as a shell reads it. Raises Refused."""
    text = NOTHING_IN.sub("", text)
    found = REDIRECTED.findall(text)
    errors = SHOWN
    if found:
        errors = DROPPED if "null" in found[-1] else MERGED
    commands: list[list[str]] = [[]]
    for word in split(REDIRECTED.sub(_kept_pipe, text), "|;&<>"):
        if word == "|":
            commands.append([])
        elif set(word) <= set(";&|"):
            is_loop = commands[0] and commands[0][0] in LOOPS
            raise Refused(NO_LOOPS if is_loop else NEXT_COMMAND.format(word))
        elif set(word) <= set("<>"):
            raise Refused(NO_FILES.format(word))
        else:
            commands[-1].append(word)
    is_fed = len(commands) > 1 and "openssl" in commands[1]
    if is_fed and commands[0][:1] and commands[0][0] in SILENT:
        commands.pop(0)
    first, *others = commands
    if not all(others):
        raise Refused("Nothing follows the |.")
    words, host = _command(first)
    inner = Line(words, host, (), SHOWN)
    if host and len(words) == 1 and " " in words[0]:  # quoted as a whole
        inner = read(words[0])._replace(host=host)
    return inner._replace(pipe=(*inner.pipe, *others), errors=errors)


def _kept_pipe(found: re.Match[str]) -> str:
    """What stays of a redirection: |& is also a pipe."""
    return " | " if found[1] == "|&" else " "


def split(text: str, marks: str = "") -> list[str]:
    """The words of a text, as a shell has them. marks: signs that are words of their
    own. Raises Refused.
    """
    reader = shlex.shlex(text, posix=True, punctuation_chars=marks or False)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = list(reader)
    except ValueError as error:
        raise Refused(f"{text!r} can't be read: {error}") from None
    if not words:
        raise Refused("The line is empty.")
    return words


def _command(words: list[str]) -> tuple[list[str], str]:
    """The command without what is before it, and its host. Raises Refused."""
    host = value = ""
    rest = list(words)
    while rest:
        assigned = ASSIGNED.fullmatch(rest[0])
        if rest[0] in PREFIXES or assigned:
            value = assigned[1] if assigned else value
            rest.pop(0)
        elif rest[0] == "ssh":
            host, rest = _remote(rest[1:])
        elif rest[0] == "timeout" and len(rest) > 1:
            rest = rest[2:]
        elif rest[0] == "watch":
            raise Refused(WATCHES.format("watch", "the command"))
        elif rest[0] in LOOPS:
            raise Refused(NO_LOOPS)
        else:
            return rest, host
    if host:
        raise Refused(f"Say what {host} should run, for example ssh {host} df -h.")
    if value:
        raise Refused(NO_VARIABLES.format(value))
    raise Refused("The line is empty.")


def _remote(words: list[str]) -> tuple[str, list[str]]:
    """The host that ssh names, and the command for it. Raises Refused."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in WORDS_OF_SSH and rest:
            rest.pop(0)
    if not rest:
        raise Refused("ssh needs a host, and a command: ssh kafka-1 df -h.")
    host = rest.pop(0).rpartition("@")[2]
    return host, rest
