"""A process that is stopped at each point of its work in turn: it runs a program again
and again, each time in a folder of its own, and sends itself SIGTERM at another line,
while the program handles what it is handed and while it waits for more.

python -m tests.course.stopped FOLDER PROGRAM BOOTSTRAP ORDERS: a line of JSON a stop.
"""

import itertools
import json
import linecache
import os
import runpy
import signal
import sqlite3
import sys
from pathlib import Path

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition

from tests.clients.brokers import fresh_name
from tests.course.recipes import at, recipe

OF_THE_CLIENT = {"poll", "commit"}  # the moment at which they are entered


class Stop:
    """Sends SIGTERM at the so-manieth moment since the program listens to it."""

    def __init__(self, moment):
        self.left, self.struck = moment, ""

    def __call__(self, frame, event, _):
        name = Path(frame.f_code.co_filename).name
        if name in ("member.py", "payments.py"):
            if event == "line":
                line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                self._passes(line.strip())
            return self
        if name == "group.py" and frame.f_code.co_name in OF_THE_CLIENT:
            self._passes(f"in {frame.f_code.co_name}")
        return None

    def _passes(self, where):
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL or self.struck:
            return
        self.left -= 1
        if not self.left:
            self.struck = where
            os.kill(os.getpid(), signal.SIGTERM)


def stopped_at(moment):
    """Runs member.py, and stops it at that moment: where that was."""
    stop = Stop(moment)
    sys.modules.pop("payments", None)
    sys.settrace(stop)
    try:
        runpy.run_path("member.py")
    except SystemExit:
        pass
    finally:
        sys.settrace(None)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return stop.struck


def rows(table):
    with sqlite3.connect("shop.db") as database:
        return [row[0] for row in database.execute(f"SELECT number FROM {table}")]


def main(folder, program, bootstrap, orders):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    text, seen = Path(program).read_text(), []
    sys.path.insert(0, "")
    for moment in itertools.count(1):
        topic = fresh_name("orders")
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
        admin.wait_for_topics([topic], 240_000)
        for number in range(int(orders)):
            producer.send(topic, key=b"o-%d" % number, value=b"20 euros").get(240)
        home = Path(folder, topic)
        home.mkdir()
        os.chdir(home)
        Path("payments.py").write_text(recipe("04", "payments.py"))
        Path("member.py").write_text(at(text, bootstrap, topic))
        linecache.clearcache()
        seen.append(stopped_at(moment))
        done = admin.list_group_offsets("billing")["billing"]
        committed = done.get(TopicPartition(topic, 0))
        found = {
            "struck": seen[-1],
            "members": admin.describe_groups(["billing"])["billing"]["members"],
            "committed": committed.offset if committed else 0,
            "payments": rows("payments"),
            "mails": rows("mails"),
        }
        print(json.dumps(found), flush=True)
        # all was paid and committed, and it had polled once more
        if "in commit" in seen and seen[-1] == "in poll":
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
