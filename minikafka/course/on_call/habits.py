"""Normalizes what people usually type to the one form that usage lines have: without
the address of the cluster, with options in their long form, for kubectl with one name
for each kind of thing, and for a machine's programs with the machine.
"""

import re
from collections.abc import Collection

from minikafka.course.on_call import elsewhere
from minikafka.course.on_call.certificates import OF_KAFKA
from minikafka.course.on_call.usage import Refused

# options with a value that make no difference here, by how programs' names begin
WITH_VALUE = {
    "kafka-": (
        "--bootstrap-server",
        "--bootstrap-controller",
        "--command-config",
        "--consumer.config",
        "--consumer-property",
        "--command-property",
        "--key-deserializer",
        "--value-deserializer",
        "--timeout",
    ),
    "kubectl": (
        "-c",
        "--container",
        "--sort-by",
        "--context",
        "--timeout",
        "--grace-period",
        "--max-log-requests",
        "--revision",
    ),
    "journalctl": ("-o", "--output"),
    "du": ("-d", "--max-depth"),
    "nc": ("-w",),
    "openssl": ("-servername", "-verify_hostname", "-verify", "-nameopt", "-inform"),
}
# and without a value
WITHOUT_VALUE = {
    "kafka-": ("--skip-message-on-error",),
    "kubectl": (
        "-A",
        "--all-namespaces",
        "--all-containers",
        "--prefix",
        "--timestamps",
        "--no-headers",
        "--show-labels",
        "--overwrite",
        "--force",
        "--now",
    ),
    "journalctl": ("-e", "-x", "-q", "-a", "--no-pager", "--pager-end", "--catalog"),
    "systemctl": ("--no-pager", "-l", "--full"),
    "date": ("-u", "--utc"),
    "df": ("-T", "-H", "-i", "-l", "-k", "-P"),
    "du": ("-s", "-c", "-a", "-x", "-k"),
    "ls": ("-a", "-h", "-t", "-r", "-A"),
    "nc": ("-n",),
    "openssl": (
        "-showcerts",
        "-verify_return_error",
        "-tls1_2",
        "-tls1_3",
        "-sha256",
        "-status",
    ),
}
NAMESPACE = ("-n", "--namespace")
# by program, the long form of short options
SHORT = {
    "journalctl": {
        "-n": "--lines",
        "-u": "--unit",
        "-S": "--since",
        "-U": "--until",
        "-g": "--grep",
        "-r": "--reverse",
    },
    "kubectl": {
        "-l": "--selector",
        "-o": "--output",
        "-p": "--previous",
    },
    "lvextend": {
        "-L": "--size",
        "-r": "--resizefs",
    },
}
FOLLOWS = {"-f", "--follow", "-w", "--watch"}
WOULD_FOLLOW = (
    "{} would go on printing while time passes, and here no time passes between your"
    " lines. incident.wait(minutes=1), then ask again without it."
)
NO_NAMESPACE = (
    "There is nothing in the namespace {!r}: the shop's programs are in default, so"
    " leave {} out."
)
NO_FORM = (
    "-o takes wide here, not {!r}. Leave it out: | awk '{{print $1}}' after the line"
    " picks a column, and kubectl describe shows the rest."
)
NO_FIELDS = "Leave --field-selector out, and put {} after the line."
ONE_KIND = (
    "One kind of thing at a time: kubectl get pods, then kubectl get deployments."
)
NO_DELETE = (
    "Nobody deletes a program at night: kubectl scale deployment/{} --replicas 0 stops"
    " it."
)
OTHER_SET = (
    "A program's image and its limits are fixed: kubectl set env changes the rest."
)
DEPLOYMENT = ("deploy", "deployment", "deployments", "deployment.apps")
POD = ("po", "pod", "pods")
GOT = {
    **dict.fromkeys(DEPLOYMENT, "deployments"),
    **dict.fromkeys(POD, "pods"),
    **dict.fromkeys(("ev", "event", "events"), "events"),
    **dict.fromkeys(("no", "node", "nodes"), "nodes"),
    "all": "all",
}
# kubectl's words before which a deployment's name may be separate: scale deployment APP
PARTS_NAMES = ("scale", "rollout", "set", "describe", "logs")
OF_MACHINES = ("df", "du", "journalctl", "systemctl", "lvextend")
IN_ONE_WORD = ("df", "du", "journalctl", "ls", "lvextend", "nc")  # -xeu is -x -e -u
WITH_HOST = ("ls", "nc", "openssl")  # on a machine that ssh names
VOLUMES = "/dev/data/"
UNITS = ("kafka", "kafka.service")


def plain(
    program: str, words: list[str], options: Collection[str], host: str = ""
) -> list[str]:
    """The words of a line in that form. options: those that the program knows. host:
    the machine on which it runs. Raises Refused for what is never meant here.
    """
    kept = words
    if program in IN_ONE_WORD:
        kept = _parted(kept, options)
    kept = _without(_meant(WITH_VALUE, program, options), kept, has_value=True)
    kept = _without(_meant(WITHOUT_VALUE, program, options), kept, has_value=False)
    if program == "kubectl" and kept and kept[0] in elsewhere.KUBECTL:
        raise Refused(elsewhere.KUBECTL[kept[0]])
    for word in kept:
        if word in FOLLOWS:
            raise Refused(WOULD_FOLLOW.format(word))
    if program == "kubectl":
        kept = _kubectl(kept)
    short = SHORT.get(program, {})
    kept = [_long(word, options, short) for word in kept]
    if program == "kubectl":
        _check_form(kept)
    if program in OF_MACHINES:
        kept = _on(host, kept)
    if program == "ls" and not any(word.startswith(OF_KAFKA) for word in kept):
        raise Refused(elsewhere.ONLY_CERTIFICATES)
    if program in WITH_HOST and host:
        kept = [*kept, host]
    return kept


def _long(word: str, options: Collection[str], short: dict[str, str]) -> str:
    """An option in its long form; -n50 is --lines=50."""
    if word in options or not word.startswith("-"):
        return word
    if word in short:
        return short[word]
    name, equals, value = word.partition("=")
    if equals and name in short:
        return f"{short[name]}={value}"
    if word[:2] in short and word[1] != "-":
        return f"{short[word[:2]]}={word[2:]}"
    return word


def _parted(words: list[str], options: Collection[str]) -> list[str]:
    """The words with each short option by itself."""
    found: list[str] = []
    for word in words:
        is_many = re.fullmatch(r"-[A-Za-z]{2,}", word) and word not in options
        found += [f"-{letter}" for letter in word[1:]] if is_many else [word]
    return found


def _meant(
    table: dict[str, tuple[str, ...]], program: str, options: Collection[str]
) -> set[str]:
    """The options of a table that this program has, without those that matter."""
    found: set[str] = set()
    for begins, names in table.items():
        if program.startswith(begins):
            found |= set(names)
    return found - set(options)


def _without(names: Collection[str], words: list[str], has_value: bool) -> list[str]:
    """The words without these options, and their values."""
    kept = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in names:
            kept.append(word)
        elif has_value and not equals:
            next(rest, None)
    return kept


# -- kubectl


def _kubectl(words: list[str]) -> list[str]:
    """The words without their namespace, each thing by its full name."""
    _check_namespace(words)
    _check_fields(words)
    verb, *rest = _without(NAMESPACE, words, has_value=True) or [""]
    if verb == "get":
        return [verb, *_got(rest)]
    if verb == "set" and rest and rest[0] != "env":
        raise Refused(OTHER_SET)
    if verb == "describe" and rest and not _is_described(rest[0]):
        raise Refused(elsewhere.DESCRIBED.format(rest[0]))
    found = [verb]
    while rest:
        word = rest.pop(0)
        kind, slash, name = word.partition("/")
        is_apart = verb in PARTS_NAMES and rest and not rest[0].startswith("-")
        if kind in DEPLOYMENT and verb == "delete":
            raise Refused(NO_DELETE.format(name or "".join(rest[:1])))
        if kind in DEPLOYMENT and slash:
            found.append(f"deployment/{name}")
        elif kind in DEPLOYMENT and is_apart:
            found.append(f"deployment/{rest.pop(0)}")
        elif kind in POD and slash:
            found += [name] if verb == "logs" else ["pod", name]
        else:
            found.append("pod" if word in POD else word)
    return found


def _is_described(word: str) -> bool:
    """Whether it names a kind of thing that can be described."""
    kind, _, _ = word.partition("/")
    return kind in DEPLOYMENT or kind in POD


def _got(words: list[str]) -> list[str]:
    """What `get` gets, by the name that it has there. Raises Refused."""
    if not words:
        raise Refused("Get what? kubectl get pods, deployments, events or nodes.")
    first, *rest = words
    if first.startswith("-"):
        return words
    if "," in first:
        raise Refused(ONE_KIND)
    kind, slash, name = first.partition("/")
    if kind not in GOT:
        raise Refused(elsewhere.KINDS.format(kind))
    return [GOT[kind], *([name] if slash else []), *rest]


def _check_namespace(words: list[str]) -> None:
    """Refuse another one than default."""
    for name, asked in _values(NAMESPACE, words):
        if asked != "default":
            raise Refused(NO_NAMESPACE.format(asked, name))


def _check_form(words: list[str]) -> None:
    """Refuse JSON and the like."""
    for _, form in _values(("--output",), words):
        if form not in ("", "wide"):
            raise Refused(NO_FORM.format(form))


def _check_fields(words: list[str]) -> None:
    """Refuse a selector of fields, and say which greps select the same lines."""
    for _, selector in _values(("--field-selector",), words):
        greps = []
        for field in selector.split(","):
            name, _, value = field.rpartition("=")
            wide = "-o wide " if "nodeName" in name else ""
            inverted = "-v " if name.endswith("!") else ""
            greps.append(f"{wide}| grep {inverted}{value or 'Running'}")
        raise Refused(NO_FIELDS.format(" ".join(greps)))


def _values(names: Collection[str], words: list[str]) -> list[tuple[str, str]]:
    """These options in a line, each with its value; "" where it has none."""
    found = []
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            found.append((name, value if equals else "".join(words[at + 1 : at + 2])))
    return found


# -- machines


def _on(host: str, words: list[str]) -> list[str]:
    """The words without paths, and with the machine where they name none."""
    kept = []
    for word in words:
        if word.startswith("/") and not word.startswith(VOLUMES):
            continue
        kept.append(host if host and word in UNITS else word)
    if host and not any(word.endswith(host) for word in kept):
        kept.append(host)
    return kept
