"""From the subject of a client's certificate to its principal, as Apache Kafka's
DefaultKafkaPrincipalBuilder does with ssl.principal.mapping.rules (KIP-371).

The subject is written as in RFC 2253, `CN=alice,OU=shop,O=Example,C=DE`: the most special
part first. Each rule is tried in turn: DEFAULT takes the whole subject, and
`RULE:PATTERN/REPLACEMENT/` (with L or U for small or capital letters) what it makes of it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

RULE = re.compile(r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?)")
BETWEEN_RULES = re.compile(r"\s*,?\s*")
# RFC 2253, section 2.3
KEYWORDS = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
ESCAPED = re.compile(r'([,+"\\<>;])|^([ #])|( )$')
CASES: dict[str, Callable[[str], str]] = {"": str, "L": str.lower, "U": str.upper}
JAVA_GROUP = re.compile(r"\\(.)|\$(\d)|(\\)")

Subject = Iterable[Iterable[tuple[str, str]]]  # as Python's ssl has it
Certificate = Mapping[str, Any]  # as well


class Rule(NamedTuple):
    """pattern: None for DEFAULT. case: a key of CASES."""

    pattern: re.Pattern[str] | None
    replacement: str
    case: str


def rules_in(text: str) -> list[Rule]:
    """The rules of ssl.principal.mapping.rules. Errors: INVALID_CONFIG."""
    rules = []
    at = 0
    while at < len(text):
        match = RULE.match(text, at)
        if match is None:
            why = f"Invalid rule: {printable(text[at:])}"
            raise KafkaError(Error.INVALID_CONFIG, why)
        if match[1]:
            rules.append(Rule(None, "", ""))
        else:
            rules.append(_rule(match))
        at = match.end()
        between = BETWEEN_RULES.match(text, at)
        assert between is not None, "it may be empty"
        at = between.end()
    return rules


def _rule(match: re.Match[str]) -> Rule:
    try:
        pattern = re.compile(match[2])
    except (re.error, OverflowError, RecursionError):
        why = f"Invalid rule: {printable(match[0])}"
        raise KafkaError(Error.INVALID_CONFIG, why) from None

    def group(found: re.Match[str]) -> str:
        if found[1] is not None:
            return "\\\\" if found[1] == "\\" else found[1]
        if found[2] is not None and int(found[2]) <= pattern.groups:
            return f"\\g<{found[2]}>"
        return found[0].replace("\\", "\\\\")

    # Java says $1 where Python says \g<1>
    return Rule(pattern, JAVA_GROUP.sub(group, match[3]), match[4])


def name_by(rules: Iterable[Rule], subject: str) -> str | None:
    """The name that the first rule gives that fits; None if none does."""
    for rule in rules:
        if rule.pattern is None:
            return subject
        match = rule.pattern.fullmatch(subject)
        if match is not None:
            return CASES[rule.case](match.expand(rule.replacement))
    return None


def distinguished_name(subject: Subject) -> str:
    """A subject as RFC 2253 writes it."""
    parts = []
    for names in subject:
        told = []
        for kind, value in names:
            escaped = ESCAPED.sub(lambda match: f"\\{match[0]}", value)
            told.append(f"{KEYWORDS.get(kind, kind)}={escaped}")
        parts.append("+".join(told))
    return ",".join(reversed(parts))


def changed_names(
    before: Certificate, after: Certificate, may_change_dn: bool, may_lack_san: bool
) -> str | None:
    """What keeps a broker's certificate from taking another one's place while it runs,
    since clients know the broker by its names (SslFactory.CertificateEntries); None if
    nothing does. may_change_dn, may_lack_san: ssl.allow.dn.changes and
    ssl.allow.san.changes.
    """
    subjects = before["subject"], after["subject"]
    if not may_change_dn and _folded(subjects[0]) != _folded(subjects[1]):
        was, now = (printable(distinguished_name(one)) for one in subjects)
        return (
            "Keystore DistinguishedName does not match:"
            f" existing={{DN={was}}}, new={{DN={now}}}"
        )
    old, new = (one.get("subjectAltName", ()) for one in (before, after))
    if not may_lack_san and not set(old) <= set(new):
        return (
            "Keystore SubjectAltNames do not match:"
            f" existing={{SAN={_listed(old)}}}, new={{SAN={_listed(new)}}}"
        )
    return None


def _folded(subject: Subject) -> list[list[tuple[str, str]]]:
    """Subjects are the same that differ in small and capital letters, or in spaces."""
    return [
        [(kind, " ".join(value.split()).casefold()) for kind, value in names]
        for names in subject
    ]


def _listed(names: Iterable[tuple[str, str]]) -> str:
    return printable("[" + ", ".join(f"{kind}:{name}" for kind, name in names) + "]")
