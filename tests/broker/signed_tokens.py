"""Tokens that somebody has signed (RFC 7515), and the keys to check them by (RFC
7517).
"""

import base64
import json
from functools import cache

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

BITS = 2048
HASHES = {"RS256": hashes.SHA256(), "RS384": hashes.SHA384(), "RS512": hashes.SHA512()}


@cache
def key(name, bits):
    """A private key. name: only tells one from another."""
    return rsa.generate_private_key(65537, bits)


def written(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return written(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def key_set(*names, bits=BITS, use="sig"):
    """A JSON Web Key Set: the public keys of these names, which are their kid."""
    listed = []
    for name in names:
        public = key(name, bits).public_key().public_numbers()
        numbers = {"n": number(public.n), "e": number(public.e)}
        listed.append({"kty": "RSA", "use": use, "kid": name} | numbers)
    return json.dumps({"keys": listed})


def signed(claims, name="ours", algorithm="RS256", **header):
    """name: of the key. header: its further fields, such as kid."""
    parts = [{"alg": algorithm} | header, claims]
    said = ".".join(written(json.dumps(part).encode()) for part in parts)
    how = HASHES[algorithm]
    signature = key(name, BITS).sign(said.encode(), padding.PKCS1v15(), how)
    return f"{said}.{written(signature)}"
