"""setuptools' build backend, which needs mypy too where the modules of the request path are to be compiled.

``ANSWERD_COMPILE=1 pip install .`` compiles them; without it nothing here needs a compiler. An editable install is
never compiled: the compiled module would go on answering for a file that has been edited since.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

COMPILER = "mypy>=2.4,<3"
"""Holds mypyc. The same range as the tests' mypy."""

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a wheel's build needs beside pyproject.toml's requirements. Ends the build where it is to be compiled
    and cannot be."""
    needed: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    if os.environ.get("ANSWERD_COMPILE") != "1":
        return needed
    if lacking := lacking_to_compile():
        raise SystemExit(f"ANSWERD_COMPILE=1 needs {lacking}; without ANSWERD_COMPILE no compiler is needed")
    return [*needed, COMPILER]


def lacking_to_compile() -> str:
    """Return what is not there that a compiled build needs, empty where everything is: pip would only show, after a
    minute, that it cannot run a program."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"a C compiler, and {compiler} is not on PATH (Debian and Ubuntu: apt install gcc python3-dev)"
    headers = Path(sysconfig.get_paths()["include"])
    if not (headers / "Python.h").exists():
        return f"Python's headers, and {headers} has none (Debian and Ubuntu: apt install python3-dev)"
    return ""
