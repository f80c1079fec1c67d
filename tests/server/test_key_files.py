"""The files with the keys of those who make tokens."""

import pytest

from minikafka.server.addresses import CannotServe
from minikafka.server.key_files import KEYS_URL, key_files

OF_ONE = f"listener.name.door.{KEYS_URL}"


def test_kip_768_a_file_of_keys_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "keys.json"
    path.write_text("old")
    url = path.as_uri()
    files = key_files([("broker.id", "1"), (OF_ONE, url), (KEYS_URL, "")])
    assert dict(files) == {url: "old"}
    path.write_text("newer")
    assert files.get(url) == "newer"
    path.write_bytes(b"\xff\xfe")
    assert files.get(url) is None
    path.unlink()
    assert files.get(url) is None
    path.write_text("the newest")
    assert files.get(url) == "the newest"
    assert files.get("file:///etc/passwd") is None, "what nobody has named"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://example.org/keys", "read from a file here"),
        ("file:///nowhere/keys.json", "can't read file:///nowhere/keys.json"),
    ],
)
def test_kip_768_keys_that_cannot_be_read_are_refused_at_the_start(url, why):
    with pytest.raises(CannotServe, match=why):
        key_files([(OF_ONE, url)])
