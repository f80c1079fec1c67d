"""What runs Python in a browser's tab: Pyodide (CPython in WebAssembly), and minikafka
as a wheel.

Pyodide comes from npm, once, and is kept in .cache/site.
"""

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from minikafka.course.demo import Problem
from minikafka.course.places import NOTEBOOKS

ROOT = NOTEBOOKS.parent
CACHE = ROOT / ".cache" / "site"
PYODIDE = "314.0.6"  # the one that jupyterlite-pyodide-kernel is made for
SHA256 = "d78ac549b28a2a58600cd06f44e017024151775f8c6b2d73fab1475400d38ea2"
FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)
WHEEL = "minikafka-0.1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: minikafka\nVersion: 0.1.0\n"
TAGS = (
    "Wheel-Version: 1.0\nGenerator: minikafka site\nRoot-Is-Purelib: true\nTag:"
    " py3-none-any\n"
)
WHEN = (2020, 1, 1, 0, 0, 0)  # the same bytes from the same files


def place(folder: Path) -> None:
    """Pyodide and the wheel; wheel.json says what that is called."""
    folder.mkdir()
    with tarfile.open(pyodide()) as archive:
        for name in FILES:
            found = archive.extractfile(f"package/{name}")
            assert found is not None, name
            (folder / name).write_bytes(found.read())
    wheel(folder / WHEEL)
    (folder / "wheel.json").write_text(json.dumps({"wheel": WHEEL}), encoding="utf-8")


def pyodide() -> Path:
    """The tarball of npm, checked. Problem: it can't be had."""
    path = CACHE / f"pyodide-{PYODIDE}.tgz"
    if not path.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise Problem(
                "npm fetches Pyodide for the site, and is not here (Debian: sudo apt"
                " install npm)"
            )
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "pack", f"pyodide@{PYODIDE}", "--pack-destination", str(CACHE)]
        done = subprocess.run(
            command,
            cwd=CACHE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Problem(f"npm could not fetch Pyodide: {done.stderr.strip()[-300:]}")
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        raise Problem(
            f"{path} is not Pyodide {PYODIDE} as it was published: remove it, and start"
            " again"
        )
    return path


def wheel(path: Path) -> None:
    """The package, and the lessons' checks and data where it looks for them: beside
    it.
    """
    info = f"minikafka-{WHEEL.split('-')[1]}.dist-info"
    texts = {f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": TAGS.encode()}
    texts |= {
        found.relative_to(ROOT).as_posix(): found.read_bytes() for found in shipped()
    }
    texts[f"{info}/RECORD"] = "".join(
        f"{name},,\n" for name in [*texts, f"{info}/RECORD"]
    ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in texts.items():
            archive.writestr(zipfile.ZipInfo(name, WHEN), data, zipfile.ZIP_DEFLATED)


def shipped() -> Iterator[Path]:
    """Our files that Python in the browser reads."""
    of_package = ("py", "csv", "js", "css", "html", "svg", "toml", "txt")
    folders = {
        "minikafka": of_package,
        "notebooks": ("py", "toml"),
        "datasets": ("py",),
    }
    for folder, kinds in folders.items():
        yield from sorted(
            path for kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")
        )
    yield from sorted(NOTEBOOKS.glob("*.ipynb"))
