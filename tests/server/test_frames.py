"""Frames are cut out of what a socket brings, even if another loop reads meanwhile."""

from concurrent.futures import ThreadPoolExecutor

from minikafka.server.frames import SIZE_BYTES, Frames

MOST_BYTES = 1000


def framed(data):
    return len(data).to_bytes(SIZE_BYTES, "big") + data


def fill(frames, data):
    """As a socket does; returns how many bytes came."""
    frames.buffer()[: len(data)] = data
    return len(data)


def test_an_event_loop_in_another_thread_may_read_at_the_same_time():
    ours, theirs = Frames(MOST_BYTES), Frames(MOST_BYTES)
    came = fill(ours, framed(b"our request"))
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(fill, theirs, framed(b"not ours at all")).result()
    assert ours.came(came) == [b"our request"]


def test_a_frame_that_comes_in_parts_is_whole_in_the_end():
    frames, data = Frames(MOST_BYTES), framed(b"created") + framed(b"paid")
    found = []
    for byte in data:
        found += frames.came(fill(frames, bytes([byte])))
    assert found == [b"created", b"paid"]
