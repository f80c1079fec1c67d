"""The classroom's image without a container engine: buildah runs the steps of the
Dockerfile, each in a shell of its own, in a root that debootstrap has made.

No registry is asked. What stands in for the Dockerfile's base, python:3.12-slim-bookworm,
is Debian of the same name with the Python that the base has in /usr/local.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
BASE = re.compile(r"^FROM (python:(\d+\.\d+)-slim-(\w+))$", re.MULTILINE)
IMAGE = "minikafka-classroom"
VARIABLE = "MINIKAFKA_BUILD_IMAGE"
# what python's slim image has beside Debian's smallest system
IN_THE_BASE = (
    "ca-certificates",
    "libncursesw6",
    "libreadline8",
    "libsqlite3-0",
    "netbase",
    "tzdata",
)
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL
)


def image_missing() -> str | None:
    """Why no image can be built here; None if one can."""
    if not os.environ.get(VARIABLE):
        return f"it takes minutes and 1.5 GB of the network: {VARIABLE}=1 asks for it"
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a root of one's own wants Linux and root"
    for tool in ("buildah", "debootstrap"):
        if shutil.which(tool, path=_path()) is None:
            return f"no {tool} on the PATH"
    if _python_of(_base()[1]) is None:
        return f"no Python {_base()[1]} beside {sys.base_prefix}"
    return None


def _path() -> str:
    return os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])


def _base() -> tuple[str, str, str]:
    """Name, version of Python, and Debian's name of the image it begins with."""
    found = BASE.search(DOCKERFILE.read_text(encoding="utf-8"))
    assert found, "the Dockerfile begins with another image"
    name, version, debian = found.groups()
    return name, version, debian


def _python_of(version: str) -> Path | None:
    """The folder of such a Python, as pyenv has one for each version."""
    beside = sorted(
        Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python{version}")
    )
    return beside[-1].parents[1] if beside else None


class Images:
    """buildah with a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._buildah = ["buildah", "--root", str(folder / "store")]
        self._buildah += ["--runroot", str(folder / "run")]

    def do(self, *words: str, where: Path = ROOT) -> str:
        """Runs buildah: what it says. Errors: AssertionError with the last lines."""
        done = subprocess.run(
            [*self._buildah, *words],
            cwd=where,
            env={**os.environ, "PATH": _path()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        last = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        assert done.returncode == 0, f"buildah {' '.join(words)}:\n{last}"
        return done.stdout.strip()

    def make_base(self) -> None:
        """An image under the name with which the Dockerfile begins."""
        name, version, debian = _base()
        container = self.do("from", "scratch")
        root = Path(self.do("mount", container))
        _debian(root, debian)
        _add_python(root, version)
        _trust_whom_this_machine_trusts(root)
        self.do("unmount", container)
        self.do(
            "config",
            "--env",
            "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            container,
        )
        self.do("commit", "--quiet", "--rm", container, f"docker.io/library/{name}")

    def build(self, project: Path = ROOT) -> str:
        """Every step of the Dockerfile, in order, of a checkout; a step is kept for the
        next build, as Docker keeps it. Returns what is said of the steps.
        """
        words = ["build", "--isolation", "chroot", "--pull-never", "--layers"]
        file = str(project / "docker" / "Dockerfile")
        return self.do(*words, "--file", file, "--tag", IMAGE, ".", where=project)

    def run(self, *command: str) -> str:
        """A command in a container of the image: what it writes."""
        container = self.do("from", "--pull-never", IMAGE)
        return self.do("run", "--isolation", "chroot", container, "--", *command)

    def remove(self) -> None:
        """All containers and images. Mounts have to go before the folder can."""
        self.do("rm", "--all")
        self.do("rmi", "--all", "--force")
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def the_image() -> Iterator[Images]:
    """The image, built; gone afterwards."""
    images = Images(Path(tempfile.mkdtemp(prefix="minikafka-image-")))
    try:
        images.make_base()
        images.build()
        yield images
    finally:
        images.remove()


def _in(root: Path, *command: str) -> None:
    """A command in another root, with nothing of this one's environment."""
    clean = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    chroot = shutil.which("chroot", path=_path())
    subprocess.run(
        [chroot, str(root), *command], env=clean, check=True, capture_output=True
    )


def _debian(root: Path, name: str) -> None:
    tool = shutil.which("debootstrap", path=_path())
    options = ["--variant=minbase", f"--include={','.join(IN_THE_BASE)}"]
    subprocess.run(
        [tool, *options, name, str(root)],
        env={**os.environ, "PATH": _path()},
        check=True,
        capture_output=True,
    )


def _add_python(root: Path, version: str) -> None:
    """Into /usr/local, where python's own images have it."""
    python = _python_of(version)
    assert python, "image_missing says so before"
    unneeded = shutil.ignore_patterns("__pycache__", "site-packages", "test")
    for part in ("bin", "include", "lib"):
        shutil.copytree(
            python / part,
            root / "usr/local" / part,
            symlinks=True,
            ignore=unneeded,
            dirs_exist_ok=True,
        )
    _in(root, "ldconfig")


def _trust_whom_this_machine_trusts(root: Path) -> None:
    """A registry may be reached through somebody whose certificate only this machine
    knows.
    """
    here = set(CERTIFICATE.findall(Path("/", CERTIFICATES).read_text()))
    there = set(CERTIFICATE.findall((root / CERTIFICATES).read_text()))
    for number, certificate in enumerate(sorted(here - there)):
        place = root / "usr/local/share/ca-certificates" / f"here-{number}.crt"
        place.write_text(certificate)
    _in(root, "update-ca-certificates")
    (root / "etc/pip.conf").write_text(f"[global]\ncert = /{CERTIFICATES}\n")
