"""Makes the oracles and the cases importable by all tests.

``from oracle.lagrangian import Lagrangian``, ``from cases.free_tree import free_tree``.
"""

import signal
import sys
from pathlib import Path

# A shell's jobs in the background ignore it, and so would their children; tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).parent))
