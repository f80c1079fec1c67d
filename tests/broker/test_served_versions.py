"""What a handler's docstring says of its versions is what its row in the table says."""

import re
import sys

import pytest

from minikafka.broker.handlers import HANDLERS

ROWS = list(HANDLERS.values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.api)
def test_a_handlers_docstring_names_the_versions_of_its_row(row):
    module = sys.modules[row.handle.__module__]
    said = " ".join((row.handle.__doc__ or module.__doc__).split())
    lowest, highest = row.versions
    one = rf"Version:? {lowest}\b"
    many = rf"\b{lowest} (to|and) {highest}\b"
    assert re.search(one if lowest == highest else many, said)
