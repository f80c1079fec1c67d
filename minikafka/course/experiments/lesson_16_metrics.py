"""What an operator watches in lesson 16: the numbers that its brokers have for
Prometheus, scraped twice a second, and drawn while a command works.
"""

import re
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from minikafka.course import cards
from minikafka.course.experiments.curves import COLOURS

SAMPLE_SECONDS = 0.5
PATIENCE_SECONDS = 2.0
KEPT = 2400  # twenty minutes
BEFORE_SECONDS = 5.0  # what a figure shows of the time before
LINE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = dict[str, str]


class Sample(NamedTuple):
    """What all brokers together say at a moment. rates are those since the sample
    before.
    """

    at_s: float
    brokers: float
    controllers: float
    under_replicated: float
    under_min_isr: float
    offline: float
    produce_ms: float
    lag: float
    copied_bytes: float
    copied_mb_s: float


# field of Sample -> its panel's title: Kafka's own name, and its unit
PANELS = {
    "under_replicated": "UnderReplicatedPartitions",
    "under_min_isr": "UnderMinIsrPartitionCount",
    "offline": "OfflinePartitionsCount",
    "controllers": "ActiveControllerCount",
    "produce_ms": "Produce TotalTimeMs, 99%",
    "lag": "lag of billing, records",
    "brokers": "brokers that answer",
    "copied_mb_s": "copied by followers, MB/s",
}
COLUMNS = 4
SAMPLES_AFTER = 6  # that are drawn when a command is done


class Told(Protocol):
    """A broker that has metrics to scrape."""

    metrics: str

    @property
    def is_up(self) -> bool: ...


def scraped(address: str) -> Iterator[tuple[str, Labels, float]]:
    """(name, labels, value) of each metric; none if the broker doesn't answer."""
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
            text = answer.read().decode()
    except OSError:
        return
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        if found:
            name, labels, value = found.groups()
            yield name, dict(LABEL.findall(labels or "")), float(value)


def summed(nodes: Iterable[Told], before: Sample | None) -> Sample:
    """One sample: counts are added, a latency is the worst one."""
    totals: defaultdict[str, float] = defaultdict(float)
    ends: dict[tuple[str, str], float] = {}
    committed: dict[tuple[str, str], float] = {}
    slowest = 0.0
    now = time.monotonic()
    for node in nodes:
        answers = False
        for name, labels, value in scraped(node.metrics):
            answers = True
            if name == "kafka_log_log_logendoffset":
                place = labels["topic"], labels["partition"]
                ends[place] = max(value, ends.get(place, 0))
            elif name == "minikafka_group_committed_offset":
                if labels["group"] == "billing":
                    committed[labels["topic"], labels["partition"]] = value
            elif name == "kafka_network_requestmetrics_totaltimems":
                if labels["request"] == "Produce" and labels["quantile"] == "0.99":
                    slowest = max(slowest, value)
            elif name == "kafka_controller_kafkacontroller_offlinepartitionscount":
                totals[name] = max(totals[name], value)  # every controller says it
            elif not labels:
                totals[name] += value
        totals["brokers"] += answers
    copied = totals["kafka_server_brokertopicmetrics_replicationbytesin_total"]
    rate = 0.0
    if before and now > before.at_s:
        rate = max(0.0, copied - before.copied_bytes) / (now - before.at_s) / 1e6
    replicas = "kafka_server_replicamanager_"
    controller = "kafka_controller_kafkacontroller_"
    return Sample(
        at_s=now,
        brokers=totals["brokers"],
        controllers=totals[controller + "activecontrollercount"],
        under_replicated=totals[replicas + "underreplicatedpartitions"],
        under_min_isr=totals[replicas + "underminisrpartitioncount"],
        offline=totals[controller + "offlinepartitionscount"],
        produce_ms=slowest,
        lag=sum(max(0, ends.get(place, 0) - at) for place, at in committed.items()),
        copied_bytes=copied,
        copied_mb_s=rate,
    )


class Watch:
    """Samples brokers in a thread of its own, until closed. nodes: a dictionary that
    may grow.
    """

    def __init__(self, nodes: dict[int, Any]) -> None:
        self._nodes = nodes
        self.samples: list[Sample] = []
        self._marks: list[tuple[float, str]] = []
        self._live: Any = None  # an Output widget
        self._drawn = 0  # samples, when it was drawn
        self._since = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(SAMPLE_SECONDS):
            before = self.samples[-1] if self.samples else None
            up = [node for node in self._nodes.values() if node.is_up]
            self.samples.append(summed(up, before))
            del self.samples[:-KEPT]

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def latest(self) -> Sample:
        """A sample that begins now."""
        return summed(
            [node for node in self._nodes.values() if node.is_up],
            self.samples[-1] if self.samples else None,
        )

    # -- the figure

    def begin(self, what: str) -> None:
        """From here on, the curves of this moment are drawn below the cell, again and
        again until `end`.
        """
        now = time.monotonic()
        self._since = now - BEFORE_SECONDS
        self._marks = [*self._marks[-6:], (now, what)]
        self._live = None
        if cards.is_notebook():
            import ipywidgets
            from IPython.display import display

            self._live = ipywidgets.Output()
            display(self._live)

    def refresh(self) -> None:
        """Draw what has come since."""
        if self._live is None or len(self.samples) == self._drawn:
            return
        from IPython.display import clear_output, display

        self._drawn = len(self.samples)
        with self._live:  # JupyterLab's plotly draws a figure that is updated only once
            clear_output(wait=True)
            display(self._bundle(), raw=True)

    def end(self) -> None:
        """A moment longer, to see what follows. Then the curves stay as they are."""
        if self._live is None:
            return
        from IPython.display import display

        seen = len(self.samples)
        while len(self.samples) < seen + SAMPLES_AFTER:
            self.refresh()
            time.sleep(SAMPLE_SECONDS / 4)
        self._live.close()
        self._live = None
        display(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, Any]:
        figure = self.figure()
        text = "curves: " + ", ".join(PANELS.values())
        return {"text/plain": text, "application/vnd.plotly.v1+json": figure}

    def figure(self) -> Any:
        from plotly.subplots import make_subplots

        rows = -(-len(PANELS) // COLUMNS)
        figure = make_subplots(
            rows, COLUMNS, subplot_titles=list(PANELS.values()), vertical_spacing=0.28
        )
        seen = [each for each in self.samples if each.at_s >= self._since]
        times = [each.at_s - self._since - BEFORE_SECONDS for each in seen]
        for number, field in enumerate(PANELS):
            place = {"row": number // COLUMNS + 1, "col": number % COLUMNS + 1}
            values = [getattr(each, field) for each in seen]
            line = {"color": COLOURS[number % len(COLOURS)], "shape": "hv"}
            figure.add_scatter(x=times, y=values, mode="lines", line=line, **place)
            most = max([1.0, *values])
            figure.update_yaxes(range=[0, 1.15 * most], **place)
        for at, _ in self._marks:
            if at >= self._since:
                figure.add_vline(
                    x=at - self._since - BEFORE_SECONDS, line_dash="dot", line_width=1
                )
        figure.update_annotations(font_size=11)
        title = self._marks[-1][1] if self._marks else ""
        figure.update_layout(
            title={"text": f"0 s: {title}", "font": {"size": 14}},
            template=None,
            showlegend=False,
            height=380,
            margin={"t": 70, "r": 10, "l": 40, "b": 40},
        )
        figure.update_xaxes(ticksuffix=" s", tickfont_size=10)
        figure.update_yaxes(tickfont_size=10, nticks=4)
        return figure.to_plotly_json()
