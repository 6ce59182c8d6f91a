"""Two looks agree: when a file that others write counts as changed.

An editor may be half-way through a file, or move it away and write it anew. So a change, or a file that is gone, takes
effect once two looks in a row have seen the same; until then the content in force stays. The first look of all takes
effect at once. For documents, inventories and secrets alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from typing import Generic, TypeVar

from answerd.store.file_io import Signature, State, is_settled

Content = TypeVar("Content")


@dataclass(slots=True)
class _File(Generic[Content]):
    """A file that was seen. ``content`` is None until two looks have agreed about it.

    ``signature`` is that of the content; None where it could not be read, or may have changed unseen. ``pending``: a
    state that was seen once and differs. ``is_missing``: the last look did not find it. ``read_too_soon``: so soon
    after its last change that another change may not show.
    """

    content: Content | None = None
    signature: Signature | None = None
    pending: State | None = None
    is_missing: bool = False
    read_too_soon: bool = False

    def is_at_rest(self, state: State) -> bool:
        return state == self.signature and self.pending is None and not (self.read_too_soon or self.is_missing)


class Looks(Generic[Content]):
    """The files in force, by name."""

    def __init__(
        self,
        read: Callable[[str, State], tuple[Signature | None, Content]],
        is_same: Callable[[Content, Content], bool],
    ) -> None:
        """``read`` returns the content of a file that was seen in a state, and its signature when it was read; None
        where it could not be. ``is_same``: a file that was read again has the same content, and keeps the object."""
        self._read = read
        self._is_same = is_same
        self._files: dict[str, _File[Content]] = {}
        self.unsettled: set[str] = set()
        """The names at which another look is due, whatever the kernel reports."""
        self.looked_before = False

    @property
    def names(self) -> Set[str]:
        """The names of all files, also of those that were seen once."""
        return self._files.keys()

    @property
    def has_unread(self) -> bool:
        """Whether there are files that were seen once and have no content in force yet."""
        return any(self._files[name].content is None for name in self.unsettled & self._files.keys())

    def contents(self) -> Iterator[tuple[str, Content]]:
        """Yield names and contents in force. From any thread: the table is copied in one step."""
        return ((name, file.content) for name, file in tuple(self._files.items()) if file.content is not None)

    def is_at_rest(self, name: str, state: State) -> bool:
        """Return whether a file that was seen in this state needs no action."""
        file = self._files.get(name)
        return file is not None and file.is_at_rest(state)

    def distrust(self, names: Collection[str]) -> None:
        """Have files read again where neither size nor times have changed: the kernel has reported a write."""
        for name in names & self._files.keys():
            self._files[name].signature = None

    def look(
        self, seen: dict[str, State], only: Set[str] | None = None, kept: Collection[str] = ()
    ) -> tuple[list[Content], list[Content]]:
        """Take what a look has seen; return the contents that are in force now, and those that no longer are. ``only``:
        the look was at these names alone. ``kept`` files stay as they are, though they were not seen. Empties ``seen``.
        """
        added: list[Content] = []
        removed: list[Content] = []
        files = self._files
        missing = (files.keys() if only is None else only & files.keys()) - seen.keys()
        while seen:
            # Taken out one by one, because the interpreter frees 100,000 at once without giving way to a request.
            name, state = seen.popitem()
            file = files.get(name)
            if file is None:
                file = files[name] = _File()
            elif file.is_at_rest(state):
                continue
            before = file.content
            self._update(name, file, state)
            if file.content is not before and file.content is not None:
                added.append(file.content)
                if before is not None:
                    removed.append(before)
        for name in missing.difference(kept):
            file = files[name]
            if not file.is_missing:
                file.is_missing = True
                self.unsettled.add(name)
                continue
            del files[name]
            self.unsettled.discard(name)
            if file.content is not None:
                removed.append(file.content)
        self.looked_before = True
        return added, removed

    def _update(self, name: str, file: _File[Content], seen: State) -> None:
        file.is_missing = False
        if seen == file.signature:
            file.pending = None
            if not (file.read_too_soon and is_settled(file.signature)):
                self.unsettled.discard(name)
                return
        elif self.looked_before and seen != file.pending:
            file.pending = seen
            self.unsettled.add(name)
            return
        read, content = self._read(name, seen)
        if read is not None and read != seen and self.looked_before:
            file.pending = None  # it changed while it was read: two more looks
            self.unsettled.add(name)
            return
        # A file that cannot be read stays pending, so that every look tries again.
        file.signature, file.pending = read, seen if read is None else None
        file.read_too_soon = read is not None and not is_settled(read)
        (self.unsettled.discard if read is not None else self.unsettled.add)(name)
        if file.content is None or not self._is_same(file.content, content):
            file.content = content
