"""A browser for the tests of pages."""

import pytest

from tests.chromium import running_chromium


@pytest.fixture(scope="module")
def chromium():
    with running_chromium() as browser:
        yield browser
