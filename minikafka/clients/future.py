"""The result of a call that is answered later: like kafka-python's Future, without
threads.
"""

from collections.abc import Callable
from typing import Any

from minikafka.clients.errors import IllegalStateError


class Future:
    """Pending until succeed() or fail(). get() blocks by calling `wait`, which the
    shell provides: wait(future, seconds).
    """

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self.wait: Callable[[Future, float | None], None] | None = None
        self._callbacks: list[tuple[bool, Callable[[Any], Any]]] = []

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def succeed(self, value: Any) -> None:
        assert not self.is_done, "a future is answered once"
        self.is_done = True
        self.value = value
        self._call_back()

    def fail(self, exception: BaseException) -> None:
        assert not self.is_done, "a future is answered once"
        self.is_done = True
        self.exception = exception
        self._call_back()

    def add_callback(
        self, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> "Future":
        """Call function(*args, value, **kwargs) on success; at once if it has succeeded
        already.
        """
        self._callbacks.append((True, lambda value: function(*args, value, **kwargs)))
        self._call_back()
        return self

    def add_errback(
        self, function: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> "Future":
        """Call function(*args, exception, **kwargs) on failure, at once if it has
        failed already.
        """
        self._callbacks.append((False, lambda error: function(*args, error, **kwargs)))
        self._call_back()
        return self

    def get(self, timeout: float | None = None) -> Any:
        """Return the value, or raise the error. Lets time pass until there is one;
        timeout: seconds.
        """
        if not self.is_done:
            if self.wait is None:
                raise IllegalStateError(
                    "there is no answer yet, and nobody to wait for it"
                )
            self.wait(self, timeout)
        if self.exception is not None:
            raise self.exception
        return self.value

    def _call_back(self) -> None:
        if not self.is_done:
            return
        callbacks, self._callbacks = self._callbacks, []
        for on_success, function in callbacks:
            if on_success and self.exception is None:
                function(self.value)
            elif not on_success and self.exception is not None:
                function(self.exception)

    def __repr__(self) -> str:
        if not self.is_done:
            return "<pending>"
        if self.exception is not None:
            return f"<failed: {self.exception}>"
        return f"<{self.value!r}>"
