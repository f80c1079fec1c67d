"""For `pytest --nbval notebooks/05_consumer_groups.ipynb`: a lesson is compared with its
stored outputs, and these hold pictures as text.
"""

import os

# a busy machine takes longer than nbval's five seconds to hand over what a cell printed
OUTPUT_TIMEOUT_S = 120

os.environ["MINIKAFKA_PICTURES"] = "text"  # for the kernels, which inherit it


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "output_timeout"):  # a cell of nbval
            item.output_timeout = OUTPUT_TIMEOUT_S
