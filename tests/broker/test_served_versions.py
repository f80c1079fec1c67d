"""The table of APIs names functions that are there, and says what their docstrings say."""

import re
import sys
from inspect import signature

import pytest

from minikafka.broker.calls import Call
from minikafka.broker.handlers import HANDLERS, Handlers
from minikafka.clock import Now
from minikafka.wire.errors import KafkaError
from tests.broker.node import Node

ROWS = list(HANDLERS.values())
SERVED = Handlers(Node().broker)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_handlers_docstring_names_the_versions_of_its_row(row):
    handle = row.handle(SERVED)
    module = sys.modules[handle.__module__]
    said = " ".join((handle.__doc__ or module.__doc__).split())
    lowest, highest = row.versions
    one = rf"Version:? {lowest}\b"
    many = rf"\b{lowest} (to|and) {highest}\b"
    assert re.search(one if lowest == highest else many, said)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_row_names_functions_that_take_what_they_are_given(row):
    given = {
        row.handle: [Call, Now],
        row.refuse: [Call, KafkaError],
        row.split: [Call],
    }
    for function, types in given.items():
        if function is not None:
            parameters = signature(function(SERVED)).parameters.values()
            assert [each.annotation for each in parameters] == types


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_handler_has_the_name_of_its_api(row):
    words = re.sub(r"(?<!^)(?=[A-Z])", "_", row.api).lower()
    assert row.handle(SERVED).__name__ == words
