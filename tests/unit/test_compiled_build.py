"""The compiled build: what is compiled, when mypy is needed, and that the modules can be compiled at all.

That the compiled modules behave alike is tested by running the other tests with them: scripts/test --compiled.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.test_packaging import DECLARED

CHECKOUT = Path(__file__).parents[2]
SETUP = ast.parse((CHECKOUT / "setup.py").read_text("utf-8"))
COMPILED: list[str] = next(
    ast.literal_eval(node.value)
    for node in SETUP.body
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "COMPILED"
)
MODULES = {path.removesuffix(".py").replace("/", ".") for path in COMPILED}


def needed_for_a_wheel(**environ: str) -> set[str]:
    """What the backend's hook for a wheel asks for, as pip would call it, with setup.py left out."""
    code = (
        "import answerd_build as one; one.build_meta.get_requires_for_build_wheel = lambda settings: [];"
        "one.lacking_to_compile = lambda: '';"
        "print(*one.get_requires_for_build_wheel(), sep='\\n')"
    )
    path = str(CHECKOUT / "backend")
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path, **environ}, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.skipif(importlib.util.find_spec("setuptools") is None, reason="the backend extends setuptools")
def test_only_a_compiled_wheel_needs_mypy() -> None:
    mypy = next(str(requirement) for requirement in DECLARED["test"] if requirement.name == "mypy")
    assert needed_for_a_wheel() == set()
    assert needed_for_a_wheel(ANSWERD_COMPILE="0") == set()
    (needed,) = needed_for_a_wheel(ANSWERD_COMPILE="1")
    assert sorted(needed.removeprefix("mypy").split(",")) == sorted(mypy.removeprefix("mypy").split(","))


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The backend as pip loads it."""
    pytest.importorskip("setuptools", reason="the backend extends setuptools")
    monkeypatch.syspath_prepend(CHECKOUT / "backend")
    return importlib.import_module("answerd_build")


def test_a_build_that_cannot_be_compiled_says_what_it_lacks(
    backend: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(backend.build_meta, "get_requires_for_build_wheel", lambda _: [])
    monkeypatch.setattr(backend.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "some-cc -pthread")
    monkeypatch.delenv("ANSWERD_COMPILE", raising=False)
    assert backend.get_requires_for_build_wheel() == []  # pure Python needs neither
    monkeypatch.setenv("ANSWERD_COMPILE", "1")
    with pytest.raises(SystemExit, match="a C compiler, and some-cc is not on PATH"):
        backend.get_requires_for_build_wheel()
    (tmp_path / "some-cc").touch(0o755)
    with pytest.raises(SystemExit, match="needs Python's headers"):
        backend.get_requires_for_build_wheel()
    (tmp_path / "Python.h").touch()
    assert backend.get_requires_for_build_wheel() == [backend.COMPILER]
