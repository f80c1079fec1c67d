"""The course in a tab: JupyterLite, whose kernel is Python in a web worker, with the
lessons of the simulated cluster.

JupyterLite comes from PyPI into an environment of its own in .cache/site, with the
wheels that its kernel imports. All of these stand in one lock file beside Pyodide, so
the kernel asks no package index for anything.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from minikafka.course.contents import Contents
from minikafka.course.demo import Problem
from minikafka.course.editions import learners
from minikafka.course.places import NOTEBOOKS
from minikafka.course.publishing import site_address, site_python
from minikafka.course.publishing.pictures_of_lessons import shown

VERSION = "0.8.6"
REQUIREMENTS = (
    f"jupyterlite-core=={VERSION}",
    f"jupyterlite-pyodide-kernel=={VERSION}",
    "jupyter-server==2.21.1",
    "jupyterlab-widgets==3.0.17",
    "jupyterlab-server==2.28.1",
)
ENVIRONMENT = site_python.CACHE / f"jupyterlite-{VERSION}"
WHEELS = site_python.CACHE / "wheels"
KERNEL = "@jupyterlite/pyodide-kernel-extension"
NEITHER_TCP_NOR_JAVA = [f"{number:02}" for number in range(16)]
# a cell for real clients: its output differs each time, or doesn't
NEEDS_MORE = {"nbval-ignore-output", "tcp"}
INSTEAD = (
    "# This cell needs TCP or Java, which a browser's tab has not. It prints what it"
    " showed on another machine:"
)
# where its logo leads, which in Jupyter is a list of files
BACK = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=../../index.html#lessons">
<title>minikafka: the lessons</title>
<p><a href="../../index.html#lessons">The lessons</a></p>
</html>
"""


def build(site: Path, lessons: Iterable[Contents]) -> list[str]:
    """JupyterLite in site/lab, with these lessons as far as a tab can run them. Returns
    the files' names.
    """
    source = site_python.CACHE / "lab"
    shutil.rmtree(source, ignore_errors=True)
    chosen = [lesson for lesson in lessons if lesson.number in NEITHER_TCP_NOR_JAVA]
    place_pictures(source / "files" / "notebooks" / "pictures")
    for reading in NOTEBOOKS.glob("*.md"):
        shutil.copy(reading, source / "files" / "notebooks")
    for lesson in chosen:
        (source / "files" / lesson.path.name).write_text(
            for_a_tab(lesson), encoding="utf-8"
        )
    fetch()
    names = lock(site)
    # The kernel takes this one from the site of JupyterLite on, and the next one from
    # its page on.
    options = {"lockFileURL": "../python/lab-lock.json", "packages": names}
    settings = {
        "pyodideUrl": "../../python/pyodide.mjs",
        "disablePyPIFallback": True,
        "loadPyodideOptions": options,
    }
    config = {
        "appName": "minikafka",
        "exposeAppInBrowser": True,
        "litePluginSettings": {f"{KERNEL}:kernel": settings},
    }
    text = json.dumps({"jupyter-lite-schema-version": 0, "jupyter-config-data": config})
    (source / "jupyter-lite.json").write_text(text, encoding="utf-8")
    # It keeps here what it has done, and would leave our settings out of the next site.
    (site_python.CACHE / ".jupyterlite.doit.db").unlink(missing_ok=True)
    command = [python(), "-m", "jupyterlite_core", "build"]
    command += ["--lite-dir", source, "--contents", "files"]
    command += ["--output-dir", site / "lab", "--apps", "notebooks", "--apps", "lab"]
    command += ["--no-sourcemaps", "--no-unused-shared-packages", "--no-libarchive"]
    run([*command, "--force"], "JupyterLite could not be built")
    (site / "lab" / "tree").mkdir()
    (site / "lab" / "tree" / "index.html").write_text(BACK, encoding="utf-8")
    # icons in formats that no browser with WebAssembly asks for: two megabytes
    for kind in ("eot", "svg", "ttf"):
        for font in (site / "lab" / "build").glob(f"fa-*.{kind}"):
            font.unlink()
    return [lesson.path.name for lesson in chosen]


def place_pictures(folder: Path) -> None:
    """The lessons' hook pictures. JupyterLite hands a file to the browser through
    btoa(), which knows Latin-1 and nothing else: other characters are written by
    number.
    """
    folder.mkdir(parents=True)
    for path in (NOTEBOOKS / "pictures").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        (folder / path.name).write_bytes(text.encode("ascii", "xmlcharrefreplace"))


def for_a_tab(lesson: Contents) -> str:
    """The learner's notebook, with its first picture, and a way back to the site if its
    address is known: JupyterLite takes any other link for one of its own files. A cell
    for real clients prints what it is stored with.
    """
    import nbformat

    notebook: Any = nbformat.read(lesson.path, as_version=4)
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and NEEDS_MORE.intersection(tags):
            printed = "".join(output.get("text", "") for output in cell.outputs)
            code = "\n".join(f"# {line}".rstrip() for line in cell.source.splitlines())
            cell.source = f"{INSTEAD}\nprint({printed.rstrip()!r})\n\n{code}"
    base = site_address.web_address()
    if base:
        title, _, more = notebook.cells[0].source.partition("\n")
        back = f"[This lesson as a page]({base}lessons/{lesson.path.stem}.html)"
        notebook.cells[0].source = f"{title}\n\n{back}\n{more}"
    book = json.loads(nbformat.writes(learners(notebook)))
    show_the_first_picture(book, lesson)
    return json.dumps(book, ensure_ascii=False)


def show_the_first_picture(book: dict[str, Any], lesson: Contents) -> None:
    """It is there, and plays, while Python is still on its way: as the cell that makes
    it would show it. One with levers needs its kernel, and waits.
    """
    first = next(shown(lesson), None)
    if first is None or first.levers:
        return
    [cell] = [each for each in book["cells"] if each["id"] == first.cell]
    data = {"text/plain": repr(first.picture), "text/html": first.picture.frame()}
    cell["outputs"] = [{"output_type": "display_data", "data": data, "metadata": {}}]
    # else JupyterLab leaves out what could run; nbformat would not write it
    cell["metadata"]["trusted"] = True


def fetch() -> None:
    """The environment and the wheels, once."""
    wheels = files(__package__).joinpath("site_wheels.txt")
    wanted = "\n".join(REQUIREMENTS) + wheels.read_text(encoding="utf-8")
    stamp = ENVIRONMENT / "minikafka-installed.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    run(
        [sys.executable, "-m", "venv", "--clear", ENVIRONMENT],
        "an environment for JupyterLite could not be made",
    )
    pip = [python(), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "install", *REQUIREMENTS], "JupyterLite could not be installed")
    pure = ["--no-deps", "--only-binary=:all:", "--python-version=3.14"]
    download = [*pip, "download", *pure, "--require-hashes", "--dest", WHEELS]
    run(
        [*download, "-r", str(wheels)],
        "the kernel's packages could not be fetched",
    )
    stamp.write_text(wanted, encoding="utf-8")


def lock(site: Path) -> list[str]:
    """Every wheel beside Pyodide, and the lock file that names them; returns the
    packages' names.
    """
    python_folder = site / "python"
    extension = ENVIRONMENT / "share" / "jupyter" / "labextensions" / KERNEL
    wheels = list(WHEELS.glob("*.whl"))
    for wheel in (extension / "static" / "pypi").glob("*.whl"):
        is_for_ipywidgets_7 = wheel.name.startswith("widgetsnbextension-3")
        if not is_for_ipywidgets_7:
            wheels.append(wheel)
    named = [python_folder / site_python.WHEEL]
    for wheel in wheels:
        copied = python_folder / wheel.name
        copied.write_bytes(wheel.read_bytes())
        named.append(copied)
    pyodides = (python_folder / "pyodide-lock.json").read_text(encoding="utf-8")
    listed = json.loads(pyodides)
    entries = [entry_of(wheel) for wheel in sorted(named)]
    listed["packages"] = {entry["name"]: entry for entry in entries}
    (python_folder / "lab-lock.json").write_text(json.dumps(listed), encoding="utf-8")
    return list(listed["packages"])


def entry_of(wheel: Path) -> dict[str, Any]:
    """One wheel in the words of Pyodide's lock file. All are loaded together, so none
    names what it depends on.
    """
    name, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as archive:
        modules = [path for path in archive.namelist() if path.endswith(".py")]
    tops = {path.split("/")[0].removesuffix(".py") for path in modules}
    return {
        "name": name.replace("_", "-").lower(),
        "version": version,
        "file_name": wheel.name,
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "imports": sorted(top for top in tops if top.isidentifier()),
        "depends": [],
        "install_dir": "site",
        "package_type": "package",
        "unvendored_tests": False,
    }


def python() -> Path:
    if sys.platform == "win32":
        return ENVIRONMENT / "Scripts" / "python.exe"
    return ENVIRONMENT / "bin" / "python"


def run(command: list[Any], what: str) -> None:
    done = subprocess.run(
        list(map(str, command)),
        cwd=site_python.CACHE,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise Problem(f"{what}:\n{done.stdout.strip()[-1500:]}")
