"""Fibres: functions that stop in the middle of a call and go on later. On CPython each
is a greenlet.

This is all that programs need from a fibre; fibres_in_browser.py provides the same
where Python runs in WebAssembly.
"""

import sys
from typing import Any

if sys.platform == "emscripten":
    from minikafka.simulation.fibres_in_browser import Fibre, Freed, current
else:
    import greenlet

    # raised in a fibre that is freed; the caller of free() doesn't see it
    Freed = greenlet.GreenletExit

    class Fibre(greenlet.greenlet):  # type: ignore[misc]  # it has no types
        """Fibre(function) runs function() from the first resume() on."""

        programs: Any = None  # the programs it belongs to
        dead_calls = 0  # how often it has called us after its end

        def resume(self) -> None:
            """Called from outside: returns when the function gives way or ends, and
            raises what the function raises.
            """
            self.parent = greenlet.getcurrent()
            self.switch()

        def give_way(self) -> None:
            """Called in the function: return to the caller of resume()."""
            self.parent.switch()

        def free(self) -> None:
            """End the function where it is, if it has begun: Freed is raised there."""
            if self:
                self.throw()

    def current() -> Fibre | None:
        """The fibre that makes this call; None outside of all fibres."""
        here = greenlet.getcurrent()
        return here if isinstance(here, Fibre) else None


__all__ = ["Fibre", "Freed", "current"]
