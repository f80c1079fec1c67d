"""A measured curve: one small plotly figure, and the same numbers as text.

Stored outputs and screen readers get the text. The figure is plotly's own data, without
its library, which JupyterLab brings: a notebook that holds one stays small.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# the theatre's actors, and one more
COLOURS = ("#0072B2", "#c98200", "#00795a", "#8f3f7f")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "x")


@dataclass(frozen=True, repr=False)
class Curve:
    """lines: name -> y values, one for each x. x_title, y_title: with their units. log:
    both axes have the same distance from 1 to 10 as from 10 to 100.
    """

    title: str
    x_title: str
    xs: Sequence[float]
    y_title: str
    lines: Mapping[str, Sequence[float]]
    log: bool = False

    def __repr__(self) -> str:
        columns = [[self.x_title, *(f"{x:g}" for x in self.xs)]]
        for name, ys in self.lines.items():
            columns.append([name, *(f"{y:.1f}" for y in ys)])
        for column in columns:
            width = max(map(len, column))
            column[:] = [word.rjust(width) for word in column]
        lines = [f"{self.title} ({self.y_title})"]
        lines += ["  ".join(row) for row in zip(*columns, strict=True)]
        return "\n".join(lines)

    def figure(self) -> Any:
        """The curve as a plotly figure."""
        from plotly import graph_objects

        figure = graph_objects.Figure()
        for number, (name, ys) in enumerate(self.lines.items()):
            look = number % len(COLOURS)
            line = {"color": COLOURS[look], "dash": DASHES[look]}
            marker = {"symbol": MARKERS[look], "size": 8}
            figure.add_scatter(
                x=list(self.xs),
                y=list(ys),
                name=name,
                mode="lines+markers",
                line=line,
                marker=marker,
            )
        figure.update_layout(
            title=self.title,
            template="simple_white",
            width=640,
            height=360,
            margin={"t": 80, "r": 20},
            legend={"orientation": "h", "x": 0, "y": 1.12},
            yaxis_rangemode="tozero",
        )
        figure.update_xaxes(title=self.x_title)
        figure.update_yaxes(title=self.y_title)
        if self.log:
            figure.update_xaxes(type="log", dtick=1)
            figure.update_yaxes(type="log", dtick=1)
        return figure

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        if os.environ.get("MINIKAFKA_PICTURES") != "text":
            bundle["application/vnd.plotly.v1+json"] = self.figure().to_plotly_json()
        return bundle
