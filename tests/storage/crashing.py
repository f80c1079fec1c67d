"""A disk whose process dies before a given operation, so that a test can stop
anywhere.
"""

WRITES = (
    "append",
    "truncate",
    "flush",
    "rename",
    "remove",
    "rmtree",
    "write_atomic",
    "mkdir",
)


class Crash(Exception):
    """Raised where the process is to die."""


class CrashingDisk:
    """Passes everything on, and dies when no operation that changes something is left;
    -1: it doesn't.

    done: the names of these operations.
    """

    def __init__(self, disk, left=-1):
        self.disk, self.left, self.done = disk, left, []

    def __getattr__(self, name):
        return self.guarded(self.disk, name)

    def guarded(self, thing, name):
        attribute = getattr(thing, name)
        if name not in WRITES:
            return attribute

        def guarded(*args, **kwargs):
            self.use(name)
            return attribute(*args, **kwargs)

        return guarded

    def use(self, name):
        if self.left == 0:
            raise Crash
        self.left -= 1
        self.done.append(name)

    def open(self, path, create=True):
        if not self.disk.exists(path):
            self.use("create")
        return CrashingFile(self, self.disk.open(path, create))


class CrashingFile:
    def __init__(self, disk, file):
        self._disk, self._file = disk, file

    def __getattr__(self, name):
        return self._disk.guarded(self._file, name)
