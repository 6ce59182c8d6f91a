"""Mistakes of one document that are valid, so that no other check finds them: names that are almost MAC addresses, a
control key that lacks a letter, a placeholder in single braces (docs/check.md#oversights).

Each is a sentence that says what is wrong and what to do. `answerd.check` reports them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from answerd.answers.catalogue import Catalogue
from answerd.answers.common_names import common_name
from answerd.answers.emptied_disks import emptying_default
from answerd.answers.gates import is_loader
from answerd.answers.never_holds import never_holding
from answerd.answers.sent_labels import SENT_LABELS, is_sent_by_itself
from answerd.documents import Document
from answerd.errors import MOST_PROBLEMS
from answerd.formats import ALIASES, ALL_EXTENSIONS, FORMATS, user_data
from answerd.formats.control import CONTROL_KEYS
from answerd.formats.patterns import ComparedValues, form_under
from answerd.identity import Kind, address_identity, identity_of, mac_digits, normalize, without_pxelinux_prefix
from answerd.short_texts import brief, with_lines
from answerd.suggestion import did_you_mean, differs_by_one

_MAC_DIGITS = 12
_LETTERS_FOR_DIGITS = str.maketrans({"o": "0", "l": "1", "i": "1"})
_SIX_PARTS = re.compile(r"[0-9A-Za-z]{1,3}(?:([:-])[0-9A-Za-z]{1,3})(?:\1[0-9A-Za-z]{1,3}){4}\Z")
_HEX = frozenset("0123456789abcdef")

EXAMPLE_HASH = "$6$EXAMPLE$"
"""The beginning of the password hashes in the examples."""

_TOP_KEYS = {
    "toml": re.compile(r"^(?P<key>[A-Za-z_]+)[ \t]*=[ \t]*[\"']?(?P<value>[\w.:-]*)", re.MULTILINE),
    "yaml": re.compile(r"^(?P<key>[A-Za-z_]+):[ \t]*[\"']?(?P<value>[\w.:-]*)", re.MULTILINE),
    "json": re.compile(r"^[{ \t]{0,4}\"(?P<key>[A-Za-z_]+)\"[ \t]*:[ \t]*\"?(?P<value>[\w.:-]*)", re.MULTILINE),
}
"""By family, the keys at the top of a document and the beginning of a value that is a single word."""

_SHORTEST_KEY = 4

_OF_MACHINES = ("machine", "group", "id", "mac", "serial", "uuid", "hostname")
"""Labels that are surely meant as placeholders where they stand in single braces, as are those of tables and of any
``match``."""

_SINGLE_BRACES = re.compile(r"(?<![{$%\\#])\{[ \t]*([A-Za-z_][\w.:-]*)[ \t]*\}(?!\})")
_JINJA = re.compile(
    r"\{%[-+]?[ \t]*(if|for|set|macro|block|include|import|from|with|raw|filter|call|elif|else)\b[^\n]*?%\}"
)
_VERBS = "extends|members?|match|once|overlay|template|append|unset"
_NO_COLON = re.compile(rf"^[ \t]*(?:#|//)[ \t]*answer[ \t]+({_VERBS})\b", re.MULTILINE)
_NO_DIRECTIVE = re.compile(rf"^[ \t]*(?:#|//|<!--)[ \t]*answer:?[ \t]+({_VERBS})\b", re.MULTILINE)
_KEYS = {"member": "members"}
_SCRIPT_OF_WINDOWS = re.compile(
    r"^(?:%(?:pre|post|pre-install|onerror|traceback)\b|[ \t]*\S+[ \t]+\S+/(?:early|late)_command\b)[^\n]*\r$",
    re.MULTILINE,
)
"""The beginning of a script of a kickstart or preseed, in a line that ends in CRLF."""


@dataclass(slots=True)
class Findings:
    """What a check has found. ``problems`` and ``notes`` are sentences; ``machines`` are the names of those that a
    sentence affects."""

    problems: set[str] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    machines: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class Finding(NamedTuple):
    """What a rule says of a document; ``machines`` are the names of those that it affects, where these are known."""

    sentence: str
    is_problem: bool = False
    machines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Set:
    """What rules know of the whole set: the groups that are extended, by identity and format; the labels that are
    surely meant as placeholders; and those of tables."""

    catalogue: Catalogue
    extended: frozenset[tuple[str, str]]
    labels: frozenset[str]
    columns: frozenset[str]


def of_documents(catalogue: Catalogue, at_each: Callable[[], None] = lambda: None) -> Findings:
    """Find the oversights in names and keys. ``at_each`` is called for each document."""
    found = Findings()
    extended = (
        (identity_of(document.control.extends), document.key.format)
        for document in catalogue.documents.values()
        if document.control.extends
    )
    labels = frozenset((*_OF_MACHINES, *labels_of_set(catalogue)))
    known = _Set(catalogue, frozenset(extended), labels, columns_of(catalogue))
    for document in catalogue.documents.values():
        at_each()
        if document.key.kind is Kind.MACHINE:
            for problem in document.problems:
                found.machines[f"{document.key}: {problem}"].add(document.key.identifier)
        for rule in _RULES:
            for sentence, is_problem, machines in rule(known, document):
                (found.problems if is_problem else found.notes).add(sentence)
                if machines:
                    found.machines[sentence].update(machines)
    for sentence, is_problem, machines in _rows_named_in_common(catalogue):
        (found.problems if is_problem else found.notes).add(sentence)
        found.machines[sentence].update(machines)
    return found


def _name_like_an_address(_: _Set, document: Document) -> Iterator[Finding]:
    """A machine's name, or a member, that is almost a MAC address: it claims no machine."""
    if document.key.kind is Kind.MACHINE:
        yield from _judged_name(str(document.key), document.key.identifier)
        stem, _dot, inner = document.key.identifier.rpartition(".")
        if mac_digits(stem) is not None and address_identity(document.key.identifier) is None:
            meant = ALIASES.get(inner.lower(), (inner.lower(),))[0]
            extension = meant if meant in FORMATS else document.key.format
            yield Finding(
                f"{document.key}: its name goes on after the MAC address, so the machine does not get it: name the "
                f"file {stem}.{extension}"
            )
    elif document.key.kind is Kind.GROUP:
        for member in document.control.members:
            yield from _judged_name(f'{document.key}: member "{brief(member)}"', member)


def _judged_name(what: str, name: str) -> Iterator[Finding]:
    digits = normalize(name)
    is_spelled_like_one = _SIX_PARTS.match(name) is not None
    if bare := without_pxelinux_prefix(name):
        yield Finding(
            f"{what}: its name has PXELINUX's prefix 01-, so only requests that send the prefix find it: name it "
            f"{brief(bare)}"
        )
    elif mac_digits(name) is not None:
        return
    elif len(digits) == _MAC_DIGITS and _is_hex(digits.translate(_LETTERS_FOR_DIGITS)) and not _is_hex(digits):
        sentence = f"{what}: looks like a MAC address with a letter O, I or L in place of a digit: write 0 or 1"
        yield Finding(sentence, is_spelled_like_one, (name,))
    elif is_spelled_like_one and _is_hex(digits):
        sentence = f"{what}: is no MAC address, it has {len(digits)} hexadecimal digits and not 12"
        yield Finding(sentence, True, (name,))
    elif len(digits) in (_MAC_DIGITS - 1, _MAC_DIGITS + 1) and _is_hex(digits) and not digits.isdigit():
        yield Finding(f"{what}: has {len(digits)} hexadecimal digits; if it is to be a MAC address, that has 12")


def _named_in_common(_: _Set, document: Document) -> Iterator[Finding]:
    """A machine's name, or a member, that the requests of many machines carry. A ``match`` of the document narrows
    which of them it claims, so it may be meant."""
    if not document.content.readable or document.control.match:
        return
    if document.key.kind is Kind.MACHINE:
        common = common_name(document.identity)
        if common is not None and not document.is_named_like_an_alias:
            yield Finding(
                f"{document.key}: its name is {common.sent_by}, so it claims every machine that does: name it after "
                "the machine's MAC address, serial number or UUID; for many machines write a group or a default",
                common.is_sure,
                (document.key.identifier,),
            )
    for identity in document.control.members:
        if (common := common_name(identity)) is not None:
            member = document.control.spelled(identity)
            yield Finding(
                f'{document.key}: member "{brief(member)}" is {common.sent_by}, so the group claims every machine that '
                "does: name the machine's MAC address, serial number or UUID; for many machines write a match",
                common.is_sure,
                (member,),
            )


def _rows_named_in_common(catalogue: Catalogue) -> Iterator[Finding]:
    """A row whose ``id`` the requests of many machines carry."""
    inventory = catalogue.inventory
    if inventory is None:
        return
    for row in inventory.rows():
        common = common_name(identity_of(row.id)) if row.id else None
        if common is not None:
            yield Finding(
                f'{inventory.place(row)}: the id "{brief(row.id)}" is {common.sent_by}, so every machine that does is '
                "taken for this one: give the row another id",
                common.is_sure,
                (row.name,),
            )


def unmet(catalogue: Catalogue, groups: Sequence[Document]) -> dict[Document, str]:
    """Return what the ``match`` of groups that claim no row lacks, for those of which the tables tell it."""
    inventory = catalogue.inventory
    if inventory is None or inventory.unreadable:
        return {}
    columns = columns_of(catalogue)
    passed_on = {*labels_passed_on(catalogue)}
    forms: dict[str, set[str]] = {  # the values of each column that is asked for
        criterion.label: set() for group in groups for criterion in group.control.match if criterion.label in columns
    }
    for row in inventory.rows() if forms else ():
        for label, values in row.values().items():
            if label in forms:
                forms[label].update(map(form_under(label), values))
    compared = {label: ComparedValues(values) for label, values in forms.items()}
    found = {}
    for group in groups:
        for criterion in group.control.match:
            label = criterion.label
            if label in compared:
                if not criterion.holds(compared[label]):
                    found[group] = f"no row has its value of {brief(label)}"
            elif label not in SENT_LABELS and label not in passed_on:
                found[group] = f"no table has a column {brief(label)}{did_you_mean(label, columns)}"
            elif label not in passed_on and not is_sent_by_itself(label, group.key.format):
                found.setdefault(group, f"no table has a column {brief(label)}; a boot script must send it")
    return found


def columns_of(catalogue: Catalogue) -> frozenset[str]:
    """Return the labels that tables have."""
    return catalogue.inventory.labels if catalogue.inventory is not None else frozenset()


def labels_of_set(catalogue: Catalogue) -> Iterator[str]:
    """Yield the labels that a ``match`` or a column of a table names."""
    for document in catalogue.documents.values():
        yield from (criterion.label for criterion in document.control.match)
    yield from columns_of(catalogue)


_PASSED_ON = re.compile(r"(?:[?&]|^[ \t]*set[ \t]+\S+[ \t]+|^[ \t]*param[ \t]+)([A-Za-z_][\w.-]*)[ \t=]", re.MULTILINE)


def labels_passed_on(catalogue: Catalogue) -> Iterator[str]:
    """Yield the labels, case-folded, that boot loaders' scripts of the set pass on: in a URL, in a variable that begins
    one (``set args site=a``), or as iPXE's ``param``."""
    for document in catalogue.documents.values():
        if is_loader(document.key.format):
            yield from (match[1].casefold() for match in _PASSED_ON.finditer(document.text))


def _pattern_never_holds(known: _Set, document: Document) -> Iterator[Finding]:
    """A pattern of a ``match`` that can never hold."""
    for sentence, is_certain in never_holding(document, known.columns):
        yield Finding(sentence, is_certain)


def _braces(known: _Set, document: Document) -> Iterator[Finding]:
    """Placeholders in single braces, those that are cloud-init's, and statements of Jinja where nothing runs them."""
    text = document.text
    if document.family.name == "yaml" and user_data.kind_of(text) is user_data.TEMPLATE:
        yield Finding(
            f"{document.key}: begins with '## template: jinja', so its {{{{ }}}} are left to cloud-init"
            + (", and it is no layer" if user_data.is_served_whole(text) else "")
        )
    elif "{" in text and document.control.template:
        lines: dict[str, list[int]] = {}
        for line, match in with_lines(text, _SINGLE_BRACES.finditer(text)):
            if match[1].casefold() in known.labels:
                lines.setdefault(match[1], []).append(line)
        for label, at in islice(lines.items(), MOST_PROBLEMS):
            times = "once" if len(at) == 2 else f"{len(at) - 1:,} times"  # noqa: PLR2004 - two
            more = f", and {times} more" if len(at) > 1 else ""
            yield Finding(
                f"{document.key}: line {at[0]} has {{ {label} }} in single braces{more}, which the "
                f"machine gets as it is written: write {{{{ {label} }}}}"
            )
        if len(lines) > MOST_PROBLEMS:
            yield Finding(f"{document.key}: has {len(lines) - MOST_PROBLEMS:,} more labels in single braces")
        statement = None if document.control.is_jinja else next(with_lines(text, _JINJA.finditer(text)), None)
        if statement is not None:
            line, match = statement
            served = f"line {line} has {{% {match[1]} %}}, which the machine gets as it is written"
            remedy = "Jinja fills documents of the text family alone"
            if document.family.name == "text":
                remedy = "for Jinja write '# answer: template jinja'"
            off = document.family.templates_off
            yield Finding(f"{document.key}: {served}: {remedy}; for another program's write {off}")


def _oversights_of_jinja(_: _Set, document: Document) -> Iterator[Finding]:
    """Lines of a text that Jinja fills which it joins, and comparisons that never hold."""
    if not document.control.is_jinja or document.problems:
        return
    # Jinja2 takes a tenth of the time of a start, and few sets use it.
    from answerd.formats.jinja import oversights  # noqa: PLC0415

    for line, what in islice(oversights(document.text), MOST_PROBLEMS):
        yield Finding(f"{document.key}: line {line} {what}")


def _comment_of_no_effect(_: _Set, document: Document) -> Iterator[Finding]:
    """Comments that look like directives and are none."""
    text = document.text
    if "answer" not in text:
        return
    is_text = document.family.name == "text" or (document.family.name == "yaml" and user_data.is_served_whole(text))
    for line, match in with_lines(text, (_NO_COLON if is_text else _NO_DIRECTIVE).finditer(text)):
        verb = match[1]
        remedy = f"write '# answer: {verb} …'" if is_text else f"in this format {_KEYS.get(verb, verb)} is a key"
        yield Finding(f"{document.key}: line {line} is a comment and steers nothing: {remedy}")


def _script_of_windows(_: _Set, document: Document) -> Iterator[Finding]:
    """A script with Windows' line ends: a shell takes the carriage return for a part of the last word."""
    text = document.text
    if document.family.name == "text" and "\r" in text:
        for line, _match in islice(with_lines(text, _SCRIPT_OF_WINDOWS.finditer(text)), 1):
            yield Finding(
                f"{document.key}: line {line} begins a script with Windows' line ends (CRLF), whose carriage returns a "
                "shell takes for a part of each command: save the document with line feeds alone"
            )


def _is_hex(text: str) -> bool:
    return set(text) <= _HEX


def _unused_group(known: _Set, document: Document) -> Iterator[Finding]:
    """A machine's file in ``groups/``, a group that claims nothing and that no document extends; and an overlay that
    claims nothing."""
    if document.key.kind is not Kind.GROUP or (document.identity, document.key.format) in known.extended:
        return
    if not document.content.readable or document.control.members or document.control.match:
        return
    if document.control.overlay is not None:
        yield Finding(
            f"{document.key}: is an overlay with neither members nor match, so it never applies: give it one", True
        )
    elif mac_digits(document.key.identifier) is not None:
        yield Finding(
            f"{document.key}: is named like a machine and claims none: move it out of groups/, or give it members", True
        )


def _almost_a_control_key(known: _Set, document: Document) -> Iterator[Finding]:
    """A top-level key that is almost a control key: it is sent to the machine and has no effect here."""
    pattern = _TOP_KEYS.get(document.family.name)
    if pattern is None:
        return
    text = document.text
    if document.family.name == "toml":
        text = text[: table.start()] if (table := re.search(r"^[ \t]*\[", text, re.MULTILINE)) else text
    for match in pattern.finditer(text):
        key = match["key"]
        if key in CONTROL_KEYS or len(key) < _SHORTEST_KEY or key.lower() in ("user", "users"):
            continue
        near = next((own for own in CONTROL_KEYS if differs_by_one(key.lower(), own)), None)
        if near is None:
            continue
        names_group = (identity_of(match["value"]), document.key.format) in known.catalogue.groups
        sentence = (
            f"{document.key}: the key {brief(key)} is sent to the machine and steers nothing; did you mean {near}?"
        )
        yield Finding(sentence, names_group)


def _hash_of_the_examples(_: _Set, document: Document) -> Iterator[Finding]:
    if EXAMPLE_HASH in document.raw.text:
        yield Finding(
            f"{document.key}: has the password hash of the examples, with which no one can log in: put in what "
            "'openssl passwd -6' prints"
        )


def _default_that_empties_disks(known: _Set, document: Document) -> Iterator[Finding]:
    """A default that installs without asking: it empties the disks of machines that nobody meant."""
    if sentence := emptying_default(known.catalogue, known.columns, document):
        yield Finding(sentence)


Rule = Callable[[_Set, Document], Iterator[Finding]]
"""Yields what it finds in a document."""

_RULES: Sequence[Rule] = (
    _name_like_an_address,
    _named_in_common,
    _unused_group,
    _pattern_never_holds,
    _almost_a_control_key,
    _braces,
    _oversights_of_jinja,
    _comment_of_no_effect,
    _script_of_windows,
    _hash_of_the_examples,
    _default_that_empties_disks,
)


def misspelled_extension(name: str) -> str | None:
    """Return the format whose extension differs in a single letter from that of a file; None for any other name."""
    stem, dot, extension = name.rpartition(".")
    if not (stem and dot and len(extension) > 1):
        return None
    return next((known for known in ALL_EXTENSIONS if differs_by_one(extension.lower(), known)), None)
