"""For `pytest --nbval notebooks/05_consumer_groups.ipynb`: a lesson is compared with its
stored outputs, and these hold pictures as text.
"""

import os
import sys
import tempfile

import nbval.kernel
from jupyter_client.manager import KernelManager

# a busy machine takes longer than nbval's five seconds to hand over what a cell printed
OUTPUT_TIMEOUT_S = 120

os.environ["MINIKAFKA_PICTURES"] = "text"  # for the kernels, which inherit it
SOCKETS = tempfile.TemporaryDirectory(prefix="kernel-")


def kernel_manager(**options):
    """A kernel that is spoken to over Unix sockets: of five ports, another program may
    take one between Jupyter's choice and the kernel's start, which then dies.
    """
    where = tempfile.mkdtemp(dir=SOCKETS.name)
    return KernelManager(transport="ipc", ip=f"{where}/socket", **options)


if sys.platform != "win32":  # which has no such sockets
    nbval.kernel.KernelManager = kernel_manager


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "output_timeout"):  # a cell of nbval
            item.output_timeout = OUTPUT_TIMEOUT_S
