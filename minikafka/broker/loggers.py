"""Which of its mishaps a node reports, and at which level (KIP-412).

The levels belong to this run of this node: they are stored nowhere, and no other node
knows them.
"""

from collections import deque
from collections.abc import Callable

from minikafka.broker.effects import Effect, Notice
from minikafka.wire.errors import Error, KafkaError

LEVELS = (
    "TRACE",
    "DEBUG",
    "INFO",
    "WARN",
    "ERROR",
    "FATAL",
)  # the most talkative first
ROOT = "root"
# Names each request as it comes, at DEBUG and below; by Apache Kafka's name.
REQUESTS = "kafka.request.logger"


class Loggers:
    """The levels of one node, and the functions that are told. root: the level of
    loggers that have none of their own.
    """

    def __init__(self, tell: Callable[[Effect], object]) -> None:
        self._tell = tell
        self._told: deque[str] = deque(maxlen=100)
        self._own: dict[str, str | None] = {ROOT: "INFO", REQUESTS: "WARN"}
        # each request asks
        self.names_requests = False

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Something went wrong that ends one thing and not the node: the shell reports
        it, once. It is an error, or a warning if there is no exception.
        """
        level = "WARN" if error is None else "ERROR"
        if self.tells(ROOT, level) and line not in self._told:
            self._told.append(line)
            self._tell(Notice(line, error))

    @property
    def levels(self) -> dict[str, str]:
        """The level of each logger, as it holds."""
        return {name: self.level(name) for name in self._own}

    def level(self, name: str) -> str:
        """The level of a logger: its own, or root's."""
        found = self._own[name] or self._own[ROOT]
        assert found is not None, "root has a level"
        return found

    def tells(self, name: str, level: str) -> bool:
        """Whether a message of this logger at this level is reported."""
        return LEVELS.index(level) >= LEVELS.index(self.level(name))

    def check(self, name: str, level: str | None) -> None:
        """Whether a logger may have this level; None: root's. Else INVALID_CONFIG, or
        INVALID_REQUEST where that can't be taken back.
        """
        if level is not None and level not in LEVELS:
            valid = ", ".join(sorted(LEVELS))
            why = (
                f"Cannot set the log level of {name} to {level} as it is not a"
                f" supported log level. Valid log levels are {valid}"
            )
            raise KafkaError(Error.INVALID_CONFIG, why)
        if name not in self._own:
            raise KafkaError(Error.INVALID_CONFIG, f"Logger {name} does not exist!")
        if level is None and name == ROOT:
            why = "Removing the log level of the root logger is not allowed"
            raise KafkaError(Error.INVALID_REQUEST, why)

    def set(self, name: str, level: str | None) -> None:
        """What was checked before."""
        self._own[name] = level
        self.names_requests = self.tells(REQUESTS, "DEBUG")
