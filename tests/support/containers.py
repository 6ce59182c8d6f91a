"""The files of the image and of the compose deployment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).parents[2]


DOCKERFILE = (CHECKOUT / "etc/Dockerfile").read_text("utf-8")


COMPOSE: dict[str, Any] = yaml.safe_load((CHECKOUT / "etc/compose.yaml").read_text("utf-8"))


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, comments away and continued lines joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    pairs = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return [(word, rest.strip()) for word, rest in pairs]


def values(instruction: str) -> list[str]:
    return [rest for word, rest in instructions() if word == instruction]
