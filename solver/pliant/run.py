"""Running a model for a while and recording it.

>>> result = pl.simulate("arm.yaml", 30.0, step=1e-3, record=["joint", "energy"])  # doctest: +SKIP
>>> result.to_hdf5("arm.h5")                                                       # doctest: +SKIP

With ``output="arm.h5"`` rows go to disk as they come (``recording.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pliant.channels import Channel, choose, default_channels, recordable_channels
from pliant.deflection import DeflectionWatch
from pliant.errors import DeflectionWarning, ModelError, SolverError, warn
from pliant.model import Model
from pliant.part import show
from pliant.progress import Progress
from pliant.reading import Reader
from pliant.recording import Recording, keep, output_paths
from pliant.results import Result
from pliant.simulation import Simulation, is_count, whole_steps
from pliant.system import System

_ROWS = 2000  # recorded by default, at most
_STEPS_BETWEEN_LOOKS = 1000  # at most, while nothing else interrupts: for the progress bar

Controller = Callable[[Simulation], None]


class RunError(SolverError):
    """A run that failed, with what had been recorded by then as ``result``."""

    def __init__(self, error: SolverError, result: Result) -> None:
        super().__init__(error.message, time=error.time, element=error.element, value=error.value)
        self.result = result

    def __reduce__(self) -> tuple[object, ...]:
        plain = SolverError(self.message, time=self.time, element=self.element, value=self.value)
        return RunError, (plain, self.result)


def simulate(
    system: System | Model | str | Path,
    duration: float,
    step: float | None = None,
    *,
    every: int | None = None,
    record: Iterable[str] | str | None = None,
    controller: Controller | None = None,
    control_period: float | None = None,
    progress: bool = False,
    algorithm: str = "order_n",
    integrator: str = "leapfrog",
    node_rotation: str = "exact",
    start: Literal["equilibrium"] | None = None,
    output: str | Path | Iterable[str | Path] | None = None,
    overwrite: bool = False,
) -> Result:
    """Runs a model from its start for ``duration`` seconds and gives what was recorded.

    Without a ``step`` it is a millisecond, or what the model needs if that is shorter.
    ``start="equilibrium"`` moves the start to where the model rests; see ``Simulation``.

    A row is recorded at the start, every ``every`` steps (None: as seldom as gives at most 2000
    rows) and at the end. ``record`` names channels or patterns of them such as ``joint.*.q``
    (None: all but reactions and node accelerations). ``controller(sim)`` is called at the start
    and every ``control_period`` seconds (None: every step) to set inputs.

    ``output`` names files (.h5 or .csv) that rows are written to as they come, so that none is lost
    and a long run needs little memory. They are new, or to be replaced by ``overwrite``. Until the
    run has ended they are called ``x.h5.partial``; what a killed run left, ``Result.load`` opens.

    If the run fails, the SolverError is a RunError with the rows recorded so far as ``result``.
    Any other exception, of the controller or by Ctrl-C, goes on as it is, with the same ``result``.
    Files are finished in each case; ``result.info["ended"]`` says how.

    A step beyond the limit of stability is a StepWarning. Bodies that were deflected further than
    modes can carry, in recorded rows, are in ``result.warnings``, the worst is a DeflectionWarning;
    so is an energy error that makes the run doubtful, an EnergyWarning.

    >>> def hold(sim):                                                     # doctest: +SKIP
    ...     elbow = sim.joint("elbow")
    ...     elbow.torque = -900.0 * (elbow.angle - 0.3) - 60.0 * elbow.rate
    >>> result = pl.simulate("arm.yaml", 5.0, controller=hold)             # doctest: +SKIP
    """
    outputs = output_paths(output, overwrite)
    sim = Simulation(
        system,
        step,
        algorithm=algorithm,
        integrator=integrator,
        node_rotation=node_rotation,
        start=start,
    )
    if controller is not None:
        _check_controller(controller, sim)
    step = sim.step_size
    total = whole_steps(duration, step, "duration")
    if every is None:
        every = max(1, -(-total // _ROWS))
    elif not is_count(every, 1):
        raise ModelError.at("every", f"{show(every)} is no number of steps; give 1 or more")
    period = 1
    if control_period is not None:
        if controller is None:
            raise ModelError.at("control_period", "there is no controller to be called; give one")
        period = whole_steps(control_period, step, "control_period")
        if period < 1:
            raise ModelError.at("control_period", "it is shorter than a step; give a step or more")

    recorder = Recorder(sim, record, 2 + total // every, outputs, overwrite)
    try:
        with Progress(sim, duration, shown=progress) as bar:
            done = 0
            while True:
                if controller is not None and done % period == 0 and done < total:
                    _control(controller, sim)
                if done % every == 0 or done == total:
                    recorder.record()
                if done == total:
                    break
                pause = min(every - done % every, total - done, _STEPS_BETWEEN_LOOKS)
                if controller is not None:
                    pause = min(pause, period - done % period)
                sim.step(pause)
                done += pause
                bar.update()
        result = recorder.finish()
        recorder.warn()
    except BaseException as error:
        so_far = recorder.finish_after(error)
        if isinstance(error, SolverError) and so_far is not None:
            raise RunError(error, so_far) from error
        keep(error, so_far, recorder.written)
        raise
    return result


def _check_controller(controller: object, sim: Simulation) -> None:
    if not callable(controller):
        raise ModelError.at(
            "controller",
            f"{show(controller)} is not a function; give one that takes the simulation",
        )
    with suppress(ValueError):  # some functions of C do not say what they take
        signature = inspect.signature(controller, follow_wrapped=False)
        try:
            signature.bind(sim)
        except TypeError:
            raise ModelError.at(
                "controller",
                f"it takes {signature}; write def controller(sim), which is called with the "
                "simulation alone",
            ) from None


def _control(controller: Controller, sim: Simulation) -> None:
    time = sim.time
    returned: object = controller(sim)  # type: ignore[func-returns-value]
    if sim.time != time:
        raise ModelError.at(
            "controller",
            f"it left the simulation at t = {sim.time:g} s instead of {time:g} s; the run goes on "
            "by itself: look ahead on a Simulation of its own, or between save_state() and "
            "restore_state()",
        )
    if returned is not None:
        raise ModelError.at(
            "controller",
            f"it returned {show(returned)}, which would not be used; controllers set inputs on the "
            'simulation: sim.joint("...").torque = ...',
        )


def texts(given: Iterable[str] | str, where: str, wanted: str) -> list[str]:
    """One text, or several."""
    if isinstance(given, str):
        return [given]
    listed = list(given) if isinstance(given, Iterable) else [given]
    for item in listed:
        if not isinstance(item, str):
            raise ModelError.at(where, f"{show(item)} names none; give {wanted}")
    return listed


class Recorder:
    """Records rows of chosen channels from a simulation."""

    def __init__(
        self,
        sim: Simulation,
        record: Iterable[str] | str | None = None,
        rows: int = _ROWS,
        outputs: Sequence[Path] = (),
        overwrite: bool = False,
    ) -> None:
        if record is None:
            channels: Sequence[Channel] = default_channels(sim.model)
        else:
            patterns = texts(record, "record", "channels or patterns such as 'joint.*.q'")
            channels = choose(recordable_channels(sim.model), patterns)
        self._sim = sim
        self._reader = Reader(sim, channels)
        self._watch = DeflectionWatch(sim.model)
        self._judges = any(channel.name == "energy.error" for channel in channels)
        self._largest_error = 0.0  # J, of the rows of this account
        self._account = sim.accounts
        self._rows = Recording(
            sim.model.name, channels, _info(sim), rows, outputs=outputs, overwrite=overwrite
        )

    def record(self) -> None:
        """Adds a row for the present state."""
        row = self._rows.next()
        self._reader.read(row[1:])
        row[0] = self._sim.time
        self._watch.look(self._sim.time, self._sim.kernel.q)
        if self._judges:
            if self._account != self._sim.accounts:
                self._account, self._largest_error = self._sim.accounts, 0.0
            self._largest_error = max(self._largest_error, self._sim.kernel.energy_error()[0])
        self._rows.commit()

    @property
    def written(self) -> list[Path]:
        """The files that hold what was recorded; those aside where others could not be made."""
        return self._rows.written

    def finish(self) -> Result:
        """What a complete run has recorded."""
        self._rows.tell(energy_error=self._energy_error())
        return self._rows.finish(warnings=self._doubts())

    def finish_after(self, error: BaseException) -> Result | None:
        """What has been recorded by a run that an error ended."""
        self._rows.tell(energy_error=self._energy_error())
        return self._rows.finish_after(error, self._doubts())

    def warn(self) -> None:
        """Of the worst that makes the run doubtful."""
        worst = max(self._watch.found(), key=lambda found: found.rotation, default=None)
        if worst is not None:
            warn(f"{self._sim.model.name}: {worst}", DeflectionWarning)
        self._sim.tell_doubt(self._doubt())

    def _doubts(self) -> list[str]:
        found = [str(deflection) for deflection in self._watch.found()]
        doubt = self._doubt()
        return found if doubt is None else [*found, doubt]

    def _doubt(self) -> str | None:
        return self._sim.doubt_of(max(self._sim.energy_doubt, self._energy_error()))

    def _energy_error(self) -> float:
        """The largest of the run, relative to all that moved in it."""
        error, moved = self._sim.kernel.energy_error()
        return max(error, self._largest_error) / moved if moved > 0.0 else 0.0


def _info(sim: Simulation) -> dict[str, str | float]:
    from pliant import __version__

    return {
        "pliant": __version__,
        "model": sim.model.name,
        "digest": sim.model.digest,
        "step": sim.step_size,
        "integrator": sim.integrator,
        "algorithm": sim.algorithm,
        "node_rotation": sim.node_rotation,
        "instruction_set": sim.kernel.instruction_set,
        "size_q": float(len(sim.q)),
        "size_u": float(len(sim.u)),
        "size_udot": float(sum(j.u.stop - j.u.start for j in sim.model.joints)),
    }
