"""The rules of the house, as far as a machine can see them: who may import what, and
how code is written.
"""

import ast
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "minikafka"
CORE = (
    "trace.py",
    "faults.py",
    "wire",
    "storage",
    "cluster",
    "coordinators",
    "broker",
    "clients",
    "theatre",
)
FOLDERS = [ROOT / name for name in ("minikafka", "tests", "datasets", "notebooks")]
PYTHON_FILES = sorted(path for folder in FOLDERS for path in folder.rglob("*.py"))
LINE_COLUMNS = 88
MOST_TRIES = 100
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def nodes(path: Path) -> Iterable[ast.AST]:
    """Those of the package are kept: each rule looks at them."""
    return list_of_nodes(path) if path.is_relative_to(PACKAGE) else walk(path)


@cache
def list_of_nodes(path: Path) -> list[ast.AST]:
    return list(walk(path))


def walk(path: Path) -> Iterable[ast.AST]:
    return ast.walk(parsed(path.read_text(encoding="utf-8")))


def parsed(source: str) -> ast.AST:
    """CPython 3.11 counts recursion while it parses, and miscounts where greenlets have
    run before, so this is a thread of its own; and where another thread parses, too, as
    one does that logs an exception: then it is done again.
    """
    with ThreadPoolExecutor(max_workers=1) as thread:
        for _ in range(MOST_TRIES):
            try:
                return thread.submit(ast.parse, source).result()
            except SystemError as error:
                miscounted = error
    raise miscounted


@cache
def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it; those for the type checker alone
    don't count.
    """
    checks = [node for node in nodes(path) if isinstance(node, ast.If)]
    for_types = [
        each
        for node in checks
        if getattr(node.test, "id", "") == "TYPE_CHECKING"
        for each in node.body
    ]
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node not in for_types:
            package = (
                ["minikafka", *path.relative_to(PACKAGE).parts[: -node.level]]
                if node.level
                else []
            )
            found.add(".".join([*package, *filter(None, [node.module])]))
    return found


def importers(*modules: str) -> set[str]:
    """The rooms of minikafka in which one of the modules is imported."""
    files = [path for path in PYTHON_FILES if path.is_relative_to(PACKAGE)]
    return {
        room(path)
        for path in files
        if {name.split(".")[0] for name in imports(path)} & set(modules)
    }


def test_the_rooms_import_one_way_only():
    command = (
        "from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_no_file_imports_in_a_circle():
    """Imports for the type checker alone count: a reader has to follow them, too."""
    files = {
        module(path): path for path in PYTHON_FILES if path.is_relative_to(PACKAGE)
    }
    leads = {name: imported(path, files.keys()) for name, path in files.items()}
    reached = {name: reachable(name, leads) for name in files}
    circles = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in files
        if name in reached[name]
    }
    assert [sorted(circle) for circle in circles] == []


def module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, modules: Collection[str]) -> set[str]:
    """Those of the modules that a file imports, as a whole or something of them."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in modules else node.module)
    return found & set(modules)


def reachable(name: str, leads: Mapping[str, set[str]]) -> set[str]:
    """The modules that one leads to, by whatever way. leads: what each imports."""
    reached: set[str] = set()
    ahead = [name]
    while ahead:
        further = leads[ahead.pop()] - reached
        reached |= further
        ahead += further
    return reached


def test_only_the_server_and_what_tests_with_it_speak_to_the_network():
    # the doctor asks whether a port is free
    assert importers("asyncio", "socket", "socketserver", "ssl", "selectors") <= {
        "server",
        "testing",
        "course",
    }
    assert "asyncio" not in {
        name for path in (PACKAGE / "course").rglob("*.py") for name in imports(path)
    }


def core() -> list[Path]:
    return [
        path
        for path in PYTHON_FILES
        if path.is_relative_to(PACKAGE) and room(path) in CORE
    ]


def test_the_core_reads_no_clock_and_starts_nothing():
    modules = {
        "time",
        "datetime",
        "secrets",
        "threading",
        "multiprocessing",
        "subprocess",
    }
    found = {
        path: modules & {name.split(".")[0] for name in imports(path)}
        for path in core()
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_the_core_makes_no_random_source():
    """The shells make random sources, and pass them to the core."""
    for path in core():
        assert "random" not in imports(path), path
        for node in nodes(path):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                assert called not in (
                    "Random",
                    "SystemRandom",
                    "seed",
                    "urandom",
                    "uuid4",
                ), f"{path}:{node.lineno}"


def test_the_core_touches_no_file():
    """It is handed a disk. Two tables are parts of the program (the messages' schema
    and the configs), and a picture is saved on request.
    """
    tables = (("wire", "messages.py"), ("broker", "config_table.py"))
    modules = {"os", "io", "pathlib", "shutil", "tempfile", "fcntl", "msvcrt"}
    for path in [
        path
        for path in core()
        if room(path) != "theatre" and path.parts[-2:] not in tables
    ]:
        assert not modules & {name.split(".")[0] for name in imports(path)}, path
        assert "open" not in {
            getattr(node.func, "id", "")
            for node in nodes(path)
            if isinstance(node, ast.Call)
        }, path


def test_the_theatre_knows_only_the_trace():
    files = [path for path in core() if room(path) == "theatre"]
    ours = {
        name for path in files for name in imports(path) if name.startswith("minikafka")
    }
    others = {name for name in ours if not name.startswith("minikafka.theatre")}
    # what a picture asks, and when a trace decides it
    assert others <= {"minikafka.trace", "minikafka.prediction"}


def test_the_core_runs_on_the_standard_library():
    allowed = sys.stdlib_module_names | {"minikafka", "crc32c", "cramjam", "re2"}
    for path in core():
        extra = {name.split(".")[0] for name in imports(path)} - allowed
        assert extra == set(), path


def test_nobody_reads_back_from_a_sentence_what_happened():
    """An event says it with a code, `reason`; `why` is for people."""

    def sentence(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and node.slice.value == "why"
        )

    named = re.compile(r"""\[["']why["']\]""")
    files = [path for path in PYTHON_FILES if named.search(path.read_text("utf-8"))]
    assert files
    for path in files:
        for node in nodes(path):
            asks = isinstance(node, ast.Compare) and any(
                map(sentence, [node.left, *node.comparators])
            )
            looks = (
                isinstance(node, ast.Attribute)
                and node.attr in ("startswith", "endswith")
                and sentence(node.value)
            )
            assert not asks and not looks, f"{path.relative_to(ROOT)}:{node.lineno}"


def loaded_to_serve() -> set[str]:
    """The modules of minikafka that a server has before anybody asks it for anything."""
    code = (
        "import minikafka.server.command, minikafka.__main__, sys; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return {name for name in done.stdout.split() if name.startswith("minikafka.")}


def test_serving_loads_neither_the_simulation_nor_the_theatre_nor_the_course():
    rooms = {name.split(".")[1] for name in loaded_to_serve()}
    assert not rooms & {"simulation", "theatre", "course"}


def test_a_node_starts_without_what_no_client_has_asked_for():
    """Reading all of it took a fifth of the time until the first answer."""
    handlers = "minikafka.broker.handlers."
    states = {
        f"minikafka.coordinators.{name}"
        for name in ("groups", "classic_group", "consumer_group", "transactions")
    }
    loaded = loaded_to_serve()
    assert {name for name in loaded if name.startswith(handlers)} == set()
    assert loaded & states == set()


def test_importing_minikafka_loads_no_part_of_it():
    code = (
        "import minikafka, sys; print(*(name for name in sys.modules if"
        " name.startswith('minikafka.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_no_line_of_code_is_wider_than_the_formatter_makes_it():
    """Tables and prose within strings may be, and what tells tools to look away."""
    aside = re.compile(r"# (noqa|type: ignore)")
    wide = []
    for path in (path for path in PYTHON_FILES if path.is_relative_to(PACKAGE)):
        if path == PACKAGE / "wire/errors.py":  # a table
            continue
        spread = {
            line
            for node in nodes(path)
            if isinstance(node, ast.Constant | ast.JoinedStr)
            and node.end_lineno > node.lineno
            for line in range(node.lineno, node.end_lineno + 1)
        }
        lines = path.read_text(encoding="utf-8").splitlines()
        wide += [
            f"{path.relative_to(ROOT)}:{number}"
            for number, line in enumerate(lines, 1)
            if len(line) > LINE_COLUMNS
            and number not in spread
            and not aside.search(line)
        ]
    assert wide == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_small_and_stores_its_outputs_as_text(path):
    assert path.stat().st_size < 400_000
    book = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(code) <= 20
    stored = [cell["id"] for cell in code if cell["outputs"]]
    assert stored, "no stored outputs (make notebooks): nothing to compare"
    kinds = {
        kind
        for cell in code
        for output in cell["outputs"]
        for kind in output.get("data", {})
    }
    assert kinds <= {"text/plain"}
    assert "widgets" not in book["metadata"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebooks_headings_never_skip_a_level_and_its_pictures_have_alt_text(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    prose = "\n".join(
        "".join(cell["source"])
        for cell in book["cells"]
        if cell["cell_type"] == "markdown"
    )
    prose = re.sub(r"^(```|~~~).*?^\1", "", prose, flags=re.MULTILINE | re.DOTALL)
    levels = [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert not re.search(r"!\[\s*\]\(", prose), "a picture without alt text"


def test_no_file_names_a_machines_own_paths():
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    files = subprocess.run(
        git, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    forbidden = re.compile(
        "|".join(
            [
                "/" + "home/",
                "/" + "root/",
                "/" + "Users/",
                "/" + "work/",
                "C:" + r"\\Users",
            ]
        )
    )
    for name in files:
        path = ROOT / name
        if path.is_file() and path.suffix not in (".png", ".log", ".bin"):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not forbidden.search(text), f"{name}: {forbidden.search(text)[0]}"


def test_no_test_sleeps():
    """Virtual time may pass; a real sleep is a guess. `asyncio.sleep(0)` only lets
    others run.
    """
    real = re.compile(r"\b(?:time|asyncio)\.sleep\((?!0\))")
    files = [path for path in PYTHON_FILES if path.is_relative_to(ROOT / "tests")]
    assert [
        path for path in files if real.search(path.read_text(encoding="utf-8"))
    ] == []
