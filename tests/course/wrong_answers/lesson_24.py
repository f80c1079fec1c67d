"""Lesson 24: a client's half of a login by SCRAM."""

import base64
import hashlib
import hmac
import re

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def xor(one, other):
    number = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return number.to_bytes(len(one), "big")


class Login:
    """A right one; each wrong one spoils a part of it."""

    least = 4096

    def __init__(self, user, password, nonce):
        self.user, self.password, self.nonce = user, password, nonce

    def name(self):
        return "".join({",": "=2C", "=": "=3D"}.get(each, each) for each in self.user)

    def bare(self):
        return f"n={self.name()},r={self.nonce}"

    def first(self):
        return "n,," + self.bare()

    def parts(self, challenge):
        found = re.fullmatch("r=(.*),s=(.*),i=(.*)", challenge)
        return found[1], found[2], int(found[3])

    def salt(self, text):
        return base64.b64decode(text)

    def secret(self):
        return self.password.encode()

    def check(self, nonce, iterations):
        if nonce[: len(self.nonce)] != self.nonce or iterations < self.least:
            raise ValueError(nonce)

    def said(self, challenge, before):
        return ",".join([self.bare(), challenge, before])

    def signer(self, client_key):
        return hashlib.sha256(client_key).digest()

    def proof(self, client_key, signature):
        return xor(client_key, signature)

    def coded(self, proof):
        return base64.b64encode(proof).decode()

    def begins(self, nonce):
        return f"c=biws,r={nonce}"

    def final(self, challenge):
        nonce, salt, iterations = self.parts(challenge)
        self.check(nonce, iterations)
        salted = hashlib.pbkdf2_hmac(
            "sha256", self.secret(), self.salt(salt), iterations
        )
        self.salted, before = salted, self.begins(nonce)
        self.all = self.said(challenge, before)
        key = mac(salted, "Client Key")
        self.sent = self.coded(self.proof(key, mac(self.signer(key), self.all)))
        return f"{before},p={self.sent}"

    def expected(self):
        return base64.b64encode(mac(mac(self.salted, "Server Key"), self.all)).decode()

    def trusts(self, verdict):
        return verdict == "v=" + self.expected()


def login(called, /, **changes):
    return type(called, (Login,), changes)


right(1)(login("in_small_methods"))


@right(1)
class InBytes:
    """It works in bytes, and computes everything again for the verdict."""

    def __init__(self, user, password, nonce):
        self.me, self.password, self.nonce = user, password.encode("utf-8"), nonce

    def first(self):
        self.me = self.me.replace("=", "=3D").replace(",", "=2C")
        return "n,,n=" + self.me + ",r=" + self.nonce

    def final(self, challenge):
        nonce, salt, count = [part[2:] for part in challenge.split(",")]
        if not nonce.startswith(self.nonce):
            raise ValueError("nonce")
        if int(count) < 4096:
            raise ValueError("iterations")
        self.given = challenge, nonce, base64.b64decode(salt), int(count)
        key = hmac.digest(self.salted(), b"Client Key", "sha256")
        stored = hashlib.sha256(key).digest()
        signature = hmac.digest(stored, self.said(), "sha256")
        proof = bytes(map(int.__xor__, key, signature))
        return f"c=biws,r={nonce},p={base64.standard_b64encode(proof).decode()}"

    def salted(self):
        _, _, salt, count = self.given
        return hashlib.pbkdf2_hmac("sha256", self.password, salt, count)

    def said(self):
        challenge, nonce, _, _ = self.given
        return f"n={self.me},r={self.nonce},{challenge},c=biws,r={nonce}".encode()

    def trusts(self, verdict):
        server_key = hmac.digest(self.salted(), b"Server Key", "sha256")
        signature = hmac.digest(server_key, self.said(), "sha256")
        try:
            sent = base64.b64decode(verdict[2:], validate=True)
        except ValueError:
            return False
        return verdict[:2] == "v=" and hmac.compare_digest(sent, signature)


# --- who logs in ---

wrong(1, "the first message is 'n,,n=a,b,r=till-7'")(
    login("the_name_as_it_is", name=lambda self: self.user)
)
wrong(1, "=3D2C", "the first message is")(
    login(
        "the_comma_first",
        name=lambda self: self.user.replace(",", "=2C").replace("=", "=3D"),
    )
)
wrong(1, "the first message is")(login("without_the_header", first=Login.bare))
wrong(1, "the first message is")(
    login("small_letters", name=lambda self: Login.name(self).lower())
)
wrong(1, "first should return a str, not b'n,,")(
    login("bytes_first", first=lambda self: Login.first(self).encode())
)

# --- the proof ---


def at_every_equals_sign(self, challenge):
    values = dict(part.split("=") for part in challenge.split(","))
    return values["r"], values["s"], int(values["i"])


wrong(1, "it raised ValueError")(
    login("at_every_equals_sign", parts=at_every_equals_sign)
)


def strips_equals_signs(self, challenge):
    nonce, salt, iterations = Login.parts(self, challenge)
    return nonce.rstrip("="), salt, iterations


wrong(1, "the final message begins with")(
    login("strips_equals_signs", parts=strips_equals_signs)
)
wrong(1, "refuses the proof: the salt was used as text")(
    login("the_salt_as_text", salt=lambda self, text: text.encode())
)
wrong(1, "refuses the proof: the first message was signed with its `n,,`")(
    login(
        "the_whole_first_message",
        said=lambda self, challenge, before: f"{self.first()},{challenge},{before}",
    )
)
wrong(1, "refuses the proof: the final message wasn't signed")(
    login(
        "two_messages",
        said=lambda self, challenge, before: f"{self.bare()},{challenge}",
    )
)
wrong(1, "refuses the proof: the user's name was signed without =3D and =2C")(
    login(
        "the_name_as_it_is_signed",
        said=lambda self, challenge, before: (
            f"n={self.user},r={self.nonce},{challenge},{before}"
        ),
    )
)
wrong(1, "signed by the client key, and should be by the stored key")(
    login("signed_by_the_client_key", signer=lambda self, key: key)
)
wrong(1, "it is the signature alone")(
    login("the_signature_alone", proof=lambda self, key, signature: signature)
)
wrong(1, "it is the client key itself, which nobody should ever see")(
    login("the_client_key", proof=lambda self, key, signature: key)
)
wrong(1, "refuses the proof: it isn't in base64", "it should have 32 bytes")(
    login("in_hex", coded=lambda self, proof: proof.hex())
)
wrong(1, "refuses the proof: it isn't in base64", "the broker refuses the proof")(
    login(
        "for_addresses",
        coded=lambda self, proof: base64.urlsafe_b64encode(proof).decode(),
    )
)
wrong(1, "the final message begins with 'c=biws,r=rOprNGfwEbeRWgbNEkqO'")(
    login("my_own_nonce", begins=lambda self, nonce: f"c=biws,r={self.nonce}")
)
wrong(1, "the final message begins with 'r=")(
    login("no_binding", begins=lambda self, nonce: f"r={nonce}")
)
wrong(1, "the final message begins with 'c=n,,")(
    login("the_binding_as_text", begins=lambda self, nonce: f"c=n,,,r={nonce}")
)
wrong(1, "without ,p= and a proof")(
    login(
        "two_commas_fewer",
        final=lambda self, challenge: Login.final(self, challenge).replace(",", ";"),
    )
)
wrong(1, "the broker refuses the proof")(
    login("always_4096", parts=lambda self, c: (*Login.parts(self, c)[:2], 4096))
)
wrong(1, "it raised UnicodeEncodeError", "the broker refuses the proof")(
    login("only_ascii", secret=lambda self: self.password.encode("ascii"))
)
wrong(1, "the broker refuses the proof")(
    login("only_latin", secret=lambda self: self.password.encode("latin-1", "replace"))
)
wrong(1, "the broker refuses the proof")(
    login("strips_passwords", secret=lambda self: self.password.strip().encode())
)


@wrong(1, "the broker refuses the proof", "the final message begins with")
class OneForAll(Login):
    """What it said is the class's."""

    def bare(self):
        return OneForAll.last

    def first(self):
        OneForAll.last = Login.bare(self)
        return "n,," + OneForAll.last


# --- false challenges ---

wrong(1, "it should raise ValueError, but returned")(
    login("checks_nothing", check=lambda self, nonce, iterations: None)
)


def any_nonce(self, nonce, iterations):
    if iterations < 4096:
        raise ValueError


def somewhere(self, nonce, iterations):
    if self.nonce not in nonce or iterations < 4096:
        raise ValueError


def in_small_letters(self, nonce, iterations):
    mine = self.nonce.lower()
    if not nonce.lower().startswith(mine) or iterations < 4096:
        raise ValueError


def more_than_4096(self, nonce, iterations):
    if not nonce.startswith(self.nonce) or iterations <= 4096:
        raise ValueError(iterations)


def asserts(self, nonce, iterations):
    assert nonce.startswith(self.nonce) and iterations >= 4096


wrong(1, "it should raise ValueError, but returned")(
    login("any_nonce", check=any_nonce)
)
wrong(1, "it should raise ValueError, but returned")(
    login("a_nonce_somewhere", check=somewhere)
)
wrong(1, "it should raise ValueError, but returned")(
    login("a_nonce_in_small_letters", check=in_small_letters)
)
wrong(1, "it should raise ValueError, but returned")(login("few_iterations", least=1))
wrong(1, "it should raise ValueError, but returned")(
    login("a_thousand_are_enough", least=1000)
)
wrong(1, "it raised ValueError: 4096")(login("more_than_4096", check=more_than_4096))
wrong(1, "it raised AssertionError")(login("asserts", check=asserts))
wrong(1, "it should raise ValueError, but returned None")(
    login(
        "says_none",
        final=lambda self, challenge: (
            Login.final(self, challenge)
            if challenge.startswith(f"r={self.nonce}")
            else None
        ),
    )
)

# --- the broker's turn ---

wrong(1, "it trusts 'v=")(login("trusts_all", trusts=lambda self, verdict: True))
wrong(1, "it doesn't trust 'v=")(login("trusts_none", trusts=lambda self, _: False))
wrong(1, "it trusts 'v=")(
    login("whatever_has_a_v", trusts=lambda self, verdict: verdict.startswith("v="))
)
wrong(1, "it doesn't trust 'v=")(
    login("without_the_v", trusts=lambda self, verdict: verdict == Login.expected(self))
)
wrong(1, "it trusts 'v=': that's no signature", "without its last letter")(
    login(
        "a_beginning_is_enough",
        trusts=lambda self, verdict: f"v={self.expected()}".startswith(verdict),
    )
)
wrong(1, "it doesn't trust 'v=")(
    login("expects_its_proof", expected=lambda self: self.sent)
)
wrong(1, "trusts should return True or False, not None")(
    login("says_nothing", trusts=lambda self, verdict: {}.get(verdict))
)


def raises_for_false(self, verdict):
    if verdict != "v=" + self.expected():
        raise ValueError(verdict)
    return True


wrong(1, "it raised ValueError: v=")(login("raises", trusts=raises_for_false))
