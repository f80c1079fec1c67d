"""One trial of a learner's Kafka: our own questions, and real clients.

After each question, and after each client, the whole conversation is compared with
kafka_rules.py. So a fault is reported where it is, and not in the words of a client
that gives up much later.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.course.judging.conversation import Mark, as_lines
from minikafka.course.judging.kafka_answers import LAST, NoAnswer, Wrong
from minikafka.course.judging.kafka_rules import Rules
from minikafka.course.judging.learners_kafka import LearnersKafka, NotStarted
from minikafka.server.proxy import read_frame, send_frame
from minikafka.wire.messages import decode_response, encode_request

PATIENCE_S = 10.0
_LINES = 8  # of the conversation
# what our own questions are written in: the highest version that the task asks for
VERSION = {
    "ApiVersions": 0,
    "Metadata": 5,
    "InitProducerId": 1,
    "Produce": 7,
    "Fetch": 6,
    "ListOffsets": 3,
    "FindCoordinator": 1,
    "OffsetCommit": 3,
    "OffsetFetch": 3,
    "JoinGroup": 3,
    "SyncGroup": 1,
    "Heartbeat": 1,
    "LeaveGroup": 1,
}


class Question(NamedTuple):
    """One that waits for its answer, which is in answer_version. due: why the answer
    must come at once.
    """

    api: str
    version: int
    answer_version: int
    due: str = ""

    def __str__(self) -> str:
        return f"{self.api} {self.version}"


class Connection:
    """Our own client, for questions that a real one asks only when it pleases."""

    def __init__(self, trial: "Trial") -> None:
        host, _, port = trial.kafka.bootstrap.rpartition(":")
        self._trial = trial
        self._socket = socket.create_connection((host, int(port)), PATIENCE_S)
        self._correlation_id = 0
        self._waiting: list[Question] = []

    def send(self, api: str, version: int | None = None, **body: Any) -> None:
        """Ask, and don't wait for the answer."""
        version = VERSION[api] if version is None else version
        self._correlation_id += 1
        parts = encode_request(api, version, self._correlation_id, "judge", body)
        self._send(b"".join(parts))
        due = "max_wait_ms is 0" if body.get("max_wait_ms") == 0 else ""
        if body.get("acks") != 0:
            self._waiting.append(Question(api, version, version, due))

    def send_frame(self, question: Question, frame: bytes) -> None:
        """The same with a request that isn't in the schema."""
        self._send(frame)
        self._waiting.append(question)

    def _send(self, frame: bytes) -> None:
        """Where the other side has hung up, `receive` tells."""
        with suppress(OSError):
            send_frame(self._socket, frame)

    def receive(self, due: str = "") -> Any:
        """The next answer, in order; it has been judged. due: why it must come now,
        where the question doesn't say so. Errors: Wrong.
        """
        question = self._waiting.pop(0)
        try:
            frame = read_frame(self._socket)
        except TimeoutError:
            self._trial.judge()
            why = due or question.due or self._trial.nobody_holds_up(self)
            said = f"{question} has no answer after {PATIENCE_S:.0f} s"
            line = f"{said}, and one is due: {why}" if why else said
            raise NoAnswer(line) from None
        except OSError:
            frame = None
        self._trial.judge()
        if frame is None:
            raise NoAnswer(f"{question} was not answered: your Kafka hung up")
        return decode_response(question.api, question.answer_version, frame)[1]

    def expect_hang_up(self, question: Question, frame: bytes) -> None:
        """Send a request that isn't served: the connection must end. Errors: Wrong."""
        self.send_frame(question, frame)
        try:
            answered = read_frame(self._socket) is not None
        except TimeoutError:
            raise NoAnswer(
                f"{question} isn't in your list, and the connection stays open: its"
                " client waits for an answer"
            ) from None
        except OSError:
            answered = False
        if answered:
            raise Wrong(f"{question} isn't in your list, and was answered", LAST)
        self._trial.judge()

    @property
    def waits_for(self) -> list[str]:
        """Its questions without an answer."""
        return [str(each) for each in self._waiting]

    def ask(self, api: str, version: int | None = None, **body: Any) -> Any:
        """A question and its answer."""
        self.send(api, version, **body)
        return self.receive()

    def close(self) -> None:
        self._socket.close()


class Trial:
    """`with trial(path) as it:` has a Kafka that runs, in a new data folder."""

    def __init__(self, kafka: LearnersKafka) -> None:
        self.kafka = kafka
        self.connections: list[Connection] = []
        self._marks: list[Mark] = []

    @property
    def bootstrap(self) -> str:
        """The proxy's address, of this life."""
        return self.kafka.bootstrap

    def connect(self) -> Connection:
        """A connection of our own, through the proxy."""
        made = Connection(self)
        self.connections.append(made)
        return made

    def restart(
        self,
        meanwhile: Callable[[Path], None] = lambda data: None,
        what: str = "",
    ) -> None:
        """kill -9, and the next life on the same files. meanwhile: changes these files;
        what: the same in words.
        """
        self.kafka.kill()
        meanwhile(self.kafka.data)
        happened = f"kill -9, {what}" if what else "kill -9"
        mark = Mark(self.kafka.first_connection, f"{happened}, started again")
        self._marks.append(mark)
        try:
            self.kafka.start()
        except NotStarted as error:
            raise NotStarted(f"after {happened}: {error}") from None

    def nobody_holds_up(self, one: Connection) -> str:
        """Why its question has an answer, whatever others wait for; empty where nobody
        waits.
        """
        waits = [
            what
            for each in self.connections
            if each is not one
            for what in each.waits_for
        ]
        if not waits:
            return ""
        return f"{waits[0]} of another connection waits, and holds up nobody else"

    def judge(self) -> None:
        """Compare all that was said so far. Errors: Wrong."""
        self._compare(self.kafka.conversation())

    def _compare(self, conversation: Any) -> None:
        rules = Rules()
        for number, exchange in enumerate(conversation):
            try:
                rules.hear(exchange, self.kafka.port_of(exchange.connection))
            except Wrong as error:
                error.frame = number
                raise

    def unanswered(self) -> list[str]:
        """The requests that wait for an answer, as API and version."""
        open_: dict[tuple[int, int], str] = {}
        for each in self.kafka.conversation():
            if not each.is_request:
                open_.pop(each.of, None)
            elif each.asked.wants_an_answer:
                open_[each.of] = f"{each.asked.api} {each.asked.version}"
        return list(open_.values())

    def asked_for(self) -> list[str]:
        """The APIs of all requests so far."""
        conversation = self.kafka.conversation()
        return [each.asked.api for each in conversation if each.is_request]

    def last_answer(self, api: str) -> int:
        """Its number in the conversation."""
        conversation = self.kafka.conversation()
        return max(
            number
            for number, each in enumerate(conversation)
            if not each.is_request and each.asked.api == api
        )

    def lines(self, last: int | None = None) -> list[str]:
        """The conversation up to a frame, its last lines."""
        conversation = self.kafka.conversation()
        marks = self._marks
        if last is not None and last != LAST:
            conversation = conversation[: last + 1]
            newest = conversation[-1].connection
            marks = [each for each in marks if each.connection <= newest]
        lines = as_lines(conversation, marks)
        shown = [f"  {line}" for line in lines[-_LINES:]]
        if len(lines) > _LINES:
            shown.insert(0, f"  ... {len(lines) - _LINES} lines before these")
        if last is not None and shown:
            shown[-1] += "   <- here"
        return shown

    def close(self) -> None:
        for each in self.connections:
            each.close()


@contextmanager
def trial(path: Path) -> Iterator[Trial]:
    """It ends with the process, and leaves nothing behind."""
    with LearnersKafka(path) as kafka:
        kafka.start()
        running = Trial(kafka)
        try:
            yield running
        finally:
            running.close()


def broken(path: Path, script: Callable[[Trial], None]) -> str | None:
    """What is wrong with this Kafka: a line, and further ones; None if the script comes
    to its end.
    """
    with LearnersKafka(path) as kafka:
        running = Trial(kafka)
        try:
            kafka.start()
            script(running)
            running.judge()
        except NotStarted as error:
            return "\n".join([str(error), *_conversation(running), *_said(kafka)])
        except Wrong as error:
            lines = _conversation(running, error.frame)
            if lines and error.frame is None and not isinstance(error, NoAnswer):
                lines.append("  (what is wrong stands in no single frame of these)")
            return "\n".join([str(error), *lines, *_said(kafka)])
        finally:
            running.close()
    return None


def _conversation(running: Trial, last: int | None = None) -> list[str]:
    """The conversation up to a frame."""
    lines = running.lines(last)
    return ["the conversation (> asks, < answers):", *lines] if lines else []


def _said(kafka: LearnersKafka) -> list[str]:
    """The output of the process, below the conversation."""
    kafka.kill()  # what it has printed is read to its end then
    words = kafka.last_words()
    return ["your Kafka printed:", *(f"  {line}" for line in words)] if words else []
