"""The data sets of `datasets/`, for notebooks: in their folder `import datasets` finds nothing, or another package."""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[2] / "datasets"


@cache
def dataset(name: str) -> ModuleType:
    """The generator of this data set: dataset("orders").stream("orders", count=600, seed=7)."""
    path = FOLDER / f"{name}.py"
    if not path.exists():
        known = sorted(found.stem for found in FOLDER.glob("[a-z]*.py"))
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(known)}")
    spec = spec_from_file_location(f"minikafka_dataset_{name}", path)
    assert spec and spec.loader
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
