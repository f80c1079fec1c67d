"""The files with the keys of those who make tokens (KIP-768), which properties name by
URL. The broker reads none itself: it looks here, where a file that has changed is read
again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from minikafka.server.addresses import CannotServe

KEYS_URL = "sasl.oauthbearer.jwks.endpoint.url"


class Read(NamedTuple):
    """What was in a file, and how one sees that it has changed since."""

    changed_ns: int
    size_bytes: int
    text: str


class KeyFiles(Mapping[str, str]):
    """What is in each file now, by its URL; a file that can't be read isn't there."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._read: dict[str, Read] = {}

    def __getitem__(self, url: str) -> str:
        try:
            return self.read(url)
        except (OSError, ValueError):
            raise KeyError(url) from None

    def read(self, url: str) -> str:
        """Errors: OSError; ValueError, where it is no text."""
        path = self._paths[url]
        seen = path.stat()
        last = self._read.get(url)
        if last is None or last[:2] != (seen.st_mtime_ns, seen.st_size):
            text = path.read_text(encoding="utf-8")
            last = self._read[url] = Read(seen.st_mtime_ns, seen.st_size, text)
        return last.text

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def key_files(properties: Sequence[tuple[str, str]]) -> KeyFiles:
    """Those that properties name. Errors: CannotServe."""
    # loads http and email, which few need: a node starts faster without them
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    names = {}
    paths = {}
    for name, url in properties:
        if not name.endswith(KEYS_URL) or not url:
            continue
        parts = urlsplit(url)
        if parts.scheme != "file":
            raise CannotServe(
                f"--override {name}: the keys are read from a file here, file:///PATH;"
                " save what is at the address that you name."
            )
        names[url] = name
        paths[url] = Path(url2pathname(parts.path))
    files = KeyFiles(paths)
    for url, name in names.items():
        try:
            files.read(url)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise CannotServe(f"--override {name}: can't read {url}: {why}.") from error
    return files
