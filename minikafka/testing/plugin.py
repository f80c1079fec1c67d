"""pytest's fixtures: a Kafka for each test that asks for one.

    def test_orders(kafka):
        topic = kafka.topic()

The brokers start with the first test that needs them, and are there for all that want
the same ones; pytest-xdist's workers have their own. After a test its topics and its
faults are gone. A test that killed a broker, or moved the time, gets rid of the brokers
as well: the next one starts new ones.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from minikafka.testing.heard import Heard
    from minikafka.testing.kafka import AnyKafka, Kafka

MARKER = "minikafka"
CLUSTER = {"brokers": 3}
SETTINGS = {"brokers", "config", "sasl", "fresh"}
OPTION = "--kafka"
IN_CONTAINER = "testcontainers"  # its value
FIXTURES = {"kafka", "kafka_cluster"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup(MARKER).addoption(
        OPTION,
        metavar="HOST:PORT",
        help=(
            "run the tests on this Kafka instead of minikafka's, or with"
            f" {IN_CONTAINER} on Apache Kafka in a container; those that make something"
            " go wrong, or move the time, are skipped"
        ),
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(brokers=1, config={{}}, sasl=None, fresh=False): the brokers that the fixture"
        " kafka gives",
    )


class Running:
    """The brokers that run, by what tests want of them. kept: those that stay until
    the end, whatever happens to them.
    """

    def __init__(self) -> None:
        self._by_settings: dict[tuple[Any, ...], Kafka] = {}
        self._kept: set[int] = set()

    def get(self, settings: dict[str, Any]) -> "Kafka":
        from minikafka.testing.kafka import Kafka

        config = {
            name: str(value) for name, value in settings.get("config", {}).items()
        }
        brokers = settings.get("brokers", 1)
        options = {"sasl": settings.get("sasl"), "fresh": settings.get("fresh", False)}
        key = (brokers, *options.values(), *sorted(config.items()))
        if key not in self._by_settings:
            self._by_settings[key] = Kafka(brokers, config, **options)
        return self._by_settings[key]

    def keep(self, kafka: "Kafka") -> None:
        self._kept.add(id(kafka))

    def give_back(self, kafka: "Kafka") -> None:
        """After a test: brokers to which something has happened are for nobody else."""
        kafka.lift_faults()
        if kafka.is_as_new:
            return
        if id(kafka) in self._kept:
            kafka.mend_all()
            return
        kafka.close()
        for key, each in list(self._by_settings.items()):
            if each is kafka:
                del self._by_settings[key]

    def close(self) -> None:
        for each in self._by_settings.values():
            each.close()


@pytest.fixture(scope="session")
def _minikafkas() -> Iterator[Running]:
    running = Running()
    yield running
    running.close()


@pytest.fixture(scope="session")
def _kafka_in_container() -> Iterator[str]:
    """Its address. Without it no test can run."""
    from minikafka.testing.container import NoContainer, apache_kafka

    try:
        with apache_kafka() as address:
            yield address
    except NoContainer as error:
        why = f"{OPTION}={IN_CONTAINER}: {error}"
        pytest.exit(why, pytest.ExitCode.USAGE_ERROR)


def settings_of(
    request: pytest.FixtureRequest, given: dict[str, Any]
) -> dict[str, Any]:
    """What a test's markers ask for, the nearest one first. given: unless they do."""
    found = dict(given)
    for marker in reversed([*request.node.iter_markers(MARKER)]):
        if marker.args or not {*marker.kwargs} <= SETTINGS:
            raise pytest.UsageError(
                f"@pytest.mark.{MARKER} takes brokers=, config=, sasl= and fresh=, not"
                f" {marker.args or marker.kwargs}"
            )
        found |= marker.kwargs
    return found


def lend(request: pytest.FixtureRequest, given: dict[str, Any]) -> "Iterator[AnyKafka]":
    address = request.config.getoption(OPTION)
    if address == IN_CONTAINER:
        address = request.getfixturevalue("_kafka_in_container")
    if address:
        yield from lend_another(address)
        return
    running: Running = request.getfixturevalue("_minikafkas")
    kafka = running.get(settings_of(request, given))
    before = len(kafka.made_topics)
    kafka.heard.begin()
    yield kafka
    kafka.heard.end()
    running.give_back(kafka)
    if kafka.is_as_new:
        kafka.delete_topics(*kafka.made_topics[before:])
    del kafka.made_topics[before:]


def lend_another(address: str) -> "Iterator[AnyKafka]":
    """The Kafka that somebody else runs."""
    from minikafka.testing.kafka import AnyKafka

    class Another(AnyKafka):
        bootstrap_servers = address

        def _skip(self, *args: object, **kwargs: object) -> NoReturn:
            pytest.skip(f"needs minikafka's own brokers, and {OPTION} names others")

        clock = property(_skip)
        fault = broker = cut = mend = _skip

    kafka = Another(lambda: address.split(","))
    try:
        yield kafka
        kafka.delete_topics(*kafka.made_topics)
    finally:
        kafka.close()


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> "Iterator[AnyKafka]":
    """One broker, or those that the marker minikafka asks for."""
    yield from lend(request, {})


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> "Iterator[AnyKafka]":
    """Three brokers."""
    yield from lend(request, CLUSTER)


@pytest.fixture(scope="session")
def session_kafka(_minikafkas: Running) -> "Kafka":
    """The broker that tests without a marker have, for fixtures of the whole session.
    It stays, whatever a test does to it.
    """
    kafka = _minikafkas.get({})
    _minikafkas.keep(kafka)
    return kafka


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What clients asked of the brokers of a test that failed, and what came of it."""
    report = yield
    if report.when == "call" and report.failed:
        given: dict[str, Any] = getattr(item, "funcargs", {})
        for name in FIXTURES & given.keys():
            heard = getattr(given[name], "heard", None)
            story = "" if heard is None else told(item, heard)
            if story:
                what = f"What {name} heard from clients, and what came of it"
                report.sections.append((what, story))
    return report


def told(item: pytest.Item, heard: "Heard") -> str:
    """The lines, and where a page plays them; empty, if nothing happened. Whatever goes
    wrong here, the test's own failure is reported.
    """
    try:
        lines = str(heard)
        return f"{lines}\n{where_it_plays(item, heard)}" if lines else ""
    except Exception as error:
        return f"it can't be told, a bug of minikafka's; please report it: {error!r}"


def where_it_plays(item: pytest.Item, heard: "Heard") -> str:
    """The address of the page that shows it; empty, if there is none."""
    from minikafka.testing.playing import written

    cache: pytest.Cache | None = getattr(item.config, "cache", None)
    try:
        folder = None if cache is None else cache.mkdir(MARKER)
        path = written(heard, item.nodeid, folder)
    except Exception as error:
        return f"it can't be shown as a picture: {error!r}"
    return "" if path is None else f"see it step by step: {path.as_uri()}"


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show what the topic holds when a test expected other records."""
    import sys

    records = sys.modules.get("minikafka.testing.records")
    if records is None or op != "==":
        return None
    for one, other in ((left, right), (right, left)):
        if isinstance(one, records.Column):
            return [f"{[*one]} == {other!r}", *str(one.records).splitlines()]
        if isinstance(one, records.Records):
            return [f"records of {one.topic} == {other!r}", *str(one).splitlines()]
    return None
