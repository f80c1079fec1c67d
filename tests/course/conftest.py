"""What the tests of the checks share."""

import pytest


@pytest.fixture(scope="module")
def spark():
    """The notebook's own session, warm: the clock of a check runs for the answer."""
    from minikafka.course.spark import session

    spark = session("tests")
    spark.createDataFrame([(b"{}",)], "value binary").selectExpr(
        "from_json(string(value), 'a int')"
    ).collect()
    yield spark
    spark.stop()
