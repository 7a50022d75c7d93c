"""Wild values in model files for as long as is wanted: ``python build_scripts/fuzz_files.py 600``.

Every model is either refused in words or computed in finite numbers; anything else is printed with
the seed that repeats it. The tests run a few of the same (tests/unit/test_wild_values.py).
"""

from __future__ import annotations

import collections
import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cases.wild_values import outcome, spoilt


def main(seconds: float, seed: int) -> int:
    begun, counts, slowest = time.monotonic(), collections.Counter[str](), (0.0, "")
    while time.monotonic() - begun < seconds:
        model, done = spoilt(random.Random(seed))
        at = time.process_time()
        try:
            counts[outcome(model).partition(":")[0]] += 1
        except Exception:  # whatever it is, it is what is looked for
            counts["FAULT"] += 1
            last = traceback.format_exc().strip().splitlines()
            print(f"seed {seed}: {done}\n    " + "\n    ".join(last[-5:]), flush=True)
        slowest = max(slowest, (time.process_time() - at, f"seed {seed}: {done}"))
        seed += 1
    print(dict(counts), f"slowest {slowest[0]:.1f} s, {slowest[1]}; next seed {seed}")
    return int(counts["FAULT"] > 0)


if __name__ == "__main__":
    arguments = [float(a) for a in sys.argv[1:]]
    sys.exit(main(arguments[0] if arguments else 60.0, int(arguments[1]) if arguments[1:] else 0))
