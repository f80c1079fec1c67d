"""What may stand behind | in a line: grep, head, tail, wc, sort, uniq, cut, awk, and
what shows its input as it is.
"""

import json
import re
from collections.abc import Callable
from itertools import groupby

from minikafka.course.on_call.certificates import by_pem
from minikafka.course.on_call.usage import Refused, number_in
from minikafka.course.on_call.x509 import NOT_READ, OPTIONS, x509_lines

Filter = Callable[[list[str]], list[str]]

AS_IT_IS = ("cat", "column", "less", "more")
CONTEXT = {"-A": 1, "-B": 2, "-C": 3}  # bit 1: lines after, bit 2: lines before
GREP_FLAGS = set("ivcnowxEFPshHaq")
PRINTS = re.compile(r"\{\s*print\s*(.*?)\s*;?\s*\}")
COLUMN = re.compile(r"\$(NF|\d+)")
BASIC = re.compile(
    r"\\[(){}|+?]|[(){}|+?]"
)  # which grep without -E reads the other way
DEFAULT_LINES = 10
MOST_LINES = 1_000_000
NOT_THERE = "There is no {!r} behind |: {}"
INSTEAD = {
    "sed": (
        "grep picks lines, tail -n +2 leaves the first out, and awk '{print $1}' or"
        " cut -d: -f2 picks a part of each."
    ),
    "tr": (
        "awk '{print $6}' picks a column however many spaces are before it, and cut -d,"
        " -f1 what is before a comma."
    ),
    "tee": (
        "nothing can be written to a file here. Leave it out; the output stays in the"
        " cell."
    ),
    "xargs": "one command per line. Type one after the other.",
}


def read(words: list[str]) -> Filter:
    """The filter that a command behind | is. Raises Refused."""
    program, *rest = words
    name = program.rpartition("/")[2]
    if name in AS_IT_IS:
        return list
    if name not in FILTERS:
        known = ", ".join(sorted({*FILTERS, *AS_IT_IS}))
        others = f"there are {known}. For more, run the line without it."
        raise Refused(NOT_THERE.format(name, INSTEAD.get(name, others)))
    return FILTERS[name](rest)


def _letters(word: str) -> bool:
    """Whether a word is one or more short options: -iv."""
    return bool(re.fullmatch(r"-[A-Za-z]+", word))


# -- grep


def _grep(words: list[str], extended: bool = False) -> Filter:
    """grep [-ivcnowEF] [-A N] [-B N] [-C N] PATTERN"""
    flags: set[str] = {"E"} if extended else set()
    before = after = 0
    most = MOST_LINES
    patterns = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        short = word[:2]
        if short in CONTEXT or short == "-m":
            number = _number("grep", word[2:] or (rest.pop(0) if rest else ""))
            if short == "-m":
                most = number
                continue
            after = number if CONTEXT[short] & 1 else after
            before = number if CONTEXT[short] & 2 else before
        elif word in ("-e", "--regexp") and rest:
            patterns.append(rest.pop(0))
        elif word.startswith("--color") or word == "--line-buffered":
            continue
        elif _letters(word) and set(word[1:]) <= GREP_FLAGS:
            flags |= set(word[1:])
        elif word.startswith("-") and len(word) > 1:
            raise Refused(
                f"grep has no {word} here: it has -i, -v, -c, -n, -o, -w, -E,"
                " -A, -B and -C."
            )
        else:
            patterns.append(word)
    if not patterns:
        raise Refused("grep needs a pattern, such as grep orders.")
    found = _pattern(patterns, flags)
    wanted = "v" not in flags

    def keep(lines: list[str]) -> list[str]:
        hits = [
            at for at, line in enumerate(lines) if bool(found.search(line)) == wanted
        ]
        hits = hits[:most]
        if "c" in flags:
            return [str(len(hits))]
        if "q" in flags:
            return []
        if "o" in flags:
            return [each[0] for at in hits for each in found.finditer(lines[at])]
        shown = set()
        for at in hits:
            shown |= set(range(max(at - before, 0), min(at + after + 1, len(lines))))
        number = "n" in flags
        return [
            f"{at + 1}:{lines[at]}" if number else lines[at] for at in sorted(shown)
        ]

    return keep


def _egrep(words: list[str]) -> Filter:
    """grep -E"""
    return _grep(words, extended=True)


def _pattern(patterns: list[str], flags: set[str]) -> re.Pattern[str]:
    """The patterns of a grep as one. Raises Refused."""
    texts = []
    for pattern in patterns:
        if "F" in flags:
            pattern = re.escape(pattern)
        elif not flags & {"E", "P"}:
            pattern = BASIC.sub(_the_other_way, pattern)
        texts.append(f"(?:{pattern})")
    text = "|".join(texts)
    if "w" in flags:
        text = rf"\b(?:{text})\b"
    if "x" in flags:
        text = rf"^(?:{text})$"
    try:
        return re.compile(text, re.IGNORECASE if "i" in flags else 0)
    except re.error as error:
        raise Refused(
            f"grep can't read the pattern {patterns[0]!r}: {error}."
        ) from None


def _the_other_way(found: re.Match[str]) -> str:
    """In a basic pattern \\| divides, and | is a sign like others."""
    sign = found[0]
    return sign[1] if len(sign) == 2 else f"\\{sign}"


# -- parts of the lines


def _head(words: list[str]) -> Filter:
    """head [-n N]"""
    count, _ = _count("head", words)
    return lambda lines: lines[:count]


def _tail(words: list[str]) -> Filter:
    """tail [-n N], tail -n +N"""
    if "-f" in words:
        raise Refused("tail -f would go on: incident.wait(minutes=1), then ask again.")
    count, from_there = _count("tail", words)
    if from_there:
        return lambda lines: lines[max(count - 1, 0) :]
    return lambda lines: lines[-count:] if count else []


def _count(program: str, words: list[str]) -> tuple[int, bool]:
    """N of -n N, -nN or -N, and whether it is +N. Raises Refused."""
    text = "".join(words)
    if not text:
        return DEFAULT_LINES, False
    number = text.removeprefix("-").removeprefix("n").removeprefix("=")
    return _number(program, number.removeprefix("+")), number.startswith("+")


def _number(program: str, text: str) -> int:
    """A number of lines. Raises Refused."""
    number = number_in(text)
    if number is None or number < 0:
        raise Refused(f"{program} wants a number of lines here, not {text!r}.")
    return number


def _wc(words: list[str]) -> Filter:
    """wc -l"""
    if words != ["-l"]:
        raise Refused("wc counts lines here: wc -l.")
    return lambda lines: [str(len(lines))]


def _sort(words: list[str]) -> Filter:
    """sort [-n] [-r] [-u] [-k N]"""
    flags: set[str] = set()
    column = 0
    rest = list(words)
    while rest:
        word = rest.pop(0)
        key = re.fullmatch(r"-k\s*(\d+)?(?:,\d+)?([nrh]*)", word)
        if key:
            text = key[1] or (rest.pop(0) if rest else "")
            digits = re.match(r"(\d+)(?:,\d+)?([nrh]*)", text)
            if not digits:
                raise Refused("sort -k takes the number of a column: sort -k 6.")
            column = int(digits[1])
            flags |= set(key[2]) | set(digits[2])
        elif _letters(word) and set(word[1:]) <= set("nruh"):
            flags |= set(word[1:])
        else:
            raise Refused(f"sort has -n, -h, -r, -u and -k N here, not {word}.")

    def in_order(lines: list[str]) -> list[str]:
        chosen = list(dict.fromkeys(lines)) if "u" in flags else lines

        def key(line: str) -> tuple[float, str]:
            text = line
            if column:
                text = "".join(line.split()[column - 1 : column])
            return (_size(text), text) if flags & {"n", "h"} else (0, text)

        return sorted(chosen, key=key, reverse="r" in flags)

    return in_order


def _size(text: str) -> float:
    """The number that a text begins with: 12, or 1.2M."""
    found = re.match(r"\s*(-?\d+(?:\.\d+)?)([KMG]?)", text)
    if not found:
        return 0.0
    return float(found[1]) * 1024.0 ** " KMG".find(found[2] or " ")


def _uniq(words: list[str]) -> Filter:
    """uniq [-c]"""
    if words not in ([], ["-c"]):
        raise Refused("uniq takes -c here, or nothing.")

    def once(lines: list[str]) -> list[str]:
        if not words:
            return [line for line, _ in groupby(lines)]
        return [f"{len(list(same)):7} {line}" for line, same in groupby(lines)]

    return once


def _jq(words: list[str]) -> Filter:
    """jq . shows JSON on several lines."""
    if [word for word in words if word not in ("-r", "-S", "-C")] not in ([], ["."]):
        raise Refused(_JQ)

    def opened(lines: list[str]) -> list[str]:
        if not lines:
            return []
        try:
            found = json.loads("\n".join(lines))
        except ValueError:
            return [_NO_JSON]
        return json.dumps(found, indent=2).splitlines()

    return opened


_ONLY = (
    "only kafka-log-dirs prints JSON, on its last line: kafka-log-dirs --describe"
    " | grep '^{' | jq ."
)
_JQ = f"Here jq shows everything, and {_ONLY}"
_NO_JSON = f"jq: parse error: Invalid literal at line 1. Here {_ONLY}"


# -- cut and awk: parts of a line


def _cut(words: list[str]) -> Filter:
    """cut -d C -f N, cut -c M-N"""
    text = " ".join(words)
    columns = re.fullmatch(r"-c\s?(\d*)-(\d*)", text)
    if columns:
        first, last = int(columns[1] or 1) - 1, int(columns[2] or MOST_LINES)
        return lambda lines: [line[max(first, 0) : last] for line in lines]
    found = re.fullmatch(r"-d\s?(.) -f\s?(\d+)|-f\s?(\d+)(?: -d\s?(.))?", text)
    if not found:
        raise Refused("cut has two forms here: cut -d: -f2 and cut -c1-80.")
    sign = found[1] or found[4] or "\t"
    field = int(found[2] or found[3])

    def parts(lines: list[str]) -> list[str]:
        cells = [line.split(sign) for line in lines]
        return [
            (each if len(each) == 1 else each[field - 1 : field] or [""])[0]
            for each in cells
        ]

    return parts


def _openssl(words: list[str]) -> Filter:
    """openssl x509 -noout -enddate: of the certificate in its input."""
    first, *asked = words or [""]
    if first != "x509":
        raise Refused(
            "Behind | openssl reads a certificate: openssl x509 -noout -dates."
        )
    values = {"subjectAltName"}
    for word in asked:
        if word not in OPTIONS and word not in values:
            known = ", ".join(OPTIONS)
            raise Refused(f"openssl x509 has no {word} behind |: it has {known}.")

    def shown(lines: list[str]) -> list[str]:
        found = by_pem("\n".join(lines))
        return NOT_READ.splitlines() if found is None else x509_lines(found, asked)

    return shown


def _awk(words: list[str]) -> Filter:
    """awk '{print $1, $6}', with a pattern before it: '/orders/ {print $6}'."""
    if len(words) != 1:
        raise Refused(_AWK)
    found = re.fullmatch(r"\s*(?:/(.*)/)?\s*(\{.*\})?\s*", words[0])
    prints = PRINTS.fullmatch(found[2]) if found and found[2] else None
    if not found or (found[2] and not prints):
        raise Refused(_AWK)
    wanted = _pattern([found[1] or ""], {"E"})
    cells = []
    for part in (prints[1] if prints else "").split(","):
        column = COLUMN.fullmatch(part.strip())
        if part.strip() and not column:
            raise Refused(_AWK)
        if column:
            cells.append(column[1])

    def picked(line: str) -> str:
        words = line.split()
        if not cells or cells == ["0"]:
            return line
        found = []
        for cell in cells:
            at = len(words) if cell == "NF" else int(cell)
            found.append("".join(words[at - 1 : at]) if at else line)
        return " ".join(found)

    return lambda lines: [picked(line) for line in lines if wanted.search(line)]


_AWK = (
    "awk prints columns here: awk '{print $1, $6}', or awk '/orders/ {print $6}'."
    " | tail -n +2 leaves the head out, | grep -c commit counts lines, and"
    " | sort | uniq -c equal ones. metrics has the whole lag of each group."
)

FILTERS: dict[str, Callable[[list[str]], Filter]] = {
    "grep": _grep,
    "egrep": _egrep,
    "head": _head,
    "tail": _tail,
    "jq": _jq,
    "wc": _wc,
    "sort": _sort,
    "uniq": _uniq,
    "cut": _cut,
    "awk": _awk,
    "openssl": _openssl,
}
