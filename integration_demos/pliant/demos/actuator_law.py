"""Motors with a limit, a lag and a holding brake, inside an FMU of the station arm.

    pliant export station_arm.yaml -o arm.fmu --flavour python --slave actuator_law.py \\
        --include 'joint.*.lock'

The inputs ``joint.*.tau`` keep their names and become what is asked of the motors. A motor gives
no more than its limit and follows with a lag of some milliseconds, which a controller at the other
end of the FMU had better survive. Where nothing is asked of it for half a second and it hardly
moves, its brake closes; it opens with the first torque that is asked for.
"""

from __future__ import annotations

from math import exp

from pliant.fmu.python_slave import PliantSlave

LIMIT = 1000.0  # N m
LAG = 0.010  # s
BRAKE_AFTER = 0.5  # s without a command
BRAKE_BELOW = 1e-3  # rad/s
JOINTS = (
    "shoulder_roll",
    "shoulder_yaw",
    "shoulder_pitch",
    "elbow_pitch",
    "wrist_pitch",
    "wrist_yaw",
    "wrist_roll",
)


class ArmMotors(PliantSlave):
    """Called before every internal step; what it remembers is saved with the FMU's state."""

    def actuate(self, time: float) -> None:
        followed = 1.0 - exp(-self.step_size / LAG)
        for joint in JOINTS:
            motor = self.memory.setdefault(joint, {"torque": 0.0, "idle": 0.0})
            asked = self.commanded(f"joint.{joint}.tau")
            wanted = min(max(asked, -LIMIT), LIMIT)
            motor["torque"] += followed * (wanted - motor["torque"])
            self[f"joint.{joint}.tau"] = motor["torque"]

            motor["idle"] = 0.0 if asked else motor["idle"] + self.step_size
            slow = abs(self[f"joint.{joint}.qd"]) < BRAKE_BELOW
            self[f"joint.{joint}.lock"] = motor["idle"] > BRAKE_AFTER and slow
