"""The plots of the documentation, in build/figures.

    python build_scripts/figures.py                  all of them
    python build_scripts/figures.py --only spin_up   one, or several
    python build_scripts/figures.py --list           their names

A figure is a function with ``@figure``; its name is that of the PNG, its docstring's first line
tells what it shows. The simulations are those that the tests judge (tests/cases).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import pliant as pl  # noqa: E402
from cases import (  # noqa: E402
    bar,
    elastica,
    free_tree,
    moving_systems,
    platform_runs,
    rotating_beams,
    spinning,
    two_bar,
)
from cases.reference import reference  # noqa: E402

FOLDER = ROOT / "build" / "figures"
STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 200,
}
# Okabe & Ito's colours: told apart also by the colour-blind, and in grey
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
EXACT = "0.55"  # what is known from elsewhere

FIGURES: dict[str, Callable[[], Figure]] = {}


def figure(draw: Callable[[], Figure]) -> Callable[[], Figure]:
    FIGURES[draw.__name__] = draw
    return draw


def panels(*shape: int, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """A figure with (rows, columns) of axes."""
    result = Figure(figsize=size, layout="constrained")
    return result, np.atleast_1d(result.subplots(*shape))


# ------------------------------------------------------------------------------------- figures


@figure
def energy_error() -> Figure:
    """Energy and momentum errors of a free flexible tree over the step, by integrator."""
    steps = np.array([8e-3, 4e-3, 2e-3, 1e-3, 5e-4])
    curves = [
        ("euler_cromer", "exact", "euler_cromer", RED, 1),
        ("leapfrog", "exact", "leapfrog", ORANGE, 2),
        ("rk4", "exact", "rk4", BLUE, 4),
        ("rk4", "paper", "rk4, the literature's\nnode rotation", "0.25", None),
    ]
    result, axes = panels(1, 2, size=(9.5, 4.6))
    for integrator, rotation, label, colour, order in curves:
        runs = [free_tree.drift(h, integrator, rotation) for h in steps.tolist()]
        energy = np.array([run.energy for run in runs])
        momentum = np.array([max(run.linear, run.angular) for run in runs])
        for ax, errors in zip(axes, (energy, momentum), strict=True):
            style = "s--" if order is None else "o-"
            ax.loglog(steps, errors, style, color=colour, label=label, markersize=4.5)
            if order is not None:
                slope_mark(ax, steps[2], errors[2], order)
    for ax, title in zip(axes, ("Energy", "Momentum, linear and angular"), strict=True):
        ax.set_title(title)
        ax.set_xlabel("step")
        ax.set_ylim(1e-14, 1e-1)
        ax.set_xticks(steps, [f"{h * 1e3:g} ms" for h in steps])
        ax.minorticks_off()
    axes[0].set_ylabel("largest error in 3 s, relative")
    axes[0].legend(loc="upper left", bbox_to_anchor=(0.0, 0.57))
    return result


@figure
def integrators() -> Figure:
    """Error of positions over the step, by integrator: soft, stiff, free and closed systems."""
    colours = {"euler_cromer": RED, "leapfrog": ORANGE, "rk4": BLUE}
    systems = [
        ("Soft: tumbling tree, modest vibration", moving_systems.vibrating_tree(0.3), 16e-3, 4.8),
        ("Stiff: crane, slow swing, fast jib", moving_systems.stiff_crane(), 8e-3, 4.8),
        ("Free: tumbling tree, strong vibration", moving_systems.vibrating_tree(1.0), 16e-3, 4.8),
        ("Closed: plane four-bar", moving_systems.four_bar(speed=8.0), 8e-3, 2.4),
    ]
    result, axes = panels(2, 2, size=(9.5, 7.6))
    for ax, (title, system, longest, duration) in zip(axes.flat, systems, strict=True):
        steps = longest / 2.0 ** np.arange(6)
        exact = moving_systems.motion_of(system, steps[-1] / 4, duration, "rk4")
        for integrator, colour in colours.items():
            errors = []
            for h in steps.tolist():
                try:
                    found = moving_systems.motion_of(system, h, duration, integrator)
                    errors.append(moving_systems.apart(found, exact))
                except pl.SolverError:
                    errors.append(np.nan)
            ax.loglog(steps, errors, "o-", color=colour, label=integrator, markersize=4.5)
            order = {"euler_cromer": 1, "leapfrog": 2, "rk4": 4}[integrator]
            slope_mark(ax, steps[3], errors[3], order)
        ax.set_title(title)
        ax.set_xlabel("step")
        ax.set_xticks(steps, [f"{h * 1e3:g} ms" for h in steps])
        ax.minorticks_off()
    for ax in axes[:, 0]:
        ax.set_ylabel("rms distance of nodes from a fine run, m")
    axes[0, 0].legend(loc="lower right")
    return result


def slope_mark(ax: Axes, x: float, y: float, order: int) -> None:
    """A triangle of the given slope above a point of a log-log curve."""
    x0, low = x / 1.9, y * 2.5 / 1.9**order
    ax.plot([x0, x, x0, x0], [low, y * 2.5, y * 2.5, low], color="0.5", linewidth=0.8)
    ax.annotate(
        f"{order}", (x0 / 1.07, np.sqrt(low * y * 2.5)), color="0.35", ha="right", va="center"
    )


@figure
def spin_up() -> Figure:
    """Tip of a beam whose hub spins up, over the geometrically exact curve."""
    exact = rotating_beams.spin_up_reference()
    stiff = rotating_beams.run_spin_up()
    try:
        rotating_beams.run_spin_up(stiffening=False)
        raise AssertionError("the beam without stiffening should have diverged")
    except pl.SolverError as error:
        loose = rotating_beams.tip_curve(error.result)

    result, axes = panels(2, 1, size=(7.5, 6.4))
    top, bottom = axes
    visible = np.abs(loose.v) < 3.0
    top.plot(exact.t, exact.v, "o", color=EXACT, markersize=3.0, label="geometrically exact (ANCF)")
    top.plot(stiff.t, stiff.v, color=BLUE, label="pliant, second-order field")
    top.plot(
        loose.t[visible], loose.v[visible], "--", color=RED, label="pliant, without it: diverges"
    )
    top.set_ylim(-1.05, 0.12)
    top.set_title("Deflection of the tip behind the hub")
    top.set_ylabel("$v$ in m")
    top.legend(loc="lower right")

    late = exact.t > 15.0
    bottom.plot(exact.t, 1e3 * exact.u, "o", color=EXACT, markersize=3.0)
    bottom.plot(stiff.t, 1e3 * stiff.u, color=BLUE)
    bottom.set_title("Displacement of the tip along the undeformed beam")
    bottom.set_ylabel("$u$ in mm")
    bottom.set_xlabel("time in s")
    inset = bottom.inset_axes((0.6, 0.16, 0.39, 0.55))
    inset.plot(exact.t[late], 1e3 * exact.u[late], "o", color=EXACT, markersize=2.0)
    inset.plot(stiff.t[stiff.t > 15.0], 1e3 * stiff.u[stiff.t > 15.0], color=BLUE, linewidth=0.8)
    stretch = 1.2 * 36.0 * 1e3 / (3 * 2.8e7)
    inset.axhline(1e3 * stretch, color="0.3", linewidth=0.9, linestyle=":")
    inset.annotate(
        r"steady bar, $\rho A \Omega^2 L^3 / 3EA$",
        (20.0, 1e3 * stretch),
        (20.0, 0.5146),
        ha="right",
        fontsize=8,
    )
    inset.set_ylim(0.507, 0.5165)
    inset.set_title("the stretch that remains", fontsize=8.5, fontweight="normal")
    inset.tick_params(labelsize=8)
    return result


@figure
def rotating_cantilever() -> Figure:
    """First frequencies of a turning cantilever over the speed of its hub."""
    gammas = np.linspace(0.0, 8.0, 33)
    # without stiffening lagging ends at the frequency of the beam at rest, as a circle does
    at_rest = np.sqrt(rotating_beams.ritz_squares(0.0)[0])
    circle = at_rest * np.sin(np.linspace(0.0, 0.5 * np.pi, 25)[:-1])

    def frequencies(gammas: np.ndarray, plane: str, stiffening: bool) -> np.ndarray:
        rows = [rotating_beams.rotating_squares(g, plane, stiffening=stiffening) for g in gammas]
        return np.sqrt([row[0] for row in rows])

    result, (ax,) = panels(1, 1, size=(7.0, 4.8))
    ritz = np.sqrt([rotating_beams.ritz_squares(g)[0] for g in gammas])
    ax.plot(gammas, ritz, color="0.8", linewidth=6, label="flapping, Ritz solution")
    ax.plot(gammas, frequencies(gammas, "flap", True), color=BLUE, label="flapping, pliant")
    ax.plot(gammas, frequencies(gammas, "lag", True), color=GREEN, label="lagging, pliant")
    without = {"linestyle": "--", "linewidth": 1.1}
    ax.plot(gammas, frequencies(gammas, "flap", False), color=BLUE, **without)
    ax.plot(circle, frequencies(circle, "lag", False), color=GREEN, **without)
    ax.plot([], [], color="0.3", label="the same without the second-order field", **without)
    published = rotating_beams.PUBLISHED
    ax.plot(
        list(published),
        list(published.values()),
        "o",
        color="black",
        markersize=5.5,
        markerfacecolor="white",
        markeredgewidth=1.3,
        label="flapping, Wright et al. 1982",
    )
    ax.set_xlabel(r"speed of the hub  $\gamma = \Omega\,(mL^4/EI)^{1/2}$")
    ax.set_ylabel(r"first frequency  $\omega\,(mL^4/EI)^{1/2}$")
    ax.set_xlim(0, 8)
    ax.set_ylim(0, None)
    ax.annotate(
        "unstable from here on",
        (at_rest, 0.0),
        (at_rest + 0.6, 0.8),
        color="0.3",
        arrowprops={"arrowstyle": "->", "color": "0.3"},
    )
    ax.legend(loc="upper left")
    return result


@figure
def spinning_shafts() -> Figure:
    """Speeds of vibration of spinning shafts and of a turning blade over the spin."""
    result, axes = panels(1, 3, size=(11.0, 4.6))
    for ax, name, title, count in (
        (axes[0], "disc_on_shaft", "Shaft with a disc at its end", 4),
        (axes[1], "fat_shaft", "Fat shaft, length twice its diameter", 4),
    ):
        exact = spinning.WHIRL[name]["spins"]
        fine = np.linspace(0.0, exact[-1]["Omega"], 81)
        found = [spinning.speeds(spinning.whirl_system(name, w))[:count] for w in fine]
        ax.plot(fine, np.array(found), color=BLUE)
        for spin in exact:
            ax.plot([spin["Omega"]] * count, spin["rotating"][:count], "o", **_EXACT_POINTS)
        ax.set_title(title)
        ax.set_xlabel(r"spin $\Omega$ in rad/s")
        ax.set_ylim(0, None)
    axes[0].set_ylabel("speed seen from the shaft, rad/s")
    axes[0].plot([], [], "o", label="exact", **_EXACT_POINTS)
    axes[0].plot([], [], color=BLUE, label="pliant, 5 modes a plane")
    axes[0].legend(loc="upper left")

    twist, at_rest = axes[2], spinning.BLADE_AT_REST
    spins = at_rest * np.linspace(0.0, 1.5, 31)
    for axis, colour, label in (
        ("z", BLUE, "pliant, turning in its plane"),
        ("y", ORANGE, "pliant, turning across it"),
    ):
        exact = [spinning.blade_speeds(axis, w)[0] for w in spins]
        twist.plot(spins / at_rest, np.array(exact) / at_rest, color="0.8", linewidth=6)
        found = [spinning.speeds(spinning.blade(axis, w, modes=6))[0] for w in spins]
        twist.plot(spins / at_rest, np.array(found) / at_rest, color=colour, label=label)
        few = spins[spins < 0.999 * at_rest] if axis == "y" else spins
        loose = [
            spinning.speeds(spinning.blade(axis, w, modes=1, stiffening=False))[0] for w in few
        ]
        twist.plot(few / at_rest, np.array(loose) / at_rest, "--", color=colour, linewidth=1.1)
    twist.plot([], [], color="0.8", linewidth=6, label="equation of the twist, Ritz solution")
    twist.plot([], [], "--", color="0.3", linewidth=1.1, label="without stiffening by tension")
    twist.set_title("Torsion of a flat blade")
    twist.set_xlabel(r"spin $\Omega / \omega_0$")
    twist.set_ylabel(r"first frequency $\omega / \omega_0$")
    twist.set_ylim(0, 3.4)
    twist.legend(loc="upper left")
    return result


_EXACT_POINTS = {
    "color": "black",
    "markersize": 5.0,
    "markerfacecolor": "white",
    "markeredgewidth": 1.2,
    "zorder": 3,
}


@figure
def elastic_bar() -> Figure:
    """Tip of Mukherjee & Anderson's bar against the exact triangular wave."""
    result, (top, bottom) = panels(2, 1, size=(7.0, 6.2))
    fine = np.linspace(0.0, 32.0, 641)
    top.plot(fine, 1e3 * bar.exact_tip(fine), color="0.8", linewidth=6, label="exact wave")
    for static, colour, label in (
        (False, ORANGE, "4 modes a rod"),
        (True, BLUE, "4 modes and 1 static mode a rod"),
    ):
        t, u = bar.run_bar(static, duration=32.0)
        top.plot(t, 1e3 * u, color=colour, label=label)
        bottom.plot(t, 1e3 * (u - bar.exact_tip(t)), color=colour)
    top.set_title("Displacement of the tip")
    top.set_ylabel("$u$ in mm")
    bottom.set_title("Difference from the exact wave")
    bottom.set_ylabel("mm")
    bottom.set_xlabel("time in s")
    result.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return result


# Simulated time of the platform's figures, s. The paper's is 100; dense is the slow one.
PLATFORM_SPAN, DENSE_SPAN = 100.0, 20.0


@figure
def platform_displacement() -> Figure:
    """Top plate and test object of the platform, case 16, by both algorithms."""
    order_n = platform_runs.record(16, PLATFORM_SPAN)
    dense = platform_runs.record(16, DENSE_SPAN, "dense")
    beside = platform_runs.record(16, DENSE_SPAN, rounding=True)
    titles = ("Case 16, centre of the top plate", "Where manipulator 1 holds the test object")

    result, axes = panels(3, 1, size=(7.5, 8.6))
    for i, (ax, title) in enumerate(zip(axes, titles, strict=False)):
        for axis, (name, colour) in enumerate(zip("xyz", (BLUE, ORANGE, GREEN), strict=True)):
            label = f"${name}$, order_n, {PLATFORM_SPAN:g} s"
            ax.plot(order_n.t, order_n.displacement[:, i, axis], color=colour, label=label)
            some = np.searchsorted(dense.t, np.arange(0.0, DENSE_SPAN + 1.0, 2.0) - 1e-6)
            ax.plot(
                dense.t[some],
                dense.displacement[some, i, axis],
                "o",
                color=colour,
                markerfacecolor="white",
                markersize=4.5,
                label=f"${name}$, dense, {DENSE_SPAN:g} s",
            )
        ax.set_title(f"{title}: displacement in m")
        ax.set_xlim(0, PLATFORM_SPAN)
    axes[0].legend(ncols=3, loc="upper left", fontsize=8.5)
    axes[1].set_xlabel("time in s; the loads change sign every 20 s")

    difference = axes[2]
    shared = slice(1, len(dense.t))
    for other, colour, label in (
        (dense, RED, "dense"),
        (beside, "0.6", "order_n, every start coordinate off by one rounding"),
    ):
        apart = np.linalg.norm(other.displacement - order_n.displacement[: len(other.t)], axis=2)
        difference.loglog(
            other.t[shared], apart.max(axis=1)[shared], color=colour, linewidth=0.9, label=label
        )
    difference.set_title("Distance of other runs from that of order_n, in m")
    difference.set_xlabel("time in s")
    difference.set_ylim(1e-15, 1e-9)
    difference.set_xlim(dense.t[1], DENSE_SPAN)
    difference.axhline(1e-10, color=EXACT, linestyle="--")
    difference.annotate("agreement stated in the paper", (6e-3, 1.5e-10), color="0.35")
    difference.legend(loc="upper left", bbox_to_anchor=(0.0, 0.82))
    return result


@figure
def platform_acceleration() -> Figure:
    """Bottom pitch joint of the platform's leg 2, rigid and flexible (cases 12 and 16)."""
    rigid = platform_runs.record(12, PLATFORM_SPAN)
    flexible = platform_runs.record(16, PLATFORM_SPAN)
    result, (whole, switch) = panels(2, 1, size=(7.5, 6.2))
    for ax, width in ((whole, 0.5), (switch, 0.9)):
        for run, colour, label, linewidth in (
            (flexible, ORANGE, "flexible, case 16, step 0.1 ms", width),
            (rigid, BLUE, "rigid, case 12, step 1 ms", 1.6),
        ):
            ax.plot(run.t, 1e3 * run.acceleration, color=colour, label=label, linewidth=linewidth)
        ax.set_ylabel("mrad/s$^2$")
    whole.set_title("Angular acceleration of leg 2's bottom pitch joint, order_n")
    whole.set_xlim(0, PLATFORM_SPAN)
    whole.legend(loc="upper left")
    switch.set_title("The same when the loads change sign")
    switch.set_xlim(*platform_runs.FINE)
    seen = (flexible.t > platform_runs.FINE[0]) & (flexible.t < platform_runs.FINE[1])
    limit = 1.1e3 * np.abs(flexible.acceleration[seen]).max()
    switch.set_ylim(-limit, limit)
    switch.set_xlabel("time in s")
    return result


@figure
def two_bar_arm() -> Figure:
    """Tip of Mukherjee & Anderson's two-bar arm over geometrically exact curves."""
    result, axes = panels(2, 2, size=(9.5, 6.6))
    for column, (name, title) in enumerate(
        (("two_bar_ancf", "E = 73 GPa"), ("two_bar_stiff_ancf", "Four times as stiff"))
    ):
        path, error = axes[0, column], axes[1, column]
        exact = np.array(reference(name)["curve"])
        path.plot(
            exact[::2, 1],
            exact[::2, 2],
            "o",
            color=EXACT,
            markersize=3.0,
            label="geometrically exact (ANCF)",
        )
        for stiffening, style, colour, label in (
            (True, "-", BLUE, "pliant, second-order field"),
            (False, "--", RED, "pliant, without it"),
        ):
            rows = two_bar.run_two_bar(name, stiffening=stiffening)
            t, distance = two_bar.distance_from_reference(rows, name)
            path.plot(rows[:, 1], rows[:, 2], style, color=colour, label=label, linewidth=1.2)
            error.semilogy(t, distance, style, color=colour)
        path.plot(*exact[0, 1:], "o", color="black", markersize=5.5, markerfacecolor="white")
        path.annotate("start", exact[0, 1:], (-6, 8), textcoords="offset points", ha="center")
        path.set_title(f"{title}: path of the tip")
        path.set_xlabel("$x$ in m")
        path.set_aspect("equal", adjustable="datalim")
        error.axvline(0.5, color="0.6", linewidth=0.8, linestyle=":")
        error.annotate(
            "the roots stop", (0.5, 2e-7), (4, 0), textcoords="offset points", fontsize=8
        )
        error.set_ylim(1e-7, 3e-2)
        error.set_title("Distance from the exact tip")
        error.set_xlabel("time in s")
    axes[0, 0].set_ylabel("$y$ in m")
    axes[1, 0].set_ylabel("m")
    labels = axes[0, 0].get_legend_handles_labels()
    result.legend(*labels, loc="outside lower center", ncols=3)
    return result


@figure
def welded_beams() -> Figure:
    """Frequencies of welded beams, the elastica and Euler's load over the number of beams."""
    counts = np.array([1, 2, 4, 8, 16])
    static = {"static": ["force_y", "moment_z"]}
    choices = [
        ("beams alone, 2 a beam", RED, "s--", {"shapes": "cantilever", "modes": {"bending": 2}}),
        (
            "beams alone, 1 and 2 static",
            GREEN,
            "^-.",
            {"shapes": "cantilever", "modes": {"bending": 1, **static}},
        ),
        ("with what they carry, 1 a beam", ORANGE, "v-", {"modes": {"bending": 1}}),
        ("with what they carry, 2 a beam", BLUE, "o-", {"modes": {"bending": 2}}),
    ]
    result, axes = panels(2, 2, size=(9.5, 7.6))
    first, second, bent, thrust = axes.flat
    for label, colour, style, beam in choices:
        line = {"color": colour, "markersize": 4.5, "linewidth": 1.3}
        errors = [elastica.frequency_errors(n, **beam) for n in counts.tolist()]
        for ax, number in ((first, 0), (second, 1)):
            there = [(n, e[number]) for n, e in zip(counts, errors, strict=True) if len(e) > number]
            ax.loglog(*np.array(there).T, style, label=label, **line)
        tips = [elastica.tip_error(n, 1.0, **beam) for n in counts[1:].tolist()]
        bent.loglog(counts[1:], tips, style, **line)
        loads = [elastica.buckling_load(n, **beam) for n in counts[:4].tolist()]
        thrust.loglog(counts[:4], np.array(loads) / elastica.EULER_LOAD - 1.0, style, **line)
    for load in (2.0, 5.0, 10.0):
        tips = [elastica.tip_error(n, load, modes={"bending": 2}) for n in (4, 8, 16)]
        bent.loglog(counts[2:], tips, "o:", color=BLUE, markersize=3.5, linewidth=0.9)
        label = f"$PL^2/EI = {load:g}$"
        bent.annotate(label, (3.8, tips[0]), color=BLUE, fontsize=8, va="top", ha="right")
    bent.annotate("$PL^2/EI = 1$", (3.8, 4.0e-4), color=BLUE, fontsize=8, va="top", ha="right")
    slope_falls(bent, 8, 3.0e-5, 3)
    slope_falls(thrust, 4, 8.0e-7, 4)
    titles = (
        "First frequency of a cantilever",
        "Its second frequency",
        "Tip of the elastica, error in lengths",
        "Euler's load",
    )
    for ax, title in zip(axes.flat, titles, strict=True):
        ax.set_title(title)
        ax.set_xticks(counts, [str(n) for n in counts])
        ax.minorticks_off()
    for ax in (first, second, thrust):
        ax.set_ylabel("relative error")
    bent.set_ylabel("distance from the exact tip")
    for ax in (bent, thrust):
        ax.set_xlabel("number of beams")
    result.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return result


def slope_falls(ax: Axes, x: float, y: float, order: int) -> None:
    """A triangle below a point of a log-log curve that falls with the given slope."""
    x1, low = x * 1.8, y / 1.8**order
    ax.plot([x, x1, x, x], [y, low, low, y], color="0.5", linewidth=0.8)
    ax.annotate(f"{order}", (x / 1.06, np.sqrt(low * y)), color="0.35", ha="right", va="center")


# ------------------------------------------------------------------------------------- command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=FIGURES, metavar="name", default=list(FIGURES))
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    options = parser.parse_args()
    if options.list:
        for name, draw in FIGURES.items():
            print(f"{name:22} {(draw.__doc__ or '').partition(chr(10))[0]}")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        start = time.perf_counter()
        path = FOLDER / f"{name}.png"
        with rc_context(STYLE):
            FIGURES[name]().savefig(path)
        print(f"{path.relative_to(ROOT)}  {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
