"""The defaults that the course names are those of the installed clients."""

import ctypes
import re
import sys
from functools import cache
from pathlib import Path

import pytest

from minikafka.clients import consumer_config, producer_config
from minikafka.course.client_defaults import CLIENTS, settings
from minikafka.course.contents import contents
from tests.kafka import java_tool


@cache
def java(side):
    """name -> default, from Kafka's own documentation of a client's configuration."""
    done = java_tool(f"org.apache.kafka.clients.{side}.{side.title()}Config")
    found = re.findall(
        r'<a id="([\w.]+)"></a>.*?<th>Default:</th><td>(.*?)</td>',
        done.stdout,
        re.DOTALL,
    )
    return {name: re.sub(r" \(.*\)$", "", default) for name, default in found}


@cache
def librdkafka():
    """The library inside confluent-kafka, and the functions that it exports."""
    import confluent_kafka

    folder = Path(confluent_kafka.__file__).parent
    found = [
        *folder.parent.glob("confluent_kafka.libs/librdkafka*"),
        *folder.glob(".dylibs/librdkafka*"),
    ]
    library = ctypes.CDLL(str(found[0]))
    library.rd_kafka_conf_new.restype = library.rd_kafka_topic_conf_new.restype = (
        ctypes.c_void_p
    )
    return library


def of_librdkafka(name):
    """The default of one of its properties: a client's, or a topic's."""
    library = librdkafka()
    for make, get, free in (
        (
            library.rd_kafka_conf_new,
            library.rd_kafka_conf_get,
            library.rd_kafka_conf_destroy,
        ),
        (
            library.rd_kafka_topic_conf_new,
            library.rd_kafka_topic_conf_get,
            library.rd_kafka_topic_conf_destroy,
        ),
    ):
        conf, text = ctypes.c_void_p(make()), ctypes.create_string_buffer(512)
        missing = get(conf, name.encode(), text, ctypes.byref(ctypes.c_size_t(512)))
        free(conf)
        if not missing:
            return text.value.decode()
    return "-"


def of_kafka_python(side, name):
    from kafka import KafkaConsumer, KafkaProducer

    client = {"producer": KafkaProducer, "consumer": KafkaConsumer}[side]
    return client.DEFAULT_CONFIG.get(in_python(name), "-")


def of_minikafka(side, name):
    config = {
        "producer": producer_config.checked({}),
        "consumer": consumer_config.DEFAULTS,
    }[side]
    return config[in_python(name)]


def in_python(name):
    return name.removesuffix(".class").replace(".", "_")


def word(default):
    """As the file has it: Java's spelling of values, assignors by name."""
    if isinstance(default, bool) or default is None:
        return {True: "true", False: "false", None: "null"}[default]
    if isinstance(default, tuple):
        return ", ".join(map(word, default))
    if isinstance(default, type):
        return default.name  # one of kafka-python's assignors
    if "org.apache.kafka.clients.consumer." in str(default):
        names = {
            "RangeAssignor": "range",
            "CooperativeStickyAssignor": "cooperative-sticky",
        }
        return ", ".join(names[each.rpartition(".")[2]] for each in default.split(","))
    if isinstance(default, str | int | float):
        return re.sub(r",(?=\w)", ", ", str(default))
    return type(default).__name__


def compared(setting, client):
    """What the file says of a client, without what is for the reader."""
    return re.sub(r" \(.*\)$", "", setting.defaults[CLIENTS.index(client)])


@pytest.mark.java
@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_javas_defaults(setting):
    assert word(java(setting.of)[setting.name]) == compared(setting, "Java 4.4")


@pytest.mark.skipif(sys.platform == "win32", reason="there the library lies elsewhere")
@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_librdkafkas_defaults(setting):
    assert word(of_librdkafka(setting.librdkafka_name)) == compared(
        setting, "librdkafka"
    )


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_kafka_pythons_defaults(setting):
    assert word(of_kafka_python(setting.of, setting.name)) == compared(
        setting, "kafka-python"
    )


@pytest.mark.parametrize("setting", settings(), ids=lambda setting: setting.name)
def test_minikafkas_defaults(setting):
    assert word(of_minikafka(setting.of, setting.name)) == compared(
        setting, "minikafka"
    )


@pytest.mark.parametrize("number", contents())
def test_a_default_that_a_lesson_shows_in_a_table_is_the_files(number):
    rows = re.findall(
        r"^\| `[\w.]+` (?:\| [^|\n]* ){4}\|$", contents()[number].prose, re.MULTILINE
    )
    assert set(rows) <= {setting.row for setting in settings()}
