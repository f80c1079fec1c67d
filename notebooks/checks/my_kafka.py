"""My Kafka: one broker in one file.

    python my_kafka.py --data DIR --port 9092

Here are the TCP server and the list of what it serves. The answers are missing.
"""

import argparse
import asyncio
import traceback
from pathlib import Path

from minikafka.wire.errors import KafkaError
from minikafka.wire.messages import API, api_name, decode_request, encode_response
from minikafka.wire.records import batches, crc_matches, read_header

HOST, NODE_ID = "127.0.0.1", 1
PARTITIONS = 2  # of each topic

# API -> the lowest and the highest version that this broker serves: old ones, which
# have what is needed, and which today's clients still speak.
VERSIONS = {
    "ApiVersions": (0, 0),
    "Metadata": (1, 5),
    "InitProducerId": (0, 1),
    "Produce": (3, 7),
    "Fetch": (4, 6),
    "ListOffsets": (1, 3),
    "FindCoordinator": (0, 1),
    "OffsetCommit": (2, 3),
    "OffsetFetch": (1, 3),
    "JoinGroup": (0, 3),
    "SyncGroup": (0, 1),
    "Heartbeat": (0, 1),
    "LeaveGroup": (0, 1),
}


class Broker:
    """folder: the data. port: where it listens; set before the first request comes."""

    def __init__(self, folder):
        self.folder = folder
        self.port = 0

    async def answer(self, frame):
        """The answer to a request, both without their size; None where there is none.
        Whatever this raises is printed, and the connection ends.
        """
        raise NotImplementedError("stage 1")

    async def talk(self, reader, writer):
        """One client: a request, its answer, the next request. Each frame comes after its
        size.
        """
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                answer = await self.answer(await reader.readexactly(size))
                if answer is not None:
                    writer.write(len(answer).to_bytes(4, "big") + answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it hung up
        except Exception:
            traceback.print_exc()  # now: asyncio would do it when the client has gone
        finally:
            writer.close()


async def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--port", type=int, default=0)  # 0: any that is free
    given = arguments.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    broker = Broker(given.data)
    server = await asyncio.start_server(broker.talk, HOST, given.port)
    broker.port = server.sockets[0].getsockname()[1]
    print(f"ready {HOST}:{broker.port}", flush=True)  # the checks wait for this line
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
