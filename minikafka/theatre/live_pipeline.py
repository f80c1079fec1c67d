"""The producer's pipeline with its levers: what is lost on the way, and the producer's settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minikafka.theatre.live import Live
from minikafka.theatre.picture import Picture
from minikafka.trace import Event

LOST = ("nothing", "a request", "an answer")
CONFIGS = {
    "idempotence": "enable_idempotence",
    "in_flight": "max_in_flight_requests_per_connection",
    "linger_ms": "linger_ms",
    "acks": "acks",
}

Rerun = Callable[[str, dict[str, Any]], Sequence[Event]]


def pipeline(rerun: Rerun, *, lost: str = "an answer", idempotence: bool = False, in_flight: int = 5,
             linger_ms: int = 0, acks: str = "all", seed: int | None = None) -> Live:  # fmt: skip
    """rerun(lost, config): the trace of a producer with these settings, where that was lost (one of LOST)."""
    import ipywidgets

    def show(lost: str, **values: Any) -> Picture:
        from minikafka.theatre import picture

        config = {CONFIGS[name]: value for name, value in values.items()}
        return picture("pipeline", rerun(lost, config), seed=seed)

    def code(name: str, lost: str, **values: Any) -> str:
        if name != "lost":
            return f"cluster.producer({CONFIGS[name]}={values[name]!r})"
        answer = ", answer=True" if lost == "an answer" else ""
        lose = "" if lost == "nothing" else f', Lose("shop", 1, "Produce", nth=2{answer})'
        return f'cluster = Cluster(faults=[Delay("shop", 1, extra_ms=10){lose}])'

    wide = ipywidgets.Layout(width="260px")
    count: dict[str, Any] = {"continuous_update": False, "layout": wide}
    controls = {
        "lost": ipywidgets.Dropdown(options=LOST, value=lost, description="lost", layout=wide),
        "idempotence": ipywidgets.Dropdown(
            options=[("no", False), ("yes", True)], value=idempotence, description="idempotent", layout=wide
        ),
        "in_flight": ipywidgets.IntSlider(value=in_flight, min=1, max=5, description="in flight", **count),
        "linger_ms": ipywidgets.IntSlider(value=linger_ms, min=0, max=20, description="linger_ms", **count),
        "acks": ipywidgets.Dropdown(options=["0", "1", "all"], value=acks, description="acks", layout=wide),
    }
    return Live(show, controls, code)
