"""Makes the oracles importable by all tests: ``from oracle.lagrangian import Lagrangian``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
