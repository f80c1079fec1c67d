"""A plugin for nbval: a cell's outputs may take longer to come than the five seconds
that it gives them.
"""

import tests.no_grammar  # noqa: F401 (before nbval)

OUTPUT_TIMEOUT_S = 120


def pytest_collection_modifyitems(items):
    for cell in items:
        cell.output_timeout = OUTPUT_TIMEOUT_S
