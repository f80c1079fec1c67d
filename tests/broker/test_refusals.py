"""A request that fails as a whole: every version has a field for it, or the connection
is closed.
"""

import pytest

from minikafka.broker.effects import Close, Reply
from minikafka.broker.handlers import HANDLERS
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import decode_response, encode_request
from tests.broker.node import Node

WHOLE = {
    key: each
    for key, each in HANDLERS.items()
    if not each.inter_broker and each.refuse is None
}
VERSIONS = [
    (key, version)
    for key, each in WHOLE.items()
    for version in range(each.versions[0], each.versions[1] + 1)
]


def fails(request, now):
    raise KafkaError(Error.REQUEST_TIMED_OUT)


@pytest.mark.parametrize(
    ("key", "version"),
    VERSIONS,
    ids=[f"{WHOLE[key].api} {version}" for key, version in VERSIONS],
)
def test_every_version_says_that_a_request_failed(monkeypatch, key, version):
    node, api = Node(), WHOLE[key].api
    row = HANDLERS[key]._replace(handle=lambda handlers: fails)
    monkeypatch.setitem(HANDLERS, key, row)
    frame = bytearray().join(encode_request(api, version, 1, "client", {}))
    node.broker.receive("client", frame, node.now)
    [effect] = node.broker.outbox
    if isinstance(effect, Close):
        assert (
            effect.why
            == f"sent {api} {version}, which failed: {Error.REQUEST_TIMED_OUT.message}"
        )
    else:
        assert isinstance(effect, Reply)
        _, told = decode_response(api, version, bytearray().join(effect.frame))
        assert told.error_code == Error.REQUEST_TIMED_OUT
