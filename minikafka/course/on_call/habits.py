"""Normalizes what people usually type to the one form that usage lines have: without
the address of the cluster, with options in their long form, and for kubectl with one
name for each kind of thing.
"""

from collections.abc import Collection

from minikafka.course.on_call.usage import Refused

SERVER = ("--bootstrap-server", "--bootstrap-controller")
NAMESPACE = ("-n", "--namespace")
# by program, the long form of short options
SHORT = {
    "journalctl": {
        "-n": "--lines",
        "-u": "--unit",
    },
    "kubectl": {
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
ONE_PROGRAM = "One program a line: there is no shell here that runs what is behind |."
NO_NAMESPACE = (
    "There is nothing in the namespace {!r}: the shop's programs are in default, so"
    " leave {} out."
)
NO_KUBECTL = {
    "top": (
        "error: Metrics API not available. Nothing measures the CPU and the memory of"
        " pods here: kubectl get pods and kubectl describe pod POD tell how they"
        " live, and metrics what Kafka measures."
    ),
    "exec": "There is no shell in a pod: kubectl logs POD shows what it says.",
    "edit": "There is no editor: kubectl set env and kubectl scale change a program.",
    "apply": "There are no files: kubectl set env and kubectl scale change a program.",
}
DEPLOYMENT = ("deploy", "deployment", "deployments", "deployment.apps")
POD = ("po", "pod", "pods")
EVENT = ("ev", "event", "events")
# kubectl's words before which a deployment's name may be separate: scale deployment APP
PARTS_NAMES = ("scale", "rollout", "set")


def plain(program: str, words: list[str], options: Collection[str]) -> list[str]:
    """The words of a line in that form. options: those that the program knows. Raises
    Refused for what is never meant here.
    """
    if "|" in words:
        raise Refused(ONE_PROGRAM)
    kept = _without(SERVER, words)
    for word in kept:
        if word in FOLLOWS:
            raise Refused(WOULD_FOLLOW.format(word))
    if program == "kubectl":
        kept = _kubectl(kept)
    short = SHORT.get(program, {})
    return [word if word in options else short.get(word, word) for word in kept]


def _without(names: Collection[str], words: list[str]) -> list[str]:
    """The words without these options and their values."""
    kept = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name not in names:
            kept.append(word)
        elif not equals:
            next(rest, None)
    return kept


def _kubectl(words: list[str]) -> list[str]:
    """The words without their namespace, each thing by its full name."""
    _check_namespace(words)
    verb, *rest = _without(NAMESPACE, words) or [""]
    if verb in NO_KUBECTL:
        raise Refused(NO_KUBECTL[verb])
    if verb == "get":
        return [verb, *map(_plural, rest)]
    found = [verb]
    while rest:
        word = rest.pop(0)
        kind, slash, name = word.partition("/")
        is_apart = verb in PARTS_NAMES and rest and not rest[0].startswith("-")
        if kind in DEPLOYMENT and slash:
            found.append(f"deployment/{name}")
        elif kind in DEPLOYMENT and is_apart:
            found.append(f"deployment/{rest.pop(0)}")
        elif kind in POD and slash:
            found += [name] if verb == "logs" else ["pod", name]
        else:
            found.append("pod" if word in POD else word)
    return found


def _plural(word: str) -> str:
    """The name of a kind of thing as `get` uses it."""
    for kinds, name in ((DEPLOYMENT, "deployments"), (POD, "pods"), (EVENT, "events")):
        if word in kinds:
            return name
    return word


def _check_namespace(words: list[str]) -> None:
    """Refuse another one than default."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in NAMESPACE:
            asked = value if equals else "".join(words[at + 1 : at + 2])
            if asked != "default":
                raise Refused(NO_NAMESPACE.format(asked, name))
