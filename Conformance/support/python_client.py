"""The Python client library under test, importable as `segue`, its bots as processes, and relays for it by certificate and by token."""

from __future__ import annotations

import sys
from pathlib import Path

from .relay import REPOSITORY

LIBRARY = REPOSITORY / "Clients" / "python"
sys.path.insert(0, str(LIBRARY))
