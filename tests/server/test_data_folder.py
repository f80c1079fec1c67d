"""What a person sees whose data folder is not what it should be: one line, exit code 1,
and nothing was touched.
"""

import os
import shutil
import sys

import pytest

from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides
from tests.conformance.raw import Connection, batch
from tests.kafka import free_ports
from tests.server.test_life import said

pytestmark = pytest.mark.slow

ONE, THREE, PROCESSES = (), ("--brokers", "3"), ("--brokers", "3", "--processes")
OTHER_ID = "MkU3OEVBNTcwNTJENDM2Qg"


def test_a_folder_with_other_things_in_it_is_refused_and_stays_as_it_is(tmp_path):
    for name in ("photos-2023", "thesis-1", "backup-delete"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text("mine")
    (tmp_path / "notes-1").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    code, errors = said("--port", "0", "--data", str(tmp_path))
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(
        f"minikafka: {tmp_path} holds backup-delete, notes-1, photos-2023 and 1 more,"
        " and no meta"
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_damaged_metadata_is_one_line_and_a_torn_log_is_told(tmp_path):
    with Served(data=tmp_path) as kafka, Connection(kafka.bootstrap) as client:
        client.create_topic("orders")
        client.produce("orders", batch(b"paid"))
        kafka.kill()
    log, metadata = (
        tmp_path / name / "00000000000000000000.log"
        for name in ("orders-0", "__cluster_metadata-0")
    )
    whole = metadata.read_bytes()
    metadata.write_bytes(whole[: len(whole) // 2])
    code, errors = said("--port", "0", "--data", str(tmp_path))
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(
        "minikafka: node 1 stops: __cluster_metadata-0/00000000000000000000.log is"
        " damaged at off"
    )
    metadata.write_bytes(whole)
    log.write_bytes(log.read_bytes() + b"torn")
    with Served(data=tmp_path) as kafka, Connection(kafka.bootstrap) as client:
        assert client.offset("orders", -1).offset == 1
        assert kafka.said().startswith(
            "minikafka: orders-0: 4 bytes are dropped, from offset 1 on: "
        )


# --- somebody else's folder ---


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """Folders that one broker, and three, have used."""
    folder = tmp_path_factory.mktemp("used")
    for name, options in (("one", ONE), ("three", THREE)):
        with Served(data=folder / name, options=(*options, *overrides(STEADY))):
            pass
    return folder


def as_it_is(folder):
    return folder


def swapped(folder):
    (folder / "broker-1").rename(folder / "aside")
    (folder / "broker-2").rename(folder / "broker-1")
    (folder / "aside").rename(folder / "broker-2")
    return folder


def newer(where):
    def change(folder):
        properties = folder / where / "meta.properties"
        properties.write_text(properties.read_text().replace("version=1", "version=2"))
        return folder

    return change


def of_two_clusters(folder):
    properties = folder / "broker-3" / "meta.properties"
    lines = properties.read_text().splitlines()
    lines = [
        f"cluster.id={OTHER_ID}" if line.startswith("cluster.id=") else line
        for line in lines
    ]
    properties.write_text("\n".join(lines))
    return folder


def a_file_between(folder):
    shutil.rmtree(folder / "broker-2")
    (folder / "broker-2").write_text("mine")
    return folder


def node(number):
    voters = ",".join(
        f"{voter}@127.0.0.1:{port}" for voter, port in enumerate(free_ports(3), 1)
    )
    return ("--node", str(number), "--voters", voters)


JOINS = ("--cluster-id", OTHER_ID)
FOLDERS = {
    "one, served as three": ("one", as_it_is, THREE, "holds the data of one broker"),
    "one, served as processes": (
        "one",
        as_it_is,
        PROCESSES,
        "holds the data of one broker",
    ),
    "three, served as one": (
        "three",
        as_it_is,
        ONE,
        "holds the data of 3 brokers: serve them with --brokers 3",
    ),
    "one, of another cluster": (
        "one",
        as_it_is,
        JOINS,
        f"but this node is to join {OTHER_ID}",
    ),
    "three, of another cluster": (
        "three",
        as_it_is,
        (*THREE, *JOINS),
        f"but this node is to join {OTHER_ID}",
    ),
    "processes, of another cluster": (
        "three",
        as_it_is,
        (*PROCESSES, *JOINS),
        f"node is to join {OTHER_ID}",
    ),
    "three, of two clusters": (
        "three",
        of_two_clusters,
        THREE,
        f"belongs to cluster {OTHER_ID}",
    ),
    "three, swapped": (
        "three",
        swapped,
        THREE,
        "belongs to node 2, but this is node 1: give each",
    ),
    "processes, swapped": (
        "three",
        swapped,
        PROCESSES,
        "belongs to node 2, but this is node 1: give each",
    ),
    "a node with another's": (
        "three/broker-1",
        as_it_is,
        node(2),
        "belongs to node 1, but this is node 2",
    ),
    "one, newer": ("one", newer("."), ONE, "has version 2, and only 1 is known here"),
    "three, newer": (
        "three",
        newer("broker-2"),
        THREE,
        "has version 2, and only 1 is known here",
    ),
    "processes, newer": (
        "three",
        newer("broker-2"),
        PROCESSES,
        "has version 2, and only 1 is known here",
    ),
    "three, a file for a folder": ("three", a_file_between, THREE, "can't use"),
    "processes, a file for a folder": ("three", a_file_between, PROCESSES, "can't use"),
}


def everything_in(folder):
    """Each file's bytes and each folder, by path."""
    return {
        path: path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_not_this_cluster_s_is_one_sentence_and_nothing_is_changed(
    used, tmp_path, name
):
    kind, change, options, words = FOLDERS[name]
    folder = change(shutil.copytree(used / kind, tmp_path / "data"))
    before = everything_in(folder)
    code, errors = said("--port", "0", "--data", str(folder), *options)
    assert (code, errors.count("\n")) == (1, 1), errors
    assert (
        errors.startswith(f"minikafka: {'can' if words[:3] == 'can' else folder}")
        and words in errors
    ), errors
    assert everything_in(folder) == before


@pytest.mark.parametrize("options", [ONE, THREE, PROCESSES], ids=" ".join)
def test_the_same_folders_are_served_when_nothing_is_wrong_with_them(
    used, tmp_path, options
):
    folder = shutil.copytree(used / ("three" if options else "one"), tmp_path / "data")
    with Served(data=folder, options=(*options, *overrides(STEADY))) as served:
        assert served.said() == ""


def test_a_broker_that_can_not_start_ends_the_others_that_wait_for_it(used, tmp_path):
    folder = shutil.copytree(used / "three", tmp_path / "data")
    shutil.rmtree(folder / "broker-2" / "__cluster_metadata-0")
    (folder / "broker-2" / "__cluster_metadata-0").write_text("no folder")
    code, errors = said("--port", "0", "--data", str(folder), *THREE)
    assert (code, errors.count("\n")) == (1, 1), errors
    assert errors.startswith("minikafka: node 2 stops: ")


@pytest.mark.skipif(
    sys.platform != "linux", reason="limits the size of files, as a full disk would"
)
@pytest.mark.parametrize("options", [ONE, THREE, PROCESSES], ids=" ".join)
@pytest.mark.parametrize("limit_bytes", [0, 20])
def test_a_full_disk_at_the_start_is_said_in_plain_lines(
    tmp_path, options, limit_bytes
):
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    code, errors = said(
        "--port", "0", "--data", str(tmp_path), *options, preexec_fn=limit
    )
    assert code == 1, errors
    for line in errors.splitlines():
        assert line.startswith("minikafka: "), errors
    assert "File too large" in errors.splitlines()[0], errors


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can become somebody else",
)
@pytest.mark.parametrize("options", [ONE, THREE, PROCESSES], ids=" ".join)
def test_a_read_only_folder_is_one_line(tmp_path, options):
    code, errors = said("--port", "0", "--data", "/proc/1/data", *options)
    assert (code, errors.count("\n")) == (1, 1), errors
    assert errors.startswith("minikafka: can't use /proc/1/data as data folder: "), (
        errors
    )
