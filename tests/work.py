"""Work, counted in calls of functions, ours and the interpreter's: a million are about a
fifth of a second on an idle machine.
"""

import sys
from contextlib import contextmanager

from minikafka.wire.messages import encode_request

MOST_CALLS = 1_200_000  # of one request: for so long everybody else waits
MOST_ANSWER_BYTES = 40 << 20


class Work:
    """calls: of functions, while it was counted."""

    calls = 0

    def _count(self, frame, event, arg):
        self.calls += event in ("call", "c_call")


class MemberId(str):
    """Its comparisons and hashes are calls."""

    __slots__ = ()

    def __eq__(self, other):
        return str.__eq__(self, other)

    def __hash__(self):
        return str.__hash__(self)


class TopicId(bytes):
    """Its comparisons and hashes are calls."""

    __slots__ = ()

    def __eq__(self, other):
        return bytes.__eq__(self, other)

    def __hash__(self):
        return bytes.__hash__(self)

    def __lt__(self, other):
        return bytes.__lt__(self, other)


@contextmanager
def counted():
    work = Work()
    sys.setprofile(work._count)
    try:
        yield work
    finally:
        sys.setprofile(None)


def work_of(node, api, version, body):
    """The calls that a request takes, from its frame to the frame of the answer, which
    is of a bearable size.
    """
    frame = bytearray().join(encode_request(api, version, 1, "test", body))
    node.out()
    with counted() as work:
        node.broker.receive("client", frame, node.now)
        while node.broker.quorum.is_publishing:
            node.broker.tick(node.now)
    (reply,) = node.out()
    assert sum(map(len, reply.frame)) < MOST_ANSWER_BYTES
    return work.calls
