"""An element of an XML answer, with the line that it begins on."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Element:
    """``attributes``: one of a namespace has the name ``namespace name``. ``children``: those of the root's namespace
    or of none."""

    namespace: str
    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    has_cdata: bool = False

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()
