"""Both ways to install the course give the same packages, and a wheel holds all that a
picture needs.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from minikafka.course.doctor import NEWEST, OLDEST

ROOT = Path(__file__).resolve().parents[2]
GIT = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())


def pip_packages() -> dict[str, SpecifierSet]:
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"], *extras["lab"], *extras["spark"]]
    return {
        requirement.name: requirement.specifier
        for requirement in map(Requirement, lines)
    }


def conda_packages() -> dict[str, SpecifierSet]:
    """conda's `name >=1,<2` read as pip reads it; `name 17.*` is its `name==17.*`.
    What conda lets pip install stands in a list of its own.
    """
    *from_conda, by_pip = CONDA["dependencies"]
    entries = (entry.partition(" ") for entry in [*from_conda, *by_pip["pip"]])
    return {
        name: SpecifierSet(re.sub(r"^(?=\d)", "==", version))
        for name, _, version in entries
    }


def test_environment_yml_and_pyproject_name_the_same_packages_in_the_same_versions():
    conda = conda_packages()
    oldest, newest = OLDEST[1], NEWEST[1]
    assert PROJECT["requires-python"] == f">=3.{oldest},<3.{newest + 1}"
    assert conda.pop("python") == SpecifierSet(f">=3.{oldest},<3.{newest + 1}")
    assert conda.pop("openjdk") == SpecifierSet("==17.*")
    assert conda.pop("pip") == SpecifierSet("")
    assert conda == pip_packages()


def test_environment_yml_comes_from_conda_forge_alone():
    assert CONDA["name"] == "minikafka"
    assert CONDA["channels"] == ["conda-forge", "nodefaults"]


def test_the_core_needs_four_packages():
    needed = {"crc32c", "cramjam", "google-re2", "greenlet"}
    assert {Requirement(line).name for line in PROJECT["dependencies"]} == needed


def test_the_oracle_is_one_version_of_apache_kafka_everywhere():
    import tasks
    from tests import kafka

    pom = (ROOT / "tests/pom.xml").read_text()
    assert f"<kafka.version>{kafka.VERSION}</kafka.version>" in pom
    assert kafka.VERSION == tasks.KAFKA_VERSION
    assert kafka.PREVIOUS == tasks.PREVIOUS_KAFKA


def test_pyspark_its_connector_and_delta_are_of_one_line():
    from minikafka.course import spark

    line = re.search(r":(\d+\.\d+)\.\d+$", spark.PACKAGES)[1]
    assert f"delta-spark_{line}_2.13:" in spark.DELTA
    pyspark = pip_packages()["pyspark"]
    assert f"{line}.0" in pyspark
    major, minor = line.split(".")
    assert f"{major}.{int(minor) + 1}.0" not in pyspark


@pytest.mark.parametrize("suffix", [".js", ".css", ".csv", ".html", ".svg", ".txt"])
def test_the_package_ships_the_files_that_are_not_python(suffix):
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
        "setuptools"
    ]["package-data"]["*"]
    used = {path.suffix for path in (ROOT / "minikafka").rglob("*") if path.is_file()}
    assert suffix not in used or f"*{suffix}" in shipped


def test_the_wheel_brings_every_room_and_every_shelf_of_the_course():
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    moved = named["package-dir"]
    listed = subprocess.run(GIT, cwd=ROOT, capture_output=True, text=True, check=True)
    files = [Path(name) for name in listed.stdout.splitlines()]
    rooms = {
        ".".join(path.parent.parts) for path in files if path.parts[0] == "minikafka"
    }
    for package, folder in moved.items():
        inside = {path.parent for path in files if path.parts[0] == folder}
        rooms |= {".".join([package, *path.parts[1:]]) for path in inside}
    assert sorted(rooms) == named["packages"]


def test_python_in_the_browser_reads_all_files_of_the_package():
    from minikafka.course.publishing.site_python import shipped

    others = (":!*/py.typed", ":!*.md", ":!*.go", ":!*.java", ":!*.mjs")
    git = ["git", "ls-files", "minikafka", *others]
    listed = subprocess.run(
        git, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert set(listed) <= {path.relative_to(ROOT).as_posix() for path in shipped()}


WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_a_job_that_may_write_runs_no_code_of_ours_and_nothing_that_was_installed():
    """What it publishes was built by another job, which may only read."""
    writing = []
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            if "write" in job.get("permissions", {}).values():
                writing.append(f"{path.stem}: {name}")
                assert not [step for step in job["steps"] if "run" in step]
                used = [step["uses"].partition("@")[0] for step in job["steps"]]
                assert "actions/checkout" not in used
    assert writing == ["release: publish", "site: publish"]


def test_an_action_is_named_by_its_commit_since_its_tag_may_move():
    used = []
    for path in WORKFLOWS:
        used += re.findall(r"uses: (.*)", path.read_text())
    pin = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert used and not [one for one in used if not pin.fullmatch(one)]
    of_each = {one.partition("@")[0] for one in used}
    assert len(set(used)) == len(of_each), "one version of each action"


@pytest.mark.slow
def test_the_workflows_are_what_their_runner_reads():
    paths = WORKFLOWS
    assert [path.stem for path in paths] == [
        "docker",
        "nightly",
        "release",
        "site",
        "tests",
    ]
    command = [sys.executable, "-m", "check_jsonschema"]
    command += ["--builtin-schema", "vendor.github-workflows", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_top_level_holds_nothing_but_the_rooms():
    rooms = {
        "notebooks",
        "minikafka",
        "datasets",
        "docker",
        "tests",
        ".ci",
        ".devcontainer",
        ".github",
    }
    files = {"environment.yml", "pyproject.toml", "Makefile", "tasks.py", ".gitignore"}
    texts = {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"}
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        git, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {name.split("/")[0] for name in listed} <= rooms | files | texts
