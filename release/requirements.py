"""What the service needs: the requirements of setup.py, the pins of requirements.txt, and what those need in turn."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from release.source import CHECKOUT

PINS = CHECKOUT / "requirements.txt"

DEVELOPMENT_EXTRAS = frozenset({"test", "loadtest", "docs", "browser"})
"""Extras that no service needs. All others are features of the service, and are in packages and images."""


def service_extras(setup: Path = CHECKOUT / "setup.py") -> list[str]:
    """Return the names of the extras that are features of the service, sorted."""
    return sorted(set(_literals(setup)["EXTRAS"]) - DEVELOPMENT_EXTRAS)


def service_requirements(setup: Path = CHECKOUT / "setup.py") -> list[Requirement]:
    """Return what setup.py names for the service and its optional features."""
    literals = _literals(setup)
    named = [
        *literals["RUNTIME"],
        *(requirement for extra in service_extras(setup) for requirement in literals["EXTRAS"][extra]),
    ]
    return [Requirement(text) for text in sorted(set(named))]


def _literals(setup: Path) -> Mapping[str, Mapping[str, list[str]]]:
    return {
        target.id: ast.literal_eval(node.value)
        for node in ast.parse(setup.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in ("RUNTIME", "EXTRAS")
    }


def pins(path: Path = PINS) -> dict[str, str]:
    """Return the releases of requirements.txt, by canonical name."""
    lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): release for name, release in pairs}


def everything_needed() -> list[metadata.Distribution]:
    """Return the installed distributions that the service and its features need, directly or not, sorted by name.

    Raises `SystemExit` naming what is not installed: what it would need in turn is then not known.
    """
    pending = service_requirements()
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    while pending:
        requirement = pending.pop()
        name, extras = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = metadata.distribution(requirement.name)
        except metadata.PackageNotFoundError:
            raise SystemExit(f"{requirement.name} is not installed; run scripts/test once") from None
        for need in map(Requirement, found[name].requires or []):
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                pending.append(need)
    return [found[name] for name in sorted(found)]
