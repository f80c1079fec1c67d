"""The page's HTTP server in a thread of its own, for tests that ask it."""

import asyncio
import threading
from contextlib import contextmanager


@contextmanager
def answering(server):
    loop = asyncio.new_event_loop()
    serving = loop.create_task(server.serve())
    thread = threading.Thread(target=run, args=(loop, serving))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(serving.cancel)
        thread.join()


def run(loop, serving):
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(asyncio.wait([serving]))
