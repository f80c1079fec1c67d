"""The connector's jars as Spark has fetched them. Its folder may hold those of another
Spark, too.
"""

import re
from pathlib import Path

import pytest

from minikafka.course import spark

ROOT = Path(__file__).resolve().parents[2]
IVY = Path.home() / ".ivy2.5.2"
DEPENDENCY = re.compile(r'<dependency org="([^"]+)" name="([^"]+)" rev="([^"]+)"')


def four_jars() -> list[Path]:
    """Those that the Dockerfile keeps, of this connector's version. Skips where Spark
    has fetched them to another folder.
    """
    dockerfile = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    patterns = re.findall(r"\borg\.[\w.-]+\*\.jar", dockerfile)
    group, name, version = spark.PACKAGES.split(":")
    described = IVY / "cache" / group / name / f"ivy-{version}.xml"
    if not described.exists():
        pytest.skip(f"Spark has not fetched its connector to {IVY}")
    needed = [(group, name, version), *DEPENDENCY.findall(described.read_text())]
    names = {f"{group}_{name}-{version}.jar" for group, name, version in needed}
    found = [jar for each in patterns for jar in (IVY / "jars").glob(each)]
    return [jar for jar in found if jar.name in names]
