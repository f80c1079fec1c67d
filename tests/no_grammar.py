"""Importing nbformat makes jsonschema compile the grammar of international addresses,
which takes a second and a half and which no notebook needs: this forbids it.

Each worker imports nbformat, so that it does this first.
"""

import sys
from typing import Any, cast

cast("dict[str, Any]", sys.modules).setdefault("rfc3987_syntax", None)
