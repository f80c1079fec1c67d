"""Fibres: functions that stop in the middle of a call and go on later. On CPython each
is a greenlet.

Programs need of a fibre what stands here, and nothing else; fibres_in_browser.py gives
the same where Python runs in WebAssembly.
"""

import sys
from typing import Any

if sys.platform == "emscripten":
    from minikafka.simulation.fibres_in_browser import Fibre, Freed, current
else:
    import greenlet

    # raised in a fibre that is freed; whoever freed it doesn't hear of it
    Freed = greenlet.GreenletExit

    class Fibre(greenlet.greenlet):  # type: ignore[misc]  # it has no types
        """Fibre(function) runs function() from the first resume() on."""

        programs: Any = None  # whose it is
        dead_calls = 0  # how often it has called us after its end

        def resume(self) -> None:
            """Called from outside: returns when the function gives way or ends, and
            raises what it raises.
            """
            self.parent = greenlet.getcurrent()
            self.switch()

        def give_way(self) -> None:
            """Called in the function: back to who has resumed it."""
            self.parent.switch()

        def free(self) -> None:
            """End the function where it stands, if it has begun: Freed is raised
            there.
            """
            if self:
                self.throw()

    def current() -> Fibre | None:
        """The fibre that makes this call; None outside all of them."""
        here = greenlet.getcurrent()
        return here if isinstance(here, Fibre) else None


__all__ = ["Fibre", "Freed", "current"]
