"""`python -m tests.soak.memory`: what many clients together can make a server of
ordinary size hold, at its worst.

One line a case with the peak of the server's memory; exit code 1 if an honest client
was not served, the server did not stop cleanly, or memory went over its end. Needs
Linux (/proc, ulimit) and takes less than a minute.
"""

import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from minikafka.wire.messages import encode_request
from tests.conformance.raw import Connection, batch
from tests.server.small_window import SmallWindow

MEGABYTE = 1 << 20


class Server:
    """`minikafka serve` under a limit of open files; memory in MB, errors once it has
    stopped.
    """

    def __init__(self, options=(), open_files=10_240):
        serve = [sys.executable, "-m", "minikafka", "serve", "--port", "0", *options]
        command = ["sh", "-c", f'ulimit -n {open_files} && exec "$@"', "sh", *serve]
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (a pipe that nobody reads would stop the server)
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.bootstrap = self.process.stdout.readline().removeprefix("ready ").strip()

    def peak_mb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) // 1024

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        """Stop the server, and check that it stops cleanly."""
        self.process.terminate()
        assert self.process.wait(timeout=120) == 0
        assert "Traceback" not in self.said()

    def clear_away(self):
        self.process.kill()
        self.process.communicate()
        self.log.close()


def readers_that_never_read(server):
    """20 clients ask for 50 MB each, again and again, and read nothing."""
    fetch = {"partition_max_bytes": 50 * MEGABYTE, "max_bytes": 50 * MEGABYTE}
    with Connection(server.bootstrap) as witness:
        witness.create_topic("orders")
        for _ in range(52):
            witness.produce("orders", batch(bytes(1_000_000)))
        lazy = [SmallWindow(server.bootstrap, 4096) for _ in range(20)]
        for connection in lazy:
            for _ in range(3):
                connection.send_fetch("orders", **fetch)
        for _ in range(1000):
            assert witness.offset("orders", -1).offset == 52
        assert len(witness.fetch("orders").records) > 0
        for connection in lazy:
            connection.close()


def half_requests_and_a_large_one(server):
    """1,000 clients stop in the middle of a request of 100 MB, while one produces 50 MB
    in a single request.
    """
    partition = {"index": 0, "records": batch(*[bytes(MEGABYTE)] * 50)}
    topics = [{"name": "orders", "partition_data": [partition]}]
    request = b"".join(
        encode_request(
            "Produce",
            7,
            1,
            "raw",
            {"acks": -1, "timeout_ms": 1000, "topic_data": topics},
        )
    )
    frame = struct.pack(">i", len(request)) + request
    half = struct.pack(">i", 100 * MEGABYTE) + bytes(300_000)
    with (
        Connection(server.bootstrap) as honest,
        Connection(server.bootstrap) as witness,
    ):
        witness.create_topic("orders")
        halves = []
        sending = threading.Thread(target=honest.send_bytes, args=(frame,))
        for number in range(1000):
            if number == 600:  # they hold all that there is
                sending.start()
            halves.append(Connection(server.bootstrap))
            halves[-1].send_bytes(half)
        sending.join()
        honest.correlation_id = 1
        [answer] = honest.read("Produce", 7).responses[0].partition_responses
        assert (answer.error_code, answer.base_offset) == (0, 0)
        assert witness.offset("orders", -1).offset == 50
        for connection in halves:
            connection.close()


def more_connections_than_open_files(server):
    """2,000 clients come where 1,024 files may be open, while others produce to 300
    partitions.
    """
    with Connection(server.bootstrap) as witness:
        witness.create_topic("orders", partitions=300)
        crowd = []
        for number in range(2000):
            crowd.append(Connection(server.bootstrap))
            assert (
                witness.produce(
                    "orders", batch(b"paid"), partition=number % 300
                ).error_code
                == 0
            )
        for connection in crowd:
            connection.close()


CASES = (  # case, the end of its memory in MB, the server
    (readers_that_never_read, 450, {}),
    (
        half_requests_and_a_large_one,
        450,
        {"options": ("--override", f"message.max.bytes={60 * MEGABYTE}")},
    ),
    (more_connections_than_open_files, 150, {"open_files": 1024}),
)


def main():
    failed = 0
    for case, most_mb, settings in CASES:
        server = Server(**settings)
        try:
            case(server)
            peak_mb = server.peak_mb()
            server.stop()
            assert peak_mb <= most_mb, f"more than {most_mb} MB"
            verdict = (
                f"peak {peak_mb} MB (at most {most_mb}),"
                f" {len(server.said().splitlines())} line(s) in the log"
            )
        except (AssertionError, OSError, EOFError) as error:
            failed += 1
            verdict = f"FAILED: {error!r}; the server said {server.said()[-500:]!r}"
        server.clear_away()
        print(f"{case.__name__.replace('_', ' ')}: {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
