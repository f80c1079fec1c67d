"""Importing nbformat makes jsonschema compile the grammar of international addresses,
which takes a second and a half and which no notebook needs: this forbids it.

Imported by whoever imports nbformat many times: each worker, and each lesson's pytest.
"""

import sys
from typing import Any, cast

cast("dict[str, Any]", sys.modules).setdefault("rfc3987_syntax", None)
