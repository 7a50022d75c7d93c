"""What can be chosen of the kernel, each list in the order of its enumerators (``stepper.h``)."""

from __future__ import annotations

INTEGRATORS = ("euler_cromer", "leapfrog", "rk4")
ALGORITHMS = ("order_n", "dense")
NODE_ROTATIONS = ("exact", "paper")
