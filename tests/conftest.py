"""Makes the oracles and the cases importable by all tests.

``from oracle.lagrangian import Lagrangian``, ``from cases.free_tree import free_tree``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
