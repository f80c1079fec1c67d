"""What `serve --verbose` says of a connection."""

from minikafka.server.handshakes import Handshakes
from minikafka.wire.messages import encode_request, encode_response


def asked(api, version):
    return bytearray().join(encode_request(api, version, 7, "pay", {}))


def test_an_answer_before_the_one_to_api_versions_is_not_taken_for_it():
    """A producer's requests are pipelined: ApiVersions may come while one waits."""
    lines = []
    handshakes = Handshakes(lines.append)
    handshakes.connected("client")
    for api, version in (("ListGroups", 0), ("ApiVersions", 0)):
        handshakes.asked("client", asked(api, version))
    groups = {"error_code": 0, "groups": []}
    handshakes.answered("client", encode_response("ListGroups", 0, 7, groups))
    assert lines == []
    offered = [{"api_key": 18, "min_version": 0, "max_version": 4}]
    versions = {"error_code": 0, "api_keys": offered}
    handshakes.answered("client", encode_response("ApiVersions", 0, 7, versions))
    [line] = lines
    assert line.endswith("It may choose from ApiVersions 0-4.")


def test_an_old_logins_bytes_are_not_taken_for_api_versions():
    """After SaslHandshake 0 (KIP-43) messages come without a header, and may begin with
    the bytes of ApiVersions' key.
    """
    lines = []
    handshakes = Handshakes(lines.append)
    handshakes.connected("client")
    handshakes.asked("client", asked("SaslHandshake", 0))
    handshakes.answered("client", [b"the mechanisms"])
    handshakes.asked("client", bytearray(b"\x00\x12\x00\x00ob\x00secret"))
    handshakes.answered("client", [b""])
    assert lines == []
