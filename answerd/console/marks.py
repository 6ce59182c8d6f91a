"""Problems of one document at the lines that their sentences name, for the editor. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from answerd.documents import Key
from answerd.identity import Kind
from answerd.inventory import file_of

_LINE = re.compile(r"\bline (\d{1,9})\b")
_ABOUT_ANOTHER = re.compile(r"(?:machine|group|default|inventory)\b[^:]*\([a-z]+\): ")


def marks_of(key: Key, sentences: Iterable[str]) -> list[Mapping[str, object]]:
    """Return the lines that sentences about a document name, with the sentence, in order and each once.

    ``sentences`` may be about other documents too, and may begin with the document's name or not.
    """
    found: dict[str, int] = {}
    for sentence in sentences:
        about = sentence.removeprefix(f"{key}: ")
        if key.kind is Kind.INVENTORY:
            line = re.match(re.escape(file_of(key.identifier)) + r":(\d{1,9})", sentence)
        elif about == sentence and _ABOUT_ANOTHER.match(sentence):
            continue
        else:
            line = _LINE.search(about)
        if line is not None:
            found.setdefault(about, int(line[1]))
    return [{"line": line, "message": message} for message, line in sorted(found.items(), key=lambda mark: mark[1])]
