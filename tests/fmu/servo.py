"""A controller as an FMU of its own, built by pythonfmu."""

from pythonfmu import Fmi2Causality, Fmi2Slave, Real

GOAL, STIFFNESS, DAMPING = 1.6, 3000.0, 800.0


def torque(q: float, qd: float) -> float:
    return STIFFNESS * (GOAL - q) - DAMPING * qd


class Servo(Fmi2Slave):
    """A spring and a damper between a joint and its command."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.q, self.qd, self.tau = 0.0, 0.0, 0.0
        self.register_variable(Real("q", causality=Fmi2Causality.input))
        self.register_variable(Real("qd", causality=Fmi2Causality.input))
        self.register_variable(Real("tau", causality=Fmi2Causality.output))

    def do_step(self, current_time, step_size):
        self.tau = torque(self.q, self.qd)
        return True
