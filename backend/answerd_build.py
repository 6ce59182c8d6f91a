"""setuptools' build backend, which needs mypy too where the modules of the request path are to be compiled.

``ANSWERD_COMPILE=1 pip install .`` compiles them; without it nothing here needs a compiler. An editable install is
never compiled: the compiled module would go on answering for a file that has been edited since.
"""

from __future__ import annotations

import os
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
    """Return what a wheel's build needs beside pyproject.toml's requirements."""
    needed: list[str] = build_meta.get_requires_for_build_wheel(config_settings)
    return [*needed, COMPILER] if os.environ.get("ANSWERD_COMPILE") == "1" else needed
