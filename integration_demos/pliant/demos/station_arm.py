"""A space-station arm moves a payload under joint control, and its booms ring.

The arm is ``station_arm.yaml``. Seven servos (see ``control``) follow a smooth slew of 40 s and
then hold; they are asked for torques every millisecond. What they do not see is how the booms
bend and how the station, which floats, gives way.

The demo runs the arm as an FMU (see ``station_arm_fmu``) and once more here, in the same process:
both must agree to the last bit.

>>> run = slew_arm(duration=0.1)
>>> float(run.result["joint.elbow_pitch.q"][0])
1.75
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pliant.demos.control import JointController, Slew, reflected_inertia, servo_gains
from pliant.model_file import load
from pliant.reduced import Array
from pliant.results import Result
from pliant.run import simulate
from pliant.simulation import Simulation
from pliant.system import System

MODEL_FILE = Path(__file__).with_name("station_arm.yaml")
BOOMS = ("upper_boom", "lower_boom")
TRAVEL = {  # of each joint, rad
    "shoulder_roll": 0.35,
    "shoulder_yaw": -0.15,
    "shoulder_pitch": 0.25,
    "elbow_pitch": -0.25,
    "wrist_pitch": 0.25,
    "wrist_yaw": 0.35,
    "wrist_roll": -0.45,
}
JOINTS = tuple(TRAVEL)

STEP = 5e-4  # s, of the solver and of the controller
ROW = 20  # steps from one recorded row to the next
# what the summary and the picture need
RECORDED = (
    *("joint.*.q", "joint.*.tau", "joint.orbit.quat", "node.station.head.v", "energy", "momentum"),
    *(f"node.{boom}.{part}" for boom in BOOMS for part in ("head.r", "head.quat", "tip.r")),
)
DURATION = 80.0
SERVO_HZ = 25.0  # of each joint against the inertia it feels at once


@dataclass(frozen=True)
class ArmRun:
    """A recorded run of the arm with what it was told to do; rows every 10 ms."""

    system: System
    result: Result
    slew: Slew
    controller: JointController
    seconds: float  # that the run took

    @property
    def commanded(self) -> Array:
        """(N, 7) rad."""
        return np.array([self.slew(t)[0] for t in self.result.time])

    @property
    def measured(self) -> Array:
        """(N, 7) rad."""
        return np.stack([self.result[f"joint.{name}.q"] for name in JOINTS], axis=1)

    @property
    def torque(self) -> Array:
        """(N, 7) N m."""
        return np.stack([self.result[f"joint.{name}.tau"] for name in JOINTS], axis=1)

    def deflection(self, boom: str) -> Array:
        """(N, 2) bending of a boom's tip along y and z of its head, m."""
        head, tip = (self.result[f"node.{boom}.{end}.r"] for end in ("head", "tip"))
        return _turned_back(self.result[f"node.{boom}.head.quat"], tip - head)[:, 1:]

    @property
    def attitude(self) -> Array:
        """(N, 3) rotation vector of the station, rad: it starts at zero and stays small."""
        quaternion = self.result["joint.orbit.quat"]
        return np.asarray(2.0 * np.sign(quaternion[:, :1]) * quaternion[:, 1:])

    @property
    def station_momentum(self) -> Array:
        """(N, 3) momentum of the station alone, N s: what it exchanges with the arm."""
        mass = self.system.bodies["station"].mass
        assert mass is not None
        return np.asarray(mass * self.result["node.station.head.v"])


def controller_for(sim: Simulation, slew: Slew) -> JointController:
    """One servo a joint, its gains from the inertia that the joint feels at the start."""
    return JointController(slew, *servo_gains(reflected_inertia(sim, JOINTS), SERVO_HZ))


def slew_from(start: Array) -> Slew:
    """From these angles by TRAVEL, with 5 s to speed up and 5 s to slow down."""
    goal = start + np.array(list(TRAVEL.values()))
    return Slew(start, goal, begin=2.0, duration=40.0, ramp=5.0)


def slew_arm(
    duration: float, *, controller: JointController | None = None, progress: bool = False
) -> ArmRun:
    """Runs the arm; shorter than 42 s the slew is cut off. Without a controller it makes one."""
    system = load(MODEL_FILE)
    sim = Simulation(system, STEP)
    slew = slew_from(np.array([sim.joint(name).angle for name in JOINTS]))
    servos = controller_for(sim, slew) if controller is None else controller

    def control(running: Simulation) -> None:
        joints = [running.joint(name) for name in JOINTS]
        position = np.array([joint.angle for joint in joints])
        rate = np.array([joint.rate for joint in joints])
        # a digital controller counts its own steps, whatever clock the model has
        torques = servos(STEP * round(running.time / STEP), position, rate)
        for joint, torque in zip(joints, torques, strict=True):
            joint.torque = torque

    started = time.perf_counter()
    result = simulate(
        sim.model,
        duration,
        STEP,
        every=ROW,
        record=RECORDED,
        controller=control,
        progress=progress,
    )
    return ArmRun(system, result, slew, servos, time.perf_counter() - started)


def difference(one: ArmRun, other: ArmRun) -> float:
    """Largest difference of what two runs recorded, in whatever unit; 0: they agree bitwise."""
    pairs = [(one.result[name], other.result[name]) for name in one.result.names]
    return max(float(np.abs(a - b).max()) for a, b in pairs)


@dataclass(frozen=True)
class Vibration:
    """Of a boom's tip while the joints hold: along one axis of its head."""

    boom: str
    axis: str
    amplitude: float  # m, half of what lies between the extremes
    frequency: float  # Hz, the strongest


def vibrations(run: ArmRun) -> list[Vibration]:
    """What rings after the slew, the strongest first."""
    after = run.result.time >= run.slew.end
    times = run.result.time[after]
    found = []
    for boom in BOOMS:
        for axis, values in zip("yz", run.deflection(boom)[after].T, strict=True):
            amplitude = 0.5 * float(np.ptp(values))
            found.append(Vibration(boom, axis, amplitude, strongest_frequency(times, values)))
    return sorted(found, key=lambda vibration: -vibration.amplitude)


def strongest_frequency(times: Array, values: Array) -> float:
    """The peak of the spectrum, Hz, found between its lines by padding with zeros.

    >>> times = np.arange(0.0, 40.0, 0.01)
    >>> round(strongest_frequency(times, 3.0 + np.sin(2.0 * np.pi * 0.17 * times)), 3)
    0.17
    """
    window = np.hanning(len(times))
    swing = window * (values - np.average(values, weights=window))
    size = 16 * len(times)
    spectrum = np.abs(np.fft.rfft(swing, size))
    frequencies = np.fft.rfftfreq(size, d=float(times[1] - times[0]))
    return float(frequencies[np.argmax(spectrum)])


def summary(run: ArmRun) -> list[str]:
    """What came out, a line each."""
    result, span = run.result, float(run.result.time[-1])
    error = np.abs(run.measured - run.commanded)
    worst = int(np.argmax(error.max(axis=0)))
    lines = [
        f"simulated        {span:g} s in {run.seconds:.1f} s, {span / run.seconds:.0f} x real "
        f"time, controller at {1e-3 / STEP:g} kHz",
        f"tracking error   {np.rad2deg(error.max()):.2f} deg at most ({JOINTS[worst]}), "
        f"largest torque {np.abs(run.torque).max():.0f} N m",
    ]
    if span > run.slew.end:
        ring = vibrations(run)[0]
        lines.append(
            f"boom vibration   {1e3 * ring.amplitude:.1f} mm at {ring.frequency:.3f} Hz after the "
            f"slew ({ring.boom}, along {ring.axis})"
        )
    lines += [
        f"station          turns by {np.rad2deg(_lengths(run.attitude).max()):.3f} deg",
        f"energy error     {result.energy_error:.1e} of the largest energy",
        f"momentum drift   {_relative_drift(run):.1e} of what station and arm exchange",
    ]
    return lines


def main(output_dir: Path) -> list[Path]:
    """The demo: drives the arm as an FMU, then runs it here too; a summary and a picture."""
    from pliant.demos import station_arm_fmu
    from pliant.demos.station_arm_figure import draw

    print(f"model            {MODEL_FILE}")
    started = time.perf_counter()
    fmu = station_arm_fmu.export(output_dir / "station_arm.fmu")
    print(f"exported         {fmu} in {time.perf_counter() - started:.2f} s")
    run = station_arm_fmu.drive(fmu, DURATION, progress=True)
    print("\n".join(summary(run)))
    apart = difference(run, slew_arm(DURATION, controller=run.controller, progress=True))
    agree = "agree bitwise" if apart == 0.0 else f"differ by {apart:.1e}"
    print(f"FMU, Simulation  {agree} in {run.result.data.size:,} recorded values")
    return [fmu, draw(run, output_dir / "station_arm.png")]


def _relative_drift(run: ArmRun) -> float:
    drift = _lengths(run.result["momentum.p"]).max()
    return float(drift / _lengths(run.station_momentum).max())


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=1))


def _turned_back(quaternions: Array, vectors: Array) -> Array:
    """R^T v for every row; R is that of the quaternion w, x, y, z."""
    w, xyz = quaternions[:, :1], -quaternions[:, 1:]
    turn = 2.0 * np.cross(xyz, vectors)
    return np.asarray(vectors + w * turn + np.cross(xyz, turn))
