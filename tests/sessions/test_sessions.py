"""Real clients' sessions: our schema knows every byte, and the broker still answers
them with the same bytes.
"""

import pytest

from minikafka.wire.messages import encode_request, encode_response
from tests.sessions.capture import CLIENTS
from tests.sessions.replay import Replay
from tests.sessions.session import read, sessions

SESSIONS = [pytest.param(path, id=path.stem) for path in sessions()]


def test_there_is_a_session_of_every_client():
    assert {path.stem for path in sessions()} == set(CLIENTS)


@pytest.mark.parametrize("path", SESSIONS)
def test_what_a_client_says_is_decoded_to_its_last_byte(path):
    """Written again from its fields, every frame has the same bytes."""
    for each in read(path):
        api, version, correlation_id, client_id, body = each.asked
        if not each.is_request:
            version = each.asked.answer_version
            frame = encode_response(api, version, correlation_id, each.answer)
        elif body is not None:
            frame = encode_request(api, version, correlation_id, client_id, body)
        else:
            assert api == "ApiVersions"
            continue
        assert b"".join(frame) == each.data, (path.stem, api, version)


@pytest.mark.parametrize("path", SESSIONS)
def test_the_broker_answers_a_session_with_the_same_bytes_but_for_ids(path):
    assert Replay(read(path)).differences == []


@pytest.mark.parametrize("path", SESSIONS)
def test_an_answer_that_is_not_the_broker_s_is_noticed(path):
    """So that the test before it can fail."""
    session = read(path)
    number, produced = next(
        (number, each)
        for number, each in enumerate(session)
        if each.asked.api == "Produce" and not each.is_request
    )
    api, version, correlation_id, *_ = produced.asked
    answer = produced.answer
    answer.responses[0].partition_responses[0].base_offset += 1
    other = b"".join(encode_response(api, version, correlation_id, answer))
    session[number] = produced._replace(data=other)
    assert [at for at, *_ in Replay(session).differences] == [number]
