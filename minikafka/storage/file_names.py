"""The names of a log's files, as in Apache Kafka's LogFileUtils: an offset in 20
digits, and an ending that says what is in the file.
"""

from minikafka.storage.disk import Disk

LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX = ".log", ".index", ".timeindex", ".txnindex"
INDEXES = (INDEX, TIME_INDEX, TRANSACTION_INDEX)
FILES = (LOG, *INDEXES)
_DIGITS = 20


def file_name(offset: int, ending: str) -> str:
    """Kafka's name: the offset in 20 digits, so that names sort as offsets do."""
    return f"{offset:020}{ending}"


def files_in(disk: Disk, directory: str, *endings: str) -> dict[str, int]:
    """The files of a log with one of these endings, and the offsets in their names.
    Other names are left out: they aren't ours.
    """
    found = {}
    for name in disk.listdir(directory):
        digits, _, _ = name.partition(".")
        is_offset = len(digits) == _DIGITS and digits.isascii() and digits.isdigit()
        if name.endswith(endings) and is_offset:
            found[name] = int(digits)
    return found
