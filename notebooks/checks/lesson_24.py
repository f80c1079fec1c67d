"""Lesson 24, doors and keys: what a right answer does."""

import base64
import hashlib
import hmac
from functools import lru_cache
from typing import NamedTuple

from minikafka.broker.mechanisms import (
    NotAuthenticated,
    Scram,
    credential_of,
)
from minikafka.clock import Now
from minikafka.cluster.users import UserMechanism
from minikafka.course.experiments.lesson_24_logins import MECHANISM
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, a_class, short
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a third broker shows a copy of the first one's certificate",
        right=2,
        why=(
            "2. The first connection and Metadata are fine. Broker 3's name isn't in"
            " the certificate that it shows, so the program never reaches the"
            " partitions that it leads."
        ),
    ),
    Question(
        "four times as many iterations",
        right=3,
        why=(
            "3. All of them are between a password and its keys: the thief does"
            " them for every guess, the client for every login. The broker has the keys"
            " already, and computes two HMACs."
        ),
    ),
    Question(
        "one ACL for alice, and one about an address",
        right=1,
        why=(
            "1. The deny is about everybody at this address, and about all names that"
            " begin with ord. A deny wins over every allow, however exact that one is."
        ),
    ),
    Question(
        "a second program with another program's group",
        right=3,
        why=(
            "3. Read on a group is the right to be a member of it, and members get"
            " partitions. So alice's program takes some from the one that was there."
        ),
        lesson="05",
    ),
    Question(
        "what a listener with SASL says before the login",
        right=2,
        why=(
            "2. A client asks ApiVersions before it logs in, to learn how it may do"
            " that. After any other request, Metadata too, the broker hangs up."
        ),
        lesson="12",
    ),
)

# --- 1: a login by SCRAM ---

NUMBER = 1  # of the mechanism
FEWEST = 4096
HASH = "sha256"
LETTERS = "abcXYZ019"
ODD = "=,"
IN_NONCES = "abcXYZ019=%$)/+"
PASSWORDS = ("pencil", "", " ", "correct horse", "a,b=c", "Zoë", "密码", "x" * 100)
SCENARIOS = 100  # each is some thousand hashes


class Case(NamedTuple):
    """A login. added: the broker's part of the nonce. answer: what the broker says, if
    it isn't what it should.
    """

    user: str
    password: str
    nonce: str
    added: str
    salt: bytes
    iterations: int
    answer: str = ""

    @property
    def challenge(self):
        if self.answer:
            return self.answer
        return challenge(self.nonce + self.added, self.salt, self.iterations)


def challenge(nonce, salt, iterations):
    return f"r={nonce},s={base64.b64encode(salt).decode()},i={iterations}"


# RFC 7677, section 3
EXAMPLE = Case(
    "user",
    "pencil",
    "rOprNGfwEbeRWgbNEkqO",
    "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="),
    4096,
)
OTHER = Case("somebody", "else", "now", "-broker", b"more salt", FEWEST)
ALICE = Case("alice", "correct horse", "till-7", "-broker", b"salt of 16 bytes", 4096)

NAMES = {
    "the example": EXAMPLE,
    "a comma": ALICE._replace(user="a,b"),
    "an equals sign": ALICE._replace(user="a=b"),
    "both": ALICE._replace(user="=2C,=3D"),
}
PROOFS = {
    "the example": EXAMPLE,
    "alice": ALICE,
    "a user with a comma": ALICE._replace(user="a,b"),
    "a nonce with equals signs": ALICE._replace(nonce="a=r=b=", added="==c="),
    "10,000 iterations": ALICE._replace(iterations=10_000),
    "a salt of one byte": ALICE._replace(salt=b"\xff"),
    "a password with an umlaut": ALICE._replace(password="Zoë"),
    "a long password": ALICE._replace(password=100 * "x"),
    "spaces around a password": ALICE._replace(password=" x "),
}
FALSE = {
    "another nonce": challenge("somebody-else", ALICE.salt, FEWEST),
    "the nonce without its last letter": challenge("till-", ALICE.salt, FEWEST),
    "the nonce further behind": challenge("x-till-7-broker", ALICE.salt, FEWEST),
    "capital letters": challenge("TILL-7-broker", ALICE.salt, FEWEST),
    "4095 iterations": challenge("till-7-broker", ALICE.salt, FEWEST - 1),
    "one iteration": challenge("till-7-broker", ALICE.salt, 1),
}


class Judged(NamedTuple):
    """A login, and what the broker says in the end. how: which verdict it is."""

    case: Case
    how: str


RIGHT = "the broker's signature"
VERDICTS = (
    RIGHT,
    "the signature of an earlier login",
    "the signature of a broker that knows another password",
    "the proof, sent back",
    "the signature without its last letter",
    "no signature",
    "an error",
)

HINTS = (
    (
        "Let first keep what it says without `n,,`, because both sides sign that."
        " For final, take the challenge apart at its commas, and each part at its"
        " first equals sign: a nonce and a salt may have more of them."
    ),
    (
        "HMAC(key, text) is hmac.digest(key, text.encode(), 'sha256'). Keys and the"
        " salt are bytes: base64.b64decode turns the salt into bytes, and"
        " b64encode(...).decode() turns the proof into text."
    ),
    (
        "bytes(a ^ b for a, b in zip(one, other)) XORs the two. What both"
        " sign has three parts with commas between them: the first message without `n,,`"
        " and the challenge as it came, and c=biws,r=... of the final one. Keep it,"
        " with the salted password, for trusts."
    ),
)


def exercise_1():
    """A login in four rungs: the name; the proof; false challenges; the broker."""
    return Exercise(
        name="Scram",
        right="your client logs in, and isn't fooled by a false broker.",
        hints=HINTS,
        takes=a_class,
        rungs=(
            Rung(
                holds="the first message says who logs in",
                broken=another_first,
                cases=NAMES,
                scenario=a_case,
                describe=as_made,
                needs=("first",),
            ),
            Rung(
                holds="the broker accepts the proof",
                broken=another_final,
                cases=PROOFS,
                scenario=a_case,
                scenarios=SCENARIOS,
                describe=as_challenged,
                needs=("final",),
            ),
            Rung(
                holds="false challenges and few iterations are refused",
                broken=not_refused,
                cases={
                    name: ALICE._replace(answer=answer)
                    for name, answer in FALSE.items()
                },
                scenario=a_false_case,
                describe=as_challenged,
                needs=("final",),
            ),
            Rung(
                holds="the broker has to show that it knows the password, too",
                broken=misjudged,
                cases={how: Judged(EXAMPLE, how) for how in VERDICTS},
                scenario=lambda source: Judged(
                    a_case(source), source.choice((RIGHT, *VERDICTS))
                ),
                scenarios=SCENARIOS,
                describe=lambda judged: f"{judged.how}, {as_challenged(judged.case)}",
                needs=("trusts",),
            ),
        ),
    )


def drawn(source, letters, least, most):
    return "".join(source.choice(letters) for _ in range(source.randint(least, most)))


def a_case(source):
    return Case(
        user=drawn(source, LETTERS + source.choice(("", ODD)), 1, 9),
        password=source.choice(PASSWORDS) + drawn(source, LETTERS, 1, 5),
        nonce=drawn(source, IN_NONCES, 1, 20),
        added=drawn(source, IN_NONCES, 1, 20),
        salt=source.randbytes(source.randint(1, 24)),
        iterations=FEWEST + source.choice((0, 0, 1, 904)),
    )


def a_false_case(source):
    case = a_case(source)
    nonce, iterations = case.nonce + case.added, case.iterations
    if source.random() < 0.5:
        iterations = source.choice((FEWEST - 1, 1000, 999, 2, 1))
    else:
        nonce = source.choice((f"!{nonce}", case.nonce[:-1] + "!", case.added + "!"))
    return case._replace(answer=challenge(nonce, case.salt, iterations))


def as_made(case):
    return f"Scram({case.user!r}, {case.password!r}, {case.nonce!r})"


def as_challenged(case):
    return f"{as_made(case)}, challenge {case.challenge!r}"


# --- the broker's side, by the broker's own code


@lru_cache(maxsize=1000)
def entry(password, salt, iterations):
    return credential_of(MECHANISM, password, salt, iterations)


def saslname(user):
    return "".join({"=": "=3D", ",": "=2C"}.get(letter, letter) for letter in user)


def true_first(case):
    return f"n,,n={saslname(case.user)},r={case.nonce}"


class Side:
    """The broker's side of one login. signature: what it says in the end."""

    def __init__(self, case):
        credential = entry(case.password, case.salt, case.iterations)
        users = {UserMechanism(case.user, NUMBER): credential}
        self._exchange = Scram(MECHANISM, users, case.added)
        self.challenge = self._heard(true_first(case))

    def _heard(self, text):
        return self._exchange.answer(text.encode(), Now(0, 0)).decode()

    def verdict(self, final):
        """None if it isn't accepted."""
        try:
            return self._heard(final)
        except NotAuthenticated:
            return None


def begun(answer, case):
    """The learner's client, after its first message. Another login begins meanwhile."""
    client = answer(case.user, case.password, case.nonce)
    text(client.first(), "first")
    answer("somebody", "else", "now").first()
    return client


def text(found, method):
    if not isinstance(found, str):
        raise WrongKind(f"{method} should return a str, not {short(found)}.")
    return found


def another_first(answer, case):
    client = answer(case.user, case.password, case.nonce)
    found = text(client.first(), "first")
    if found == true_first(case):
        return None
    return f"the first message is {found!r}, and should be {true_first(case)!r}."


def another_final(answer, case):
    client = begun(answer, case)
    found = text(client.final(case.challenge), "final")
    if Side(case).verdict(found) is not None:
        return None
    wanted = without_proof(case)
    before, is_there, proof = found.partition(",p=")
    if not is_there:
        return f"the final message is {found!r}, without ,p= and a proof."
    if before != wanted:
        return f"the final message begins with {before!r}, not with {wanted!r}."
    return f"the broker refuses the proof{reason(case, proof)}."


def without_proof(case):
    return f"c=biws,r={case.nonce}{case.added}"


def reason(case, proof):
    """What a mistaken proof is made of, if that can be seen."""
    try:
        sent = base64.b64decode(proof, validate=True)
    except ValueError:
        return ": it isn't in base64"
    if len(sent) != hashlib.new(HASH).digest_size:
        return f": it should have 32 bytes, and has {len(sent)}"
    for why, mistaken in mistakes(case).items():
        if sent == mistaken:
            return f": {why}"
    return ""


def mistakes(case):
    """Proofs that are wrong, by what is wrong with them."""
    encoded = base64.b64encode(case.salt)
    key = case.password.encode()
    salted = hashlib.pbkdf2_hmac(HASH, key, case.salt, case.iterations)
    as_text = hashlib.pbkdf2_hmac(HASH, key, encoded, case.iterations)
    bare = true_first(case).removeprefix("n,,")
    said = f"{bare},{case.challenge},{without_proof(case)}"
    raw = f"n={case.user},r={case.nonce},{case.challenge},{without_proof(case)}"
    return {
        "the salt was used as text, and should be decoded": proof_of(as_text, said),
        "the first message was signed with its `n,,`": proof_of(salted, f"n,,{said}"),
        "the user's name was signed without =3D and =2C": proof_of(salted, raw),
        "the final message wasn't signed": proof_of(salted, f"{bare},{case.challenge}"),
        "it was signed by the client key, and should be by the stored key": proof_of(
            salted, said, signer=lambda client_key: client_key
        ),
        "it is the signature alone, without the client key": signed(
            hashlib.sha256(signed(salted, "Client Key")).digest(), said
        ),
        "it is the client key itself, which nobody should ever see": signed(
            salted, "Client Key"
        ),
    }


def signed(key, said):
    return hmac.digest(key, said.encode(), HASH)


def proof_of(salted, said, signer=lambda key: hashlib.sha256(key).digest()):
    client_key = signed(salted, "Client Key")
    signature = signed(signer(client_key), said)
    return bytes(a ^ b for a, b in zip(client_key, signature, strict=True))


def not_refused(answer, case):
    client = begun(answer, case)
    try:
        found = client.final(case.challenge)
    except ValueError:
        return None
    what = "it should raise ValueError"
    return f"{what}, but returned {short(found)}."


def misjudged(answer, judged):
    case, how = judged
    client = begun(answer, case)
    final = text(client.final(case.challenge), "final")
    # another login goes on meanwhile: what is kept is the login's, not the class's
    begun(answer, OTHER).final(OTHER.challenge)
    verdict = said_by(case, how, final)
    found = client.trusts(verdict)
    if not isinstance(found, bool):
        raise WrongKind(f"trusts should return True or False, not {short(found)}.")
    if found == (how == RIGHT):
        return None
    if found:
        return f"it trusts {short(verdict)}: that's {how}."
    return f"it doesn't trust {short(verdict)}, which is {how}."


def said_by(case, how, final):
    verdict = Side(case).verdict(final)
    assert verdict is not None, "an earlier rung has seen to that"
    if how == RIGHT:
        return verdict
    if how == "the signature of an earlier login":
        return true_verdict(case._replace(added=case.added + "x"))
    if how == "the signature of a broker that knows another password":
        return true_verdict(case, password=case.password + "x")
    if how == "the proof, sent back":
        return "v=" + final.rpartition(",p=")[2]
    return {
        "the signature without its last letter": verdict[:-1],
        "no signature": "v=",
        "an error": "e=other-error",
    }[how]


def true_verdict(case, password=None):
    """The signature that a broker sends after this login."""
    known = case.password if password is None else password
    bare = true_first(case).removeprefix("n,,")
    said = f"{bare},{case.challenge},{without_proof(case)}"
    server_key = entry(known, case.salt, case.iterations).server_key
    return "v=" + base64.b64encode(signed(server_key, said)).decode()
