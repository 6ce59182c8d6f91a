"""Mistakes that are valid, so that no other check finds them: names that are almost MAC addresses, a control key that
lacks a letter, labels that no client sends, two groups that claim one machine equally (docs/check.md#oversights).

Each is a sentence that says what is wrong and what to do. `answerd.check` reports them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

from answerd.answers.cases import RowCase
from answerd.answers.catalogue import Catalogue, GroupClaim
from answerd.answers.compose import Layers, prepared_answer
from answerd.answers.gates import is_loader
from answerd.answers.never_holds import never_holding
from answerd.answers.select import rank
from answerd.documents import Document
from answerd.errors import AnswerError
from answerd.formats import ALIASES, ALL_EXTENSIONS, user_data
from answerd.formats.control import CONTROL_KEYS
from answerd.formats.family import MergeError, Path, Prepared
from answerd.formats.origins import MARKINGS
from answerd.formats.patterns import ComparedValues, form_under
from answerd.formats.template import SECRETS, Placeholder
from answerd.identity import Kind, identity_of, mac_digits, normalize, without_pxelinux_prefix
from answerd.inventory.row import Row
from answerd.short_texts import brief, join_brief
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
_VERBS = "extends|members?|match|once|overlay|template|append|unset"
_NO_COLON = re.compile(rf"^[ \t]*(?:#|//)[ \t]*answer[ \t]+({_VERBS})\b", re.MULTILINE)
_NO_DIRECTIVE = re.compile(rf"^[ \t]*(?:#|//|<!--)[ \t]*answer:?[ \t]+({_VERBS})\b", re.MULTILINE)
_KEYS = {"member": "members"}


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
    labels = frozenset((*_OF_MACHINES, *_labels_of_set(catalogue)))
    known = _Set(catalogue, frozenset(extended), labels, _columns(catalogue))
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
    return found


def _name_like_an_address(_: _Set, document: Document) -> Iterator[Finding]:
    """A machine's name, or a member, that is almost a MAC address: it claims no machine."""
    if document.key.kind is Kind.MACHINE:
        yield from _judged_name(str(document.key), document.key.identifier)
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


def unmet(catalogue: Catalogue, groups: Sequence[Document]) -> dict[Document, str]:
    """Return what the ``match`` of groups that claim no row lacks, for those of which the tables tell it."""
    inventory = catalogue.inventory
    if inventory is None or inventory.unreadable:
        return {}
    columns = _columns(catalogue)
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
            elif label not in SENT_LABELS:
                found[group] = f"no table has a column {brief(label)}{did_you_mean(label, columns)}"
    return found


def _columns(catalogue: Catalogue) -> frozenset[str]:
    """Return the labels that tables have."""
    layouts = catalogue.inventory.by_layout if catalogue.inventory is not None else ()
    return frozenset(label for layout in layouts for label in layout.labels)


def _labels_of_set(catalogue: Catalogue) -> Iterator[str]:
    """Yield the labels that a ``match`` or a column of a table names."""
    for document in catalogue.documents.values():
        yield from (criterion.label for criterion in document.control.match)
    yield from _columns(catalogue)


def _pattern_never_holds(known: _Set, document: Document) -> Iterator[Finding]:
    """A pattern of a ``match`` that can never hold."""
    for sentence, is_certain in never_holding(document, known.columns):
        yield Finding(sentence, is_certain)


def _braces(known: _Set, document: Document) -> Iterator[Finding]:
    """Placeholders in single braces, and those that are cloud-init's."""
    text = document.text
    if document.family.name == "yaml" and user_data.kind_of(text) is user_data.TEMPLATE:
        yield Finding(
            f"{document.key}: begins with '## template: jinja', so its {{{{ }}}} are left to cloud-init"
            + (", and it is no layer" if user_data.is_served_whole(text) else "")
        )
    elif "{" in text and document.control.template:
        for match in _SINGLE_BRACES.finditer(text):
            if match[1].casefold() in known.labels:
                yield Finding(
                    f"{document.key}: line {_line_of(text, match)} has {{ {match[1]} }} in single braces, which the "
                    f"machine gets as it is written: write {{{{ {match[1]} }}}}"
                )


def _comment_of_no_effect(_: _Set, document: Document) -> Iterator[Finding]:
    """Comments that look like directives and are none."""
    text = document.text
    if "answer" not in text:
        return
    is_text = document.family.name == "text" or (document.family.name == "yaml" and user_data.is_served_whole(text))
    for match in (_NO_COLON if is_text else _NO_DIRECTIVE).finditer(text):
        verb = match[1]
        remedy = f"write '# answer: {verb} …'" if is_text else f"in this format {_KEYS.get(verb, verb)} is a key"
        yield Finding(f"{document.key}: line {_line_of(text, match)} is a comment and steers nothing: {remedy}")


def _line_of(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start(1)) + 1


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


Rule = Callable[[_Set, Document], Iterator[Finding]]
"""Yields what it finds in a document."""

_RULES: Sequence[Rule] = (
    _name_like_an_address,
    _unused_group,
    _pattern_never_holds,
    _almost_a_control_key,
    _braces,
    _comment_of_no_effect,
    _hash_of_the_examples,
)


def misspelled_extension(name: str) -> str | None:
    """Return the format whose extension differs in a single letter from that of a file; None for any other name."""
    stem, dot, extension = name.rpartition(".")
    if not (stem and dot and len(extension) > 1):
        return None
    return next((known for known in ALL_EXTENSIONS if differs_by_one(extension.lower(), known)), None)


class MissingLabels:
    """The labels that answers need and that no known client sends, with the machines that need them."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._known = {*SENT_LABELS, *_labels_of_set(catalogue)}
        self._needed: dict[str, dict[str, Document]] = defaultdict(dict)  # label → machine → its lowest document
        self._own: dict[Document, frozenset[tuple[str, ...]]] = {}

    def record(self, layers: Layers, machine: str, has: Callable[[str], bool]) -> list[str]:
        """Record the labels that an answer needs. Return those that it lacks and that a request can have."""
        lacking: dict[str, None] = {}
        for labels in _labels_in(layers):
            if any(map(has, labels)):
                continue
            for label in labels:
                if self._is_known(label):
                    lacking[label] = None
                else:
                    document = next((layer for layer in layers if labels in self._labels_of(layer)), layers[-1])
                    self._needed[label].setdefault(machine, document)
        return list(lacking)

    def record_untried(self, layers: Layers) -> None:
        """Record the labels of a group that selects by ``match``: which machines it claims depends on requests."""
        self.record(layers, "", lambda _: False)

    def _is_known(self, label: str) -> bool:
        """Return whether a client is known to send a case-folded label."""
        return label in self._known or label.startswith(SECRETS) or _PLACE.sub("N", label) in self._known

    def _labels_of(self, document: Document) -> frozenset[tuple[str, ...]]:
        labels = self._own.get(document)
        if labels is None:
            # Not by `prepared_answer`, which would keep an answer of this document alone in place of the answer it
            # serves.
            prepared = document.family.prepare(document.tree)
            if not document.is_group:
                document.forget_tree()
            labels = self._own[document] = frozenset(_labels_of(prepared))
        return labels

    def report(self, found: Findings) -> None:
        """Add the sentences about these labels to ``found``."""
        for label, machines in self._needed.items():
            written = _PLACE.sub("N", label)
            near = min((known for known in self._known if differs_by_one(written, known)), default=None)
            for document in dict.fromkeys(machines.values()):
                hit = {machine for machine, of in machines.items() if of is document and machine}
                sentence = f"{document.key}: nothing is known to send {brief(label)!r}"
                if near is not None:
                    sentence += f", so its placeholder cannot be filled; did you mean {near!r}?"
                    found.problems.add(sentence)
                else:
                    sentence += ': a machine that does not gets a 500. Give it a default("…"), or name it in a match'
                    found.notes.add(sentence)
                found.machines[sentence] |= hit


def _labels_in(layers: Layers) -> Iterable[tuple[str, ...]]:
    """Return the labels of an answer's placeholders as `_labels_of` does; none where the answer cannot be made, which
    is reported elsewhere."""
    try:
        return _labels_of(prepared_answer(layers, may_be_blank=True))
    except AnswerError:
        return ()


def _labels_of(prepared: Prepared) -> Iterable[tuple[str, ...]]:
    """Return the labels of each placeholder without a default text, of which it needs one. No default fills a missing
    secret."""
    return dict.fromkeys(
        (placeholder.label,) if placeholder.is_secret else placeholder.labels
        for slot in prepared.slots
        for placeholder in slot.template.parts
        if isinstance(placeholder, Placeholder)
        and (placeholder.is_secret or not any(name == "default" for name, _ in placeholder.filters))
    )


# --- who claims whom -------------------------------------------------------------------------------------------------

_MOST_PATHS = 3
"""Values of two overlays that a sentence names."""


def report_equal_claims(catalogue: Catalogue, of_rows: Iterable[RowCase], found: Findings) -> None:
    """Add a problem for each two groups that claim known machines equally: rows, members, machines with a document."""
    ties: dict[tuple[Document, ...], dict[str, None]] = defaultdict(dict)
    known: dict[tuple[Document, ...], list[tuple[Document, ...]]] = {}
    for of_row in of_rows:
        groups = of_row.claims.groups
        if groups not in known:
            known[groups] = list(_equal([catalogue.claims[group] for group in groups if group in catalogue.claims]))
        for tied in known[groups]:
            if not _has_its_group(of_row.claims.machines, tied):
                ties[tied][of_row.row.name] = None
    rows = catalogue.inventory.index if catalogue.inventory is not None else {}
    for identity, claims in catalogue.members.items():
        if len(claims) == 1 or isinstance(rows.get(identity), Row):
            continue
        # What is narrowed by a match may hold for other requests than the others: that is how one machine asks twice.
        for tied in _equal([claim for claim in claims if not claim.match]):
            if not _has_its_group(catalogue.machines.get(identity, ()), tied):
                ties[tied][tied[0].control.spelled(identity)] = None
    for tied, names in ties.items():
        machines = sorted(names)
        claimed = f"{len(machines)} machines equally, the first is" if len(machines) > 1 else "one machine equally:"
        sentence = (
            f"{' and '.join(str(group.key) for group in tied)} claim {claimed} {join_brief(machines[:1])}: "
            f"its name decides for {tied[0].key.identifier}. Give one of them one more criterion, name the machines in "
            "its members, or make it an overlay"
        )
        found.problems.add(sentence)
        found.machines[sentence].update(machines)


_ASKED_TOGETHER = tuple(dict.fromkeys([*((extension,) for extension in ALL_EXTENSIONS), *ALIASES.values()]))
"""The formats that one URL asks for: each alone, where a machine has a document of it, and those of each word."""


def _equal(claims: Sequence[GroupClaim]) -> Iterator[tuple[Document, ...]]:
    """Yield for the formats that one URL asks for the groups that claim best, where there are several; the one that
    wins comes first. Each several once."""
    found: dict[frozenset[Document], None] = {}
    for extensions in _ASKED_TOGETHER:
        asked = [claim for claim in claims if claim.document.key.format in extensions]
        best = max(((bool(claim.members), len(claim.match)) for claim in asked), default=None)
        equal = [claim for claim in asked if (bool(claim.members), len(claim.match)) == best]
        # Two documents of one name and format are a problem already.
        if len({(claim.document.identity, claim.document.key.format) for claim in equal}) > 1:
            equal.sort(key=lambda claim: rank(claim.document.key, claim.match, extensions))
            tied = tuple(claim.document for claim in equal)
            if not any(known.issuperset(tied) for known in found):
                found[frozenset(tied)] = None
                yield tied


def _has_its_group(machines: Iterable[Document], tied: Sequence[Document]) -> bool:
    """Return whether a machine's document leaves no choice among some groups: it names its group, or it is of one of
    their formats, so that the others are not looked at."""
    formats = {document.key.format for document in tied}
    return any(
        machine.key.format in formats and (len(formats) > 1 or machine.control.extends is not None)
        for machine in machines
    )


class EqualOverlays:
    """The overlays of one number that are laid over known machines and make another answer in another order."""

    def __init__(self) -> None:
        self._common_paths: dict[tuple[Document, Document], list[str]] = {}
        self._machines: dict[tuple[Document, Document], dict[str, None]] = defaultdict(dict)

    def record(self, overlays: Sequence[Document], machine: str) -> None:
        """Note the overlays of an answer, lowest first."""
        for lower, upper in combinations(overlays, 2):
            if lower.control.overlay == upper.control.overlay and self._both_set((lower, upper)):
                self._machines[lower, upper][machine] = None

    def _both_set(self, pair: tuple[Document, Document]) -> list[str]:
        common = self._common_paths.get(pair)
        if common is None:
            common = self._common_paths[pair] = _decided_by_order(*pair)
        return common

    def notes(self) -> Iterator[str]:
        """Yield a note for each two of them."""
        for (lower, upper), machines in self._machines.items():
            names = list(machines)
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            yield (
                f"{lower.key} and {upper.key}: both are overlay {lower.control.overlay} and set "
                f"{join_brief(self._common_paths[lower, upper], _MOST_PATHS)} for {join_brief(names[:1])}{more}: the "
                "names decide. Give one of them a higher number"
            )


_POSITION = re.compile(r"\[\d+\]\Z")


def _decided_by_order(lower: Document, upper: Document) -> list[str]:
    """Return the paths of what differs where the one is laid over the other and the other over the one; none of texts,
    whose lines are all served. What both append to one list is no such difference, nor is the order of XML's siblings
    that a name tells apart."""
    family = lower.family
    if family.name == "text":
        return []
    marking = MARKINGS[family.name]
    marked = {overlay: marking.mark(overlay.text, 0) for overlay in (lower, upper)}

    def laid(below: Document, above: Document) -> dict[Path, object]:
        tree = marked[below]
        if above.control.unset:
            tree = family.unset(tree, above.control.unset)
        leaves = marking.leaves(family.merge(tree, marked[above], above.control.append))
        return {leaf.path: (leaf.text, leaf.value) for leaf in leaves}

    try:
        first, second = laid(lower, upper), laid(upper, lower)
    except MergeError:
        return []  # they cannot be merged in any order, which is a problem of the answer
    both_append = set(lower.control.append) & set(upper.control.append)
    differing = [
        path
        for path in dict.fromkeys((*first, *second))
        if first.get(path) != second.get(path) and not any(path[: len(to)] == to for to in both_append)
    ]
    if differing and family.name == "xml" and _without_positions(first) == _without_positions(second):
        return []
    return list(dict.fromkeys(".".join(path) for path in differing if path))  # of an empty tree, the tree is the leaf


def _without_positions(leaves: Mapping[Path, object]) -> Counter[tuple[Path, object]]:
    return Counter((tuple(_POSITION.sub("", step) for step in path), value) for path, value in leaves.items())


def overlays_of_other_formats(of_rows: Iterable[RowCase]) -> Iterator[str]:
    """Yield a note for each overlay that holds for rows and is laid over no answer of theirs, because the answer has
    another extension for the same word of a URL: ``dept.yml`` and ``base.yaml``."""
    found: dict[Document, tuple[str, str]] = {}
    for of_row in of_rows:
        for overlay in of_row.claims.overlays:
            extension = overlay.key.format
            if overlay in found or extension in of_row.formats:
                continue
            beside = {other for asked in ALIASES.values() if extension in asked for other in asked}
            for other in of_row.formats:
                if other in beside:
                    found[overlay] = other, of_row.row.name
    for overlay, (other, name) in found.items():
        yield (
            f"{overlay.key}: holds for {name}, whose answer is {other}: an overlay is laid over answers of its own "
            f"extension. Name it {overlay.key.identifier}.{other}"
        )


def only_loader_claims(catalogue: Catalogue, of_rows: Iterable[RowCase]) -> Iterator[str]:
    """Yield a sentence for each row, and each member without one, that documents of loaders claim and nothing else,
    where the set has other documents: whatever the loader leads to is claimed by nothing."""
    if all(is_loader(document.key.format) for document in catalogue.documents.values()):
        return
    inventory = catalogue.inventory
    for of_row in of_rows:
        if inventory is not None and of_row.claimed and all(map(is_loader, of_row.claims.formats)):
            yield f"{inventory.place(of_row.row)}: nothing but a loader claims this row"
    rows = inventory.index if inventory is not None else {}
    for identity, claims in catalogue.members.items():
        documents = [*catalogue.machines.get(identity, ()), *(claim.document for claim in claims)]
        if identity not in rows and all(is_loader(document.key.format) for document in documents):
            group = claims[0].document
            yield f'{group.key} for member "{identity}": nothing but a loader claims this machine'


# The labels that installers and boot loaders send (docs/templates.md#labels-that-installers-send). One that is not in
# the table, and that no document's match and no inventory's column names, is probably misspelled.


def _labels(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PROXMOX = (
    "$schema.version product.fullname product.product product.enable_btrfs iso.release iso.isorelease "
    "dmi.baseboard.serial dmi.baseboard.name dmi.baseboard.asset_tag dmi.chassis.sku dmi.chassis.asset_tag "
    "dmi.chassis.serial dmi.system.sku dmi.system.serial dmi.system.uuid dmi.system.name "
    "network_interfaces.N.link network_interfaces.N.mac"
)

LABELS_SENT_BY: Mapping[str, frozenset[str]] = {
    "every request": _labels("path file segment peer user_agent"),
    "the service": _labels("machine group state report service.fingerprint"),
    "Anaconda, with `inst.ks.sendmac` and `inst.ks.sendsn`": _labels("mac serial"),
    "Proxmox": _labels(_PROXMOX) | {path.rpartition(".")[2] for path in _labels(_PROXMOX)},
    "Talos": _labels("code hostname mac uuid"),
    "iPXE, in a URL with its settings": _labels(
        "arch asset buildarch busid chip dhcp-server dns domain filename gateway hostname ip mac manufacturer memsize "
        "netmask next-server platform product root-path serial undef user-class username uuid version"
    ),
    "boot scripts, by custom": _labels(
        "asset_tag disk env environment fqdn host id location name node os profile rack role room site user vendor"
    ),
}
"""The labels, case-folded, by the client that sends them. ``N`` is a position in a list."""

SENT_LABELS: frozenset[str] = frozenset().union(*LABELS_SENT_BY.values())

_PLACE = re.compile(r"(?<=\.)\d+(?=\.|\Z)")
