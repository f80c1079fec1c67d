"""The data sets of `datasets/`, for notebooks: in their folder `import datasets` finds
nothing, or another package.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from minikafka.course.places import DATASETS

PACKAGE = "minikafka_datasets"


def dataset(name: str) -> ModuleType:
    """The generator of this data set: dataset("orders").stream("orders", count=600,
    seed=7).
    """
    known = _package().NAMES
    if name not in known:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(known)}")
    return import_module(f"{PACKAGE}.{name}")


def replayer() -> ModuleType:
    """datasets/replay.py, whose `send` sends a data set to Kafka."""
    _package()
    return import_module(f"{PACKAGE}.replay")


@cache
def _package() -> ModuleType:
    spec = spec_from_file_location(
        PACKAGE, DATASETS / "__init__.py", submodule_search_locations=[str(DATASETS)]
    )
    assert spec and spec.loader
    package = sys.modules[PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(package)
    return package
