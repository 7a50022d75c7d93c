"""The author's description of a mechanism: ``System`` and what it is made of.

>>> pendulum = System(
...     name="pendulum",
...     gravity=[0, 0, -9.81],
...     bodies={"rod": Body(mass=1, com=[0.5, 0, 0], inertia=[0.001, 0.08, 0.08])},
...     joints={"hinge": Joint(type="revolute", axis="y", child="rod", start=0.3)},
... )
>>> pendulum.validate_model()
>>> [group.name for group in pendulum.groups]
['rod']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from numpy.typing import ArrayLike
from pydantic import Field, PlainValidator, PrivateAttr, ValidationError
from typing_extensions import Self

from pliant.body import Body, Node, Wheel
from pliant.errors import ModelError
from pliant.fields import AxisAngle, Name, array, choice, shaped
from pliant.flexible import Beam, Lump, Modal, ModalNode, ModalPoint, Modes, Station
from pliant.fmu_settings import Fmu
from pliant.joint import Friction, Joint, Spring, Stops
from pliant.limits import ACCELERATION
from pliant.loads import Load
from pliant.loop import Loop
from pliant.motion import Motion
from pliant.part import Finding, Part, findings_of
from pliant.source import Source, problems_of
from pliant.structure import Link, Parts, Reference, findings

__all__ = [
    "Attachment",
    "AxisAngle",
    "Beam",
    "Body",
    "Fmu",
    "Friction",
    "Group",
    "Joint",
    "Load",
    "Loop",
    "Lump",
    "Modal",
    "ModalNode",
    "ModalPoint",
    "Modes",
    "Motion",
    "Node",
    "Spring",
    "Station",
    "Stops",
    "System",
    "Wheel",
]


@dataclass(frozen=True)
class Attachment:
    """Which node of which body a joint connects; ``parent_body`` None is the ground."""

    parent_body: str | None
    parent_node: str
    child_body: str
    child_node: str
    joint: str


@dataclass(frozen=True)
class Group:
    """An independently moving system: a body on the ground and all that hangs on it."""

    name: str  # of its root body
    bodies: tuple[str, ...]


class System(Part):
    """A mechanism: bodies, the joints between them, gravity and loads.

    Each part is checked when it is given, the whole by ``validate_model`` and before every use.
    """

    name: Name
    """The name of the mechanism."""
    gravity: Annotated[ArrayLike, shaped((3,), what="3 numbers [x, y, z]", span=ACCELERATION)] = (
        Field(default_factory=lambda: array([0, 0, 0], (3,), what=""))
    )
    """Gravitational acceleration in world axes, m/s2."""
    bodies: dict[Name, Body] = Field(default_factory=dict)
    """The bodies by name."""
    joints: dict[Name, Joint] = Field(default_factory=dict)
    """The joints by name; each body hangs on exactly one."""
    loops: dict[Name, Loop] = Field(default_factory=dict)
    """Attachments that close loops, by name."""
    loads: dict[Name, Load] = Field(default_factory=dict)
    """Loads by name."""
    start: Annotated[Literal["equilibrium"], PlainValidator(choice("equilibrium"))] | None = None
    """``equilibrium``: positions at the start are those where the system comes to rest under its
    weight and loads at t = 0, found downhill from the ``start`` of the joints; speeds stay as
    given. Left out: as the joints say."""
    fmu: Fmu | None = None
    """How the system is exported as an FMU."""

    _source: Source | None = PrivateAttr(default=None)

    def __init__(self, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise ModelError(problems_of(_survey_faulty(error, data).findings, None)) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """A system out of plain data: dicts, lists, numbers and text. Raises a ModelError with all
        that is wrong with them."""
        if isinstance(obj, Mapping):
            return cls(**obj)
        return super().model_validate(obj, **options)

    def __repr__(self) -> str:
        found = [
            f"{len(named)} {one if len(named) == 1 else several}"
            for one, several, named in (
                ("body", "bodies", self.bodies),
                ("joint", "joints", self.joints),
                ("loop", "loops", self.loops),
                ("load", "loads", self.loads),
            )
            if named
        ]
        return f"System({self.name!r}: {', '.join(found) or 'empty'})"

    def _repr_html_(self) -> str:
        from pliant.notebook import system_table

        return system_table(self)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The joints as connections between nodes."""
        result = []
        for name, joint in self.joints.items():
            parent, child = Reference.read(joint.parent), Reference.read(joint.child)
            assert child.body is not None
            result.append(Attachment(parent.body, parent.node, child.body, child.node, name))
        return tuple(result)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The independently moving systems, each named after its root body."""
        self.validate_model()
        members: dict[str, list[str]] = {}
        root_of: dict[str, str] = {}
        for attachment in inboard_first(self.attachments):
            child, parent = attachment.child_body, attachment.parent_body
            root_of[child] = child if parent is None else root_of[parent]
            members.setdefault(root_of[child], []).append(child)
        return tuple(Group(name, tuple(bodies)) for name, bodies in members.items())

    def validate_model(self) -> None:
        """Raises a ModelError with everything that is wrong with the system as it is now."""
        survey = self.survey()
        if survey.findings:
            raise ModelError(problems_of(survey.findings, self._source))

    def survey(self) -> Survey:
        """The system checked afresh, down to what was changed inside its parts."""
        return survey_data(self.plain())

    def to_yaml(self) -> str:
        """The text of the model file that describes this system."""
        from pliant.model_file import to_yaml  # it needs this module

        return to_yaml(self)


@dataclass(frozen=True)
class Survey:
    """The result of a check: the sound parts and the findings; ``system`` is None if any."""

    system: System | None
    parts: Parts
    findings: list[Finding] = field(default_factory=list)


def survey_data(data: Mapping[str, Any]) -> Survey:
    """A system out of plain data, or everything that is wrong with it."""
    try:
        system: System = System.__pydantic_validator__.validate_python(dict(data))
    except ValidationError as error:
        return _survey_faulty(error, data)
    links = {name: Link(j.parent, j.child, j) for name, j in system.joints.items()}
    parts = Parts(system.bodies, links, system.loads, system.loops)
    found = list(findings(parts))
    return Survey(None if found else system, parts, found)


def _survey_faulty(error: ValidationError, data: Mapping[str, Any]) -> Survey:
    """Findings of a failed validation, and those between the parts that are sound."""
    found = findings_of(error, System)
    raw = {key: _named(data.get(key)) for key in ("bodies", "joints", "loads", "loops")}
    bodies, joints = _sound(raw["bodies"], Body), _sound(raw["joints"], Joint)
    loads = _sound(raw["loads"], Load)
    links = {
        name: _link(raw["joints"][name])
        if joint is None
        else Link(joint.parent, joint.child, joint)
        for name, joint in joints.items()
    }
    nodes = {name: _node_names(raw["bodies"][name]) for name in bodies if bodies[name] is None}
    faulty_nodes = {name: names for name, names in nodes.items() if names}
    parts = Parts(bodies, links, loads, _sound(raw["loops"], Loop), faulty_nodes)
    if isinstance(data.get("bodies"), Mapping):
        found += findings(parts)
    return Survey(None, parts, found)


def _named(raw: Any) -> dict[str, Any]:
    """What stands under names, which may be numbers in a faulty file."""
    return {str(name): item for name, item in raw.items()} if isinstance(raw, Mapping) else {}


_P = TypeVar("_P", bound=Part)


def _sound(raw: Mapping[str, Any], cls: type[_P]) -> dict[str, _P | None]:
    """Parts by name; None for those that are not sound."""
    parts: dict[str, _P | None] = {}
    for name, item in raw.items():
        try:
            parts[name] = cls.__pydantic_validator__.validate_python(item)
        except ValidationError:
            parts[name] = None
    return parts


def _node_names(raw: Any) -> tuple[str, ...]:
    """The nodes that a faulty body seems to have; none if that cannot be read."""
    modal = raw.get("modal") if isinstance(raw, Mapping) else None
    sources = [source.get("nodes", {}) for source in (raw, modal) if isinstance(source, Mapping)]
    if not sources or not all(isinstance(source, Mapping) for source in sources):
        return ()
    return ("head", "tip", "origin", *(str(name) for source in sources for name in source))


def _link(raw: Any) -> Link | None:
    """The place of a faulty joint, if it can be read."""
    if not isinstance(raw, Mapping):
        return None
    parent, child = raw.get("parent", "ground"), raw.get("child")
    return Link(parent, child, None) if isinstance(parent, str) and isinstance(child, str) else None


def inboard_first(attachments: tuple[Attachment, ...]) -> list[Attachment]:
    """Breadth first from the ground: every parent before its children, joints in given order."""
    outboard: dict[str | None, list[Attachment]] = {}
    for attachment in attachments:
        outboard.setdefault(attachment.parent_body, []).append(attachment)
    ordered = list(outboard.get(None, ()))
    for attachment in ordered:  # grows while it is walked
        ordered.extend(outboard.get(attachment.child_body, ()))
    return ordered
