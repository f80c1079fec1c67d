"""A measured curve: a figure for those who see it, the numbers for everybody."""

from minikafka.course.experiments.curves import Curve

CURVE = Curve(
    "Waits", "linger_ms", [0, 5], "ms", {"near": [4.5, 7.04], "far": [57, 51]}
)


def test_a_curve_is_a_table_in_stored_outputs(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    assert CURVE._repr_mimebundle_() == {
        "text/plain": (
            "Waits (ms)\nlinger_ms  near   far\n        0   4.5  57.0\n        5   7.0 "
            " 51.0"
        )
    }


def test_a_curve_is_a_small_plotly_figure_beside_it(monkeypatch):
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    bundle = CURVE._repr_mimebundle_()
    figure = bundle["application/vnd.plotly.v1+json"]
    assert [
        (line["name"], list(line["x"]), list(line["y"])) for line in figure["data"]
    ] == [
        ("near", [0, 5], [4.5, 7.04]),
        ("far", [0, 5], [57, 51]),
    ]
    assert bundle["text/plain"] == repr(CURVE) and len(str(figure)) < 20_000
