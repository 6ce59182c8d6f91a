"""The pages of documents: the list, a document with its editor, the preview of a change, the history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.line_diff import unified
from answerd.answers.redaction import redacted
from answerd.console.backend import Backend
from answerd.console.changes import DocumentChange
from answerd.console.consequences import Consequences
from answerd.console.document_list import DocumentsView
from answerd.console.editing import DocumentVersion, Editing, NotSaved
from answerd.console.inventories import InventoryPages, is_strict
from answerd.console.machines import waiting
from answerd.console.page_request import PageReply, PageRequest, message_page, number_in, redirect, saved_at
from answerd.console.proposals import text_of_new, with_member
from answerd.console.rendering import ago, counted, document_link, exact, link, on_page, page
from answerd.console.table import MachinesView, Tables
from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY_FORMAT
from answerd.inventory import INVENTORY_FORMATS, file_of
from answerd.long_work import run_long
from answerd.server.threads import in_thread

KINDS = tuple(kind.value for kind in Kind)
"""The kinds of documents as pages name them."""

NAMES_SHOWN = 20

NAMES_ON_A_PAGE = 500

LARGEST_IN_EDITOR = 500_000
"""Characters of an inventory that a browser is given as one text; a larger one is edited by rows."""


class Preview(Enum):
    """What a preview is of: storing the text, or removing the document."""

    STORE = "store"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Edited:
    """A text in the editor, and what is said of it. ``etag`` is that of the stored document, empty where there is none.

    ``message`` says where the text comes from, or why it was not saved, with the ``problems`` of that; ``failed``: it
    was not. ``other`` is the difference from what somebody else stored meanwhile. ``is_sent``: the text is not that of
    the store, and not saved yet. ``is_earlier``: it is that of an earlier version, which nobody typed. ``is_removed``:
    the document was there before. ``note`` is about the change.
    """

    key: Key
    text: str
    etag: str
    preview: Preview | None = None
    message: str = ""
    problems: Sequence[str] = ()
    other: Sequence[str] | None = None
    failed: bool = False
    is_new: bool = False
    is_removed: bool = False
    is_sent: bool = False
    is_earlier: bool = False
    note: str = ""
    status: int = 200

    @property
    def title(self) -> str:
        if self.is_removed:
            return f"{self.key}, removed"
        return "New document" if self.is_new else str(self.key)

    @property
    def draft(self) -> str:
        """The name under which a browser keeps what is typed."""
        if self.is_new and not self.is_removed:
            return "new document"
        return f"document {self.key.kind.value} {self.key.identifier} {self.key.format}"


class Dependents(NamedTuple):
    """Those that depend on a group: a heading, how many they are, the first names, and what leads to all of them."""

    word: str
    total: str
    names: Sequence[str]
    where: str = ""


class DocumentPages:
    """The pages of documents."""

    def __init__(self, backend: Backend, tables: Tables, inventories: InventoryPages) -> None:
        self._backend = backend
        self._tables = tables
        self._inventories = inventories

    def show_all(self, request: PageRequest) -> PageReply:
        """Return the list: groups, defaults and inventories, or the documents whose names hold the search."""
        table = self._tables.current()
        if table is None:
            return waiting(request, "Documents", "/console/documents", self._backend.catalogue().size)
        view = DocumentsView(
            request.get("q"),
            request.get("kind"),
            request.get("sort"),
            request.get("desc") == "1",
            number_in(request.get("page")) or 1,
        )
        return PageReply(
            page(
                "documents",
                request=request,
                store=self._backend.store,
                writable=self._backend.editing is not None,
                view=view,
                kinds=KINDS,
                shown=run_long(lambda: table.documents.page(view)),
                is_current=self._tables.is_current,
            )
        )

    def show(self, request: PageRequest) -> PageReply:
        """Return one document with its editor."""
        key = _key(request.get("kind"), request.get("name"), request.get("format"))
        if key is not None and key.format == INVENTORY_FORMAT and request.get("as") != "text":
            return redirect(link("/console/inventory", name=key.identifier, line=request.get("line")))
        stored = self._stored(key) if key else None
        if stored is None:
            return self._missing(request) if key is None else self._removed(request, key)
        return self._editor(request, Edited(stored.key, stored.text, stored.etag))

    def new(self, request: PageRequest) -> PageReply:
        """Return an empty editor."""
        if self._backend.editing is None:
            return self._missing(request)
        kind, extension = _kind_and_format(request.get("kind"), request.get("format"))
        return self._editor(request, Edited(Key(kind, request.get("name"), extension), "", "", is_new=True))

    def previewed(self, request: PageRequest) -> PageReply:
        """Return the consequences that a preview is finding, or how far it is; the names of one effect where the
        address asks for them."""
        editing = self._backend.editing
        found = editing.previewed(request.get("of")) if editing is not None else None
        found = found or Consequences(refused="this preview is not kept any more: ask for it again")
        if not request.get("effect"):
            return PageReply(
                page(
                    "consequences",
                    request=request,
                    consequences=found,
                    verb=request.get("verb"),
                    save=request.get("save") or "Save it",
                )
            )
        number = number_in(request.get("effect"))
        if number is None or number >= len(found.effects):
            return self._missing(request)
        effect = found.effects[number]
        pages, at = on_page(len(effect.machines), number_in(request.get("page")) or 1, NAMES_ON_A_PAGE)
        machines = effect.machines[(at - 1) * NAMES_ON_A_PAGE : at * NAMES_ON_A_PAGE]
        values = {"effect": effect, "machines": machines, "at": at, "pages": pages, "of": found.name, "number": number}
        return PageReply(page("affected", request=request, **values))

    def earlier(self, request: PageRequest) -> PageReply:
        """Return the editor with the text from before or after a change, and what storing it would change; nothing is
        stored."""
        editing, number = self._backend.editing, number_in(request.get("revision"))
        change = editing.change(number) if editing is not None and number is not None else None
        if editing is None or change is None:
            return self._missing(request)
        is_undo = request.get("side") != "after"
        text, key = change.before if is_undo else change.after, change.key
        stored, last = editing.find(key), editing.last_change(key)
        key = stored.key if stored is not None else key
        etag, now = (stored.etag, stored.text) if stored is not None else ("", None)
        what = f"{change.what} by {change.who}, {ago(change.when)}"
        if text == now:
            return self._editor(
                request, Edited(key, now or "", etag, is_new=stored is None, message=f"Nothing to do: {what}.")
            )
        message = f"The text from {'before' if is_undo else 'after'} revision {number} ({what}). Nothing is stored yet."
        if text is None:
            message = f"The document was not there before revision {number} ({what}). Nothing is changed yet."
        if last is not None and last.revision != number:
            message += " Later changes of this document would be undone too."
        note = f"{'undo of' if is_undo else 'restore of'} revision {number}"
        if text is not None and key.format == INVENTORY_FORMAT:
            return self._inventories.proposed(key, text, etag, note, message)
        return self._editor(
            request,
            Edited(
                key,
                now or "" if text is None else text,
                etag,
                preview=Preview.REMOVE if text is None else Preview.STORE,
                message=message,
                note=note,
                is_new=stored is None,
                is_earlier=True,
            ),
        )

    def sent(self, request: PageRequest) -> PageReply:
        """Return the editor with a text that was sent: its preview, or why it was not saved. Nothing is stored."""
        editing, verb, refusal = self._backend.editing, request.field("do"), request.refusal
        if editing is not None and verb == "start":
            return self._started(request)
        if editing is not None and verb == "join":
            return self._joined(request, editing)
        key = _sent_key(request)
        if editing is None:
            return self._missing(request)
        if key is None:
            return self._unnamed(request)
        etag = request.field("etag")
        if refusal is None:
            found = editing.find(key)
            text = _sent_text(request, found)
            what = Preview.REMOVE if verb == "preview-delete" else Preview.STORE
            is_typed = bool(request.field("note")) or found is None or text != found.text
            return self._editor(request, Edited(key, text, etag, preview=what, is_new=not etag, is_sent=is_typed))
        text, message = request.field("text").replace("\r\n", "\n"), refusal.reason
        if refusal.is_resumed:
            return self._editor(request, Edited(key, text, etag, message=message, is_new=not etag, is_sent=True))
        other: Sequence[str] | None = None
        if refusal.is_conflict:
            stored = editing.find(key)
            text, etag = _sent_text(request, stored), stored.etag if stored is not None else ""
            other, message = _conflict(stored, text), _who_was_first(editing.last_change(key))
        return self._editor(
            request,
            Edited(
                key,
                text,
                etag,
                message=message if other is not None else f"Not saved: {message}",
                problems=refusal.problems,
                other=other,
                failed=True,
                is_new=not etag and other is None,
                is_sent=True,
            ),
        )

    def change(self, request: PageRequest) -> PageReply:
        """Save or remove a document, as the form of the editor asks."""
        editing, key, etag = self._backend.editing, _sent_key(request), request.field("etag")
        if editing is None or key is None:
            raise NotSaved("give the document a name; a default has none", status=400)
        if request.field("do") == "delete":
            editing.delete(key, etag, request.author)
            return redirect(document_link(key.kind, key.identifier, key.format))  # its history can take that back
        text, strict = _sent_text(request, editing.find(key)), request.field("strict") == "1"
        problems, revision = editing.save(key, text, etag, request.author, strict=strict)
        return redirect(saved_at(document_link(key.kind, key.identifier, key.format), revision, len(problems)))

    def _joined(self, request: PageRequest, editing: Editing) -> PageReply:
        """Return the editor of a group with a machine as one more member, and what that would change."""
        group, _, extension = request.field("joins").rpartition(" ")
        key, name = _key(Kind.GROUP.value, group, extension), request.field("member")
        stored = editing.find(key) if key is not None else None
        if stored is None:
            return self._missing(request)
        text = in_thread(with_member, stored.text, stored.key.format, name)
        if text == stored.text:
            message = f"Add {name} to the members of this group, preview, then save."
            return self._editor(request, Edited(stored.key, text, stored.etag, message=message))
        message = f"{name} is a member in the text below, which is not stored yet. See what that changes, then save."
        return self._editor(
            request, Edited(stored.key, text, stored.etag, message=message, preview=Preview.STORE, is_sent=True)
        )

    def _started(self, request: PageRequest) -> PageReply:
        """Return the editor of a new document with the text that it begins with."""
        name = request.field("name").strip()
        kind, extension = _kind_and_format(request.field("kind"), request.field("format"))
        key, text = Key(kind, name, extension), in_thread(text_of_new, kind, extension)
        return self._editor(request, Edited(key, text, "", is_new=True, is_sent=True))

    def _unnamed(self, request: PageRequest) -> PageReply:
        """Return the editor with a text that has no name yet."""
        kind, extension = _kind_and_format(request.field("kind"), request.field("format"))
        key, text = Key(kind, request.field("name").strip(), extension), request.field("text").replace("\r\n", "\n")
        refusal = request.refusal
        message = (
            refusal.reason
            if refusal is not None and refusal.is_resumed
            else "A default has no name: leave it empty."
            if kind is Kind.DEFAULT
            else "Give the document a name first."
        )
        return self._editor(
            request, Edited(key, text, "", message=message, failed=True, is_new=True, is_sent=True, status=400)
        )

    def _stored(self, key: Key) -> DocumentVersion | None:
        if self._backend.editing is not None:
            return self._backend.editing.find(key)
        raw = document_at(self._backend.catalogue(), key)
        return DocumentVersion(raw.key, raw.text, "") if raw is not None else None

    def _removed(self, request: PageRequest, key: Key) -> PageReply:
        """Return the history of a document that is not there any more, where there is one."""
        editing = self._backend.editing
        if editing is None or not editing.history(key):
            return self._missing(request)
        message = "It was removed. A version of its history can be restored; or write it anew."
        return self._editor(request, Edited(key, "", "", message=message, is_new=True, is_removed=True, status=404))

    def _missing(self, request: PageRequest) -> PageReply:
        return message_page(request, 404, "It may have been removed since the list was made.", "No such document")

    def _editor(self, request: PageRequest, edited: Edited) -> PageReply:
        """Return the page of the editor."""
        editing, catalogue = self._backend.editing, self._backend.catalogue()
        key, text, preview = edited.key, edited.text, edited.preview
        is_large = key.kind is Kind.INVENTORY and len(text) > LARGEST_IN_EDITOR
        if is_large:
            text = ""
        if not request.sees_secrets:
            text = in_thread(lambda: redacted(text, key.format, labels=catalogue.columns))
        used_by: Sequence[Dependents] = ()
        history: Sequence[DocumentChange] = ()
        consequences = None
        if editing is not None and preview is not None:  # says more of whom it affects than the rest of the page
            consequences = editing.preview(key, None if preview is Preview.REMOVE else text)
        else:
            used_by = self._used_by(key) if key.kind is Kind.GROUP and not edited.is_new else []
            history = editing.history(key) if editing is not None and (edited.is_removed or not edited.is_new) else ()
        opened = next((change.revision for change in history if str(change.revision) == request.get("change")), None)
        is_current = self._tables.is_current or key.kind is not Kind.GROUP or edited.is_new or preview is not None
        body = page(
            "document",
            request=request,
            title=edited.title,
            kind=key.kind.value,
            identifier=key.identifier,
            extension=key.format,
            family=FORMATS[key.format].family.name if key.format in FORMATS else "",
            text=text,
            etag=edited.etag,
            marks=marks_of(key, self._sentences(edited, consequences)),
            is_new=edited.is_new,
            kinds=KINDS,
            formats=(*FORMATS, *INVENTORY_FORMATS),
            writable=editing is not None and request.may_edit,
            is_large=is_large,
            consequences=consequences,
            message=edited.message,
            problems=edited.problems,
            failed=edited.failed,
            other=edited.other,
            note=edited.note or request.field("note"),
            line=number_in(request.get("line")) or 0,
            verb="delete" if preview is Preview.REMOVE else "save",
            used_by=used_by,
            is_current=is_current,
            history=history,
            opened=opened,
            difference=editing.difference(opened) if editing is not None and opened is not None else (),
            is_removed=edited.is_removed,
            is_sent=edited.is_sent,
            is_earlier=edited.is_earlier,
            strict=is_strict(request),
            draft=request.field("draft") or edited.draft,
        )
        return PageReply(body, edited.status)

    def _used_by(self, key: Key) -> list[Dependents]:
        """Return the documents that extend a group, and the machines that have a group of its name."""
        table, states = self._tables.current(), self._backend.states()
        if table is None:  # it is being made
            return []
        extending, shown = run_long(
            lambda: (table.documents.extending(key), table.machines(MachinesView(group=key.identifier), states))
        )
        found = []
        if extending:
            found.append(Dependents("Extended by", counted(len(extending), "document"), _first(extending)))
        if shown.found:
            names, where = [machine.name for machine in shown.machines], link("/console/machines", group=key.identifier)
            found.append(Dependents("Machines", counted(shown.found, "machine"), _first(names), where))
        return found

    def _sentences(self, edited: Edited, consequences: Consequences | None) -> Sequence[str]:
        """Return the known problems of the text in the editor: those of a refusal, else those of the stored
        document."""
        if consequences is not None:
            return (*consequences.problems, consequences.refused)
        if edited.message:
            return (*edited.problems, edited.message)
        return problems_of(self._backend.catalogue(), edited.key)


def _first(names: Sequence[str]) -> Sequence[str]:
    return names if len(names) <= NAMES_SHOWN else [*names[:NAMES_SHOWN], "…"]


def _key(kind: str, name: str, extension: str) -> Key | None:
    """Return the key that a form or an address names; None where it is not valid."""
    if kind == Kind.INVENTORY.value:
        return Key(Kind.INVENTORY, name, _of_inventory(extension)) if name else None
    if kind not in KINDS or extension not in FORMATS:
        return None
    is_default = kind == Kind.DEFAULT.value
    if bool(name) == is_default:
        return None
    return Key(Kind(kind), name, extension)


def _kind_and_format(kind: str, extension: str) -> tuple[Kind, str]:
    """Return the kind and the format of a new document, given those of a form or an address: a format that the kind may
    have."""
    if kind == Kind.INVENTORY.value:
        return Kind.INVENTORY, _of_inventory(extension)
    return Kind(kind) if kind in KINDS else Kind.MACHINE, extension if extension in FORMATS else "toml"


def _of_inventory(extension: str) -> str:
    """Return the format of a document of the kind inventory, given one of a form or an address."""
    return extension if extension in INVENTORY_FORMATS else INVENTORY_FORMAT


def _sent_key(request: PageRequest) -> Key | None:
    """Return the key that the form of the editor names; None where it is not valid."""
    return _key(request.field("kind"), request.field("name").strip(), request.field("format"))


def _sent_text(request: PageRequest, stored: DocumentVersion | None) -> str:
    """Return the text of the form with the line ends of the stored one: a browser always sends CR LF."""
    text = request.field("text").replace("\r\n", "\n")
    if stored is not None and "\r\n" in stored.text and "\n" not in stored.text.replace("\r\n", ""):
        text = text.replace("\n", "\r\n")
    return text


def _who_was_first(change: DocumentChange | None) -> str:
    """Return the sentence of a conflict: who changed the document since it was opened, and when."""
    if change is None:
        return "Not saved: somebody else changed this document after you opened it."
    when = f"{ago(change.when)} ({exact(change.when)})"
    return f"Not saved: {change.who} {change.what} this document {when}, after you opened it."


def _conflict(stored: DocumentVersion | None, text: str) -> Sequence[str]:
    """Return the difference between the stored text and the text that was to be saved."""
    return unified((stored.text if stored else "").split("\n"), text.split("\n"))


def document_at(catalogue: Catalogue, key: Key) -> RawDocument | None:
    """Return the document of a key, by its exact identifier or its identity; None where there is none."""
    found = catalogue.raws_of(key.name)
    return min(found, key=lambda raw: raw.key.identifier != key.identifier, default=None)


def problems_of(catalogue: Catalogue, key: Key) -> Sequence[str]:
    """Return the problems of a document by itself."""
    raw = document_at(catalogue, key)
    if raw is None:
        return ()
    if key.kind is not Kind.INVENTORY:
        document = catalogue.documents.get(raw)
        return document.problems if document is not None else ()
    problems = catalogue.inventory.problems() if catalogue.inventory is not None else ()
    return [problem for problem in problems if problem.startswith("inventory")]


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
            line = re.match(re.escape(file_of(key.identifier, key.format)) + r":(\d{1,9})", sentence)
        elif about == sentence and _ABOUT_ANOTHER.match(sentence):
            continue
        else:
            line = _LINE.search(about)
        if line is not None:
            found.setdefault(about, int(line[1]))
    return [{"line": line, "message": message} for message, line in sorted(found.items(), key=lambda mark: mark[1])]
