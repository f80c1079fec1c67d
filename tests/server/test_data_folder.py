"""What a person sees whose data folder is not what it should be: one line, exit code 1, and nothing was touched."""

from minikafka.server.embedded import Served
from tests.conformance.raw import Connection, batch
from tests.server.test_life import said


def test_a_folder_with_other_things_in_it_is_refused_and_stays_as_it_is(tmp_path):
    for name in ("photos-2023", "thesis-1", "backup-delete"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text("mine")
    (tmp_path / "notes-1").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    code, errors = said("--port", "0", "--data", str(tmp_path))
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith(f"minikafka: {tmp_path} holds backup-delete, notes-1, photos-2023 and 1 more, and no meta")
    assert sorted(tmp_path.rglob("*")) == before


def test_damaged_metadata_is_one_line_and_a_torn_log_is_told(tmp_path):
    with Served(data=tmp_path) as kafka, Connection(kafka.bootstrap) as client:
        client.create_topic("orders")
        client.produce("orders", batch(b"paid"))
        kafka.kill()
    log, metadata = (tmp_path / name / "00000000000000000000.log" for name in ("orders-0", "__cluster_metadata-0"))
    whole = metadata.read_bytes()
    metadata.write_bytes(whole[: len(whole) // 2])
    code, errors = said("--port", "0", "--data", str(tmp_path))
    assert (code, errors.count("\n")) == (1, 1)
    assert errors.startswith("minikafka: node 1 stops: __cluster_metadata-0/00000000000000000000.log is damaged at off")
    metadata.write_bytes(whole)
    log.write_bytes(log.read_bytes() + b"torn")
    with Served(data=tmp_path) as kafka, Connection(kafka.bootstrap) as client:
        assert client.offset("orders", -1).offset == 1
        assert kafka.said().startswith("minikafka: orders-0: 4 bytes are dropped, from offset 1 on: ")
