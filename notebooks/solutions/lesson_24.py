"""Lesson 24, doors and keys: one solution an exercise. Each part replaces the stub in
the solved edition.
"""

import base64
import hashlib
import hmac

from minikafka import lesson


# %% exercise 1
class Scram:
    """One login with SCRAM-SHA-256."""

    def __init__(self, user, password, nonce):
        self.user, self.password, self.nonce = user, password, nonce

    def first(self):
        # "=" before ",", or the "=" of "=2C" would be replaced, too
        name = self.user.replace("=", "=3D").replace(",", "=2C")
        self.about_me = f"n={name},r={self.nonce}"
        return f"n,,{self.about_me}"

    def final(self, challenge):
        # partition, because nonce and salt may have more of "="
        parts = [part.partition("=") for part in challenge.split(",")]
        values = {name: value for name, _, value in parts}
        if not values["r"].startswith(self.nonce):
            raise ValueError("this nonce is not an answer to mine")
        if int(values["i"]) < 4096:
            raise ValueError("too few iterations: passwords could be guessed")
        salted = hashlib.pbkdf2_hmac(
            "sha256",
            self.password.encode(),
            base64.b64decode(values["s"]),
            int(values["i"]),
        )
        without_proof = f"c=biws,r={values['r']}"
        said = f"{self.about_me},{challenge},{without_proof}"
        client_key = self.signed(salted, "Client Key")
        stored_key = hashlib.sha256(client_key).digest()
        signature = self.signed(stored_key, said)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        # what only a broker that has an entry of this password can compute
        self.expected = self.signed(self.signed(salted, "Server Key"), said)
        return f"{without_proof},p={base64.b64encode(proof).decode()}"

    def trusts(self, verdict):
        expected = f"v={base64.b64encode(self.expected).decode()}"
        return hmac.compare_digest(verdict.encode(), expected.encode())

    def signed(self, key, text):
        return hmac.digest(key, text.encode(), "sha256")


# %% exit ticket
lesson("24").exit_ticket(2, 3, 1, 3, 2)
