"""The table of APIs names functions that are there, and says what their docstrings say."""

import re
import sys
from inspect import signature

import pytest

from minikafka.broker.calls import Call
from minikafka.broker.handlers import HANDLERS, load
from minikafka.broker.parts import Parts
from minikafka.clock import Now
from minikafka.wire.errors import KafkaError

ROWS = list(HANDLERS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_handlers_docstring_names_the_versions_of_its_row(row):
    handle = load(row.handle)
    module = sys.modules[handle.__module__]
    said = " ".join((handle.__doc__ or module.__doc__).split())
    lowest, highest = row.versions
    one = rf"Version:? {lowest}\b"
    many = rf"\b{lowest} (to|and) {highest}\b"
    assert re.search(one if lowest == highest else many, said)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_row_names_functions_that_take_what_they_are_given(row):
    given = {
        row.handle: [Parts, Call, Now],
        row.refuse: [Call, KafkaError],
        row.split: [Parts, Call],
    }
    for name, types in given.items():
        if name is not None:
            parameters = signature(load(name)).parameters.values()
            assert [each.annotation for each in parameters] == types
