"""Words that other programs, and textbooks, have for what is called otherwise here.

They are not accepted, only understood: a message says what the word is here.
"""

from __future__ import annotations

from collections.abc import Container

# Words by what they may mean here; of several meanings the one that is known where it stands.
_WORDS = {
    # kinds of joints
    "fixed": "weld welded rigid clamped clamp bonded lock locked",
    "revolute": "hinge hinged pin pinned pivot rotary rotational rotation rotate continuous",
    "prismatic": "slider slide sliding linear translational translation translate rail",
    "cylindrical": "cylinder",
    "universal": "cardan hooke hookes u_joint ujoint gimbal",
    "planar": "plane sliding_plane",
    "spherical": "ball ball_joint ball_and_socket balljoint socket spheric rose",
    "free": "6dof 6_dof sixdof six_dof floating float free_flyer freeflyer unconstrained",
    "general": "custom generic",
    "ground": "world earth inertial base fixed_base origin",
    # nodes
    "tip": "end tool tcp ee distal outboard",
    "head": "root base proximal inboard",
    # keys of joints and loops
    "at": "position pos offset origin xyz location translation place",
    "rotation": "orientation quat quaternion rpy euler attitude",
    "axis": "rotation_axis direction",
    "start": "q q0 angle initial initial_position start_position start_angle position",
    "speed": "velocity rate qd u0 initial_velocity initial_speed start_speed rpm omega",
    "spring": "stiffness k elasticity",
    "friction": "damping damper viscous coulomb",
    "stops": "limits limit bounds range stop",
    "motion": "drive driver prescribed trajectory actuator",
    "child": "to body body_2 outboard follower",
    "parent": "from body_1 inboard carrier",
    "stiffness": "k",
    "rest": "rest_length rest_angle free_length l0 preload",
    "viscous": "damping d b c",
    "coulomb": "mu dry",
    "damping": "d b c zeta damping_ratio",
    "lower": "min minimum low",
    "upper": "max maximum high",
    # keys of bodies, beams and wheels
    "mass": "m weight",
    "com": "cog cg cm center_of_mass centre_of_mass center centre mass_center",
    "inertia": "i j moi moment_of_inertia inertia_tensor moments",
    "nodes": "markers frames points sites connectors",
    "beam": "rod flexible",
    "wheels": "rotors reaction_wheels",
    "length": "l",
    "mass_per_length": "linear_density rhoa rho_a mu line_density mass",
    "rho": "density",
    "E": "youngs_modulus young modulus elastic_modulus e_modulus",
    "G": "shear_modulus",
    "A": "area cross_section",
    "EI": "bending_stiffness flexural_rigidity",
    "GJ": "torsional_stiffness",
    "EA": "axial_stiffness",
    "J": "torsion_constant it",
    "radius": "r diameter",
    "elements": "n_elements mesh number_of_elements",
    # keys of a model
    "bodies": "links parts body",
    "joints": "connections joint",
    "loops": "constraints closures loop",
    "loads": "forces load actuators",
    "gravity": "g",
    "times": "t time",
    "torque": "moment",
    "effort": "torque force moment",
    "value": "amplitude",
}
_MEANINGS: dict[str, list[str]] = {}
for _meaning, _words in _WORDS.items():
    for _word in _words.split():
        _MEANINGS.setdefault(_word, []).append(_meaning)


def meaning(word: str, known: Container[str]) -> str | None:
    """What a word is called here, if that is among the known words.

    >>> meaning("ball-and-socket", ["revolute", "spherical"])
    'spherical'
    >>> meaning("damping", ["stiffness", "rest"]) is None
    True
    """
    plain = word.strip().lower().replace("-", "_").replace(" ", "_").replace("'", "")
    return next((m for m in _MEANINGS.get(plain, ()) if m in known), None)
