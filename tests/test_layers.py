"""Who may import whom: the solver stands alone, the FMU layers stand on it.

=====================  ============================================================
solver/pliant          nothing of fmu, model_description or demos, except the command
                       line and the package's front door, which sit on top of all
model_description      of pliant only the compiled model and what it is made of
fmu, demos             everything
=====================  ============================================================
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOLVER = ROOT / "solver" / "pliant"
DESCRIPTION = ROOT / "model_description" / "pliant" / "model_description"

ABOVE = ("pliant.fmu", "pliant.model_description", "pliant.demos")
ON_TOP = {"cli", "cli_channels", "cli_fmu", "completion", "__init__", "__main__"}
# what model_description may see of pliant: the model, not how it is written, solved or run
MODEL_SIDE = {
    "pliant.__version__",
    "pliant._kernel.QUANTITIES",
    "pliant.channels",
    "pliant.data_file",
    "pliant.errors",
    "pliant.limits",
    "pliant.mechanism",
    "pliant.model",
    "pliant.motion.InputMotion",
    "pliant.options",
    "pliant.part",
    "pliant.reduced",
    "pliant.stability.StepLimit",
    "pliant.model_description",
}


def imports(path: Path, package: str) -> Iterator[str]:
    """Full names of what a file imports, wherever in it and also for type checking only.

    ``from pliant.model import Model`` gives ``pliant.model.Model``.
    """
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            first = node.args[0]
            if name in ("import_module", "__import__") and isinstance(first, ast.Constant):
                yield str(first.value)


def files(folder: Path, package: str) -> Iterator[tuple[Path, str]]:
    """Python files with the package that relative imports in them start from."""
    for path in sorted(folder.rglob("*.py")):
        inner = path.parent.relative_to(folder).parts
        yield path, ".".join([package, *inner])


def is_within(name: str, modules: tuple[str, ...] | set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def test_the_solver_does_not_import_the_layers_above_it():
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, package in files(SOLVER, "pliant")
        if path.parent != SOLVER or path.stem not in ON_TOP
        for name in imports(path, package)
        if is_within(name, ABOVE)
    ]
    assert wrong == []


def test_the_model_description_sees_only_the_compiled_model():
    wrong = []
    for path, package in files(DESCRIPTION, "pliant.model_description"):
        for name in imports(path, package):
            if is_within(name, ("pliant",)) and not is_within(name, MODEL_SIDE):
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert wrong == []


def test_every_way_of_importing_is_seen(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        "import pliant.fmu.pack\n"
        "from pliant import demos\n"
        "def later():\n"
        "    from .fmu import slave\n"
        "    from .. import model_description\n"
        "    import_module('pliant.fmu')\n"
    )
    found = set(imports(source, "pliant.inner"))
    assert {
        "pliant.fmu.pack",
        "pliant.demos",
        "pliant.inner.fmu.slave",
        "pliant.model_description",
        "pliant.fmu",
    } <= found
    assert is_within("pliant.fmu.pack", ABOVE)
    assert not is_within("pliant.fmuland", ABOVE)
