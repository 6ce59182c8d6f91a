"""Defaults that empty the disks of machines that nobody meant (docs/check.md#oversights)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.explain import merged_leaves
from answerd.answers.gates import is_loader
from answerd.answers.sent_labels import is_sent_by_itself
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.facts import STATE
from answerd.formats.family import MergeError
from answerd.formats.origins import Leaf
from answerd.identity import Kind


class _Emptying(NamedTuple):
    """What an installer takes for the order to empty disks: a line of a text, or ``path: value``. The first group is
    its name.

    ``held``: by this it asks first, or keeps what is there; a line of a text holds back what an earlier one of its name
    says. ``needed``: without this it asks first.
    """

    order: re.Pattern[str]
    held: re.Pattern[str] | None = None
    needed: re.Pattern[str] | None = None


_KICKSTART: Final = _Emptying(
    # With --drives alone Anaconda removes nothing, with --initlabel nothing from a disk that has partitions.
    re.compile(r"[ \t]*(clearpart)[ \t][^#]*--(?:all|linux|list)\b"),
    held=re.compile(r"[ \t]*(clearpart)[ \t][^#]*--none\b"),
)
_PRESEED: Final = _Emptying(
    # What is called confirm_nooverwrite is asked where nothing is lost (partman-base, lib/commit.sh).
    re.compile(r"[ \t]*\S+[ \t]+(partman(?:-lvm|-md|-crypto)?/confirm)[ \t]+boolean[ \t]+true\b"),
    held=re.compile(r"[ \t]*\S+[ \t]+(partman(?:-lvm|-md|-crypto)?/confirm)[ \t]+boolean[ \t]+false\b"),
)
_PROXMOX: Final = _Emptying(re.compile(r"(disk[-_]setup\b(?:\.[^.:]+)?)"))
_AUTOINSTALL: Final = _Emptying(
    re.compile(
        r"(?:\d+\.)?autoinstall\.storage\."
        r"(?:config\.\d+\.(?=wipe: (?!(?:null|~|false)?\Z)))?(wipe|layout(?:\.[^.:]+)?(?=[.:]))"
    ),
    held=re.compile(r"(?:\d+\.)?autoinstall\.(interactive-sections\.\d+|storage\.layout\.mode: use_gap\Z)"),
)
_IGNITION: Final = _Emptying(re.compile(r"storage\.disks\.\d+\.(wipeTable): true\Z", re.IGNORECASE))
_AUTOYAST: Final = _Emptying(
    re.compile(r"profile\.partitioning\.[^.:]+\.(?=initialize: true\Z|use: (?:all|linux)\Z)([a-z]+)"),
    needed=re.compile(r"profile\.general\.mode\.confirm: false\Z"),
)
_UNATTEND: Final = _Emptying(
    re.compile(r"unattend\..*\.DiskConfiguration\.Disk\.(WillWipeDisk): true\Z"),
    held=re.compile(r"unattend\..*\.DiskConfiguration\.(WillShowUI): Always\Z"),
)

_EMPTYING: Final[Mapping[str, Sequence[_Emptying]]] = {
    "ks": (_KICKSTART,),
    "preseed": (_PRESEED,),
    "seed": (_PRESEED,),
    "toml": (_PROXMOX,),
    "yaml": (_AUTOINSTALL,),
    "yml": (_AUTOINSTALL,),
    "ign": (_IGNITION,),
    "json": (_IGNITION,),
    "autoyast": (_AUTOYAST,),
    "unattend": (_UNATTEND,),
    "xml": (_AUTOYAST, _UNATTEND),
}
"""By format."""

_POSITION: Final = re.compile(r"\[\d+\](?=\.|:|\Z)")


def emptying_default(catalogue: Catalogue, columns: Collection[str], document: Document) -> str | None:
    """Return the note about a default that empties disks without asking, also where an overlay lets it; None for any
    other document. ``columns`` are the labels of tables.

    Not where ``once`` or a state may keep it back, nor where it needs what only a row has.
    """
    extension = document.key.format
    if document.key.kind is not Kind.DEFAULT or extension not in _EMPTYING:
        return None
    documents = [*catalogue.documents.values()]
    overlays = [one for one in documents if one.control.overlay is not None and one.key.format == extension]
    defaults = catalogue.defaults
    loaders = [one for loader in defaults if is_loader(loader) for one in defaults[loader]]
    if any(criterion.label == STATE for one in documents for criterion in one.control.match):
        return None
    try:
        group = catalogue.extended_by(document)
        layers = (*(catalogue.chain(group) if group is not None else ()), document)
    except AnswerError:  # it is a problem of its own
        return None
    if any(one.control.once is not None for one in (*layers, *loaders, *overlays)):
        return None
    for stack in (layers, *((*layers, overlay) for overlay in overlays if _may_empty(overlay, columns))):
        try:
            order = _order(stack)
            needs_row = order and _needs_row(prepared_answer(stack, may_be_blank=True).labels(), document, columns)
        except (AnswerError, MergeError):  # it is a problem of its own
            continue
        if order and not needs_row:
            return (
                f"{document.key}: {order}, so it empties the disks of machines that nothing else claims: let a group "
                "claim those that are meant, or write once armed"
            )
    return None


def _may_empty(overlay: Document, columns: Collection[str]) -> bool:
    """Return whether an overlay may hold for a machine that no document names and no row has, and orders to empty disks
    or not to ask. To lay each overlay over a default would take seconds."""
    labels = [criterion.label for criterion in overlay.control.match]
    if not labels or overlay.control.members or _needs_row(labels, overlay, columns) or not overlay.content.readable:
        return False
    emptying = _EMPTYING[overlay.key.format]
    patterns = [pattern for one in emptying for pattern in (one.order, one.needed) if pattern is not None]
    return any(pattern.match(said) for _, said in _leaves((overlay,)) for pattern in patterns)


def _needs_row(labels: Iterable[str], document: Document, columns: Collection[str]) -> bool:
    """Return whether only a row has one of the labels."""
    return any(label in columns and not is_sent_by_itself(label, document.key.format) for label in labels)


def _order(layers: Layers) -> str | None:
    """Return what in an answer empties disks, and where; None where nothing does. Raises `MergeError`."""
    if not all(layer.content.readable for layer in layers):
        return None
    leaves = _leaves(layers)
    is_text = layers[-1].family.name == "text"
    for emptying in _EMPTYING[layers[-1].key.format]:
        found: dict[str, str] = {}
        is_held = emptying.needed is not None and not any(emptying.needed.match(said) for _, said in leaves)
        for leaf, said in leaves:
            if emptying.held is not None and (held := emptying.held.match(said)):
                found.pop(held[1], None)
                is_held = is_held or not is_text
            elif (order := emptying.order.match(said)) and leaf.layer is not None:
                layer = layers[leaf.layer]
                of_layer = "" if layer.key.kind is Kind.DEFAULT else f" of {layer.key}"
                found.setdefault(order[1], f"line {leaf.line}{of_layer} has {order[1]}")
        if found and not is_held:
            return next(iter(found.values()))
    return None


def _leaves(layers: Layers) -> list[tuple[Leaf, str]]:
    """Return the values of an answer, each with the line that patterns are for. Raises `MergeError`."""
    if layers[-1].family.name == "text":
        return [(leaf, leaf.text) for leaf in _outside_of_scripts(merged_leaves(layers))]
    return [(leaf, _POSITION.sub("", f"{'.'.join(leaf.path)}: {leaf.text.strip()}")) for leaf in merged_leaves(layers)]


def _outside_of_scripts(leaves: Iterable[Leaf]) -> Iterator[Leaf]:
    """Yield the lines of a text that are not in a section of a kickstart, such as ``%post``."""
    is_script = False
    for leaf in leaves:
        if leaf.text.startswith("%"):
            is_script = not leaf.text.startswith(("%end", "%include", "%ksappend"))
        elif not is_script:
            yield leaf
