"""The facts of a request: labels with values, and the identities it carries (docs/selection.md).

Reads a request's parts, given as text and bytes; knows no socket and no document. Each fact is computed on first use:
most answers need an identity and two labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes

from answerd.formats import (
    ALIASES,
    ASKED_BY_NAME,
    FORMATS,
    GRUB_FILE,
    PXELINUX_DIRECTORY,
    formats_asked_for,
    split_extension,
)
from answerd.formats.patterns import ComparedValues, form_under
from answerd.formats.template import SECRETS
from answerd.identity import (
    INFINIBAND_DIGITS,
    LONGEST_VALUE,
    address_identity,
    identities_of,
    identity_of,
    is_mac,
    mac_digits,
    normalize,
    without_pxelinux_prefix,
)
from answerd.inventory.row import Row
from answerd.json_body import JsonBody, filed, read_json
from answerd.mac_search import SHORTEST_MAC, find_macs
from answerd.shared_values import BUILT_IN, SharedValues, kind_of

OWN_LABELS: Final = frozenset({"peer", "user_agent"})
"""Labels that the service sets: a request's own values for them are ignored."""

MAC: Final = "mac"
"""The label of MAC addresses. One in the path is its value too, after those that the request names."""

STATE: Final = "state"
"""The label of the state of an install."""

RESERVED_LABELS: Final = frozenset({"machine", "group", STATE, "report", "service.fingerprint"})
"""Labels that the selection sets, for placeholders: a request's own values are never used. So are those of secrets."""

MOST_VALUES: Final = 1_000
"""Values that one label keeps."""

MOST_VALUES_OF_ALL: Final = 20_000
"""Values that the labels of a request keep together, each counted once whatever labels it goes by."""

LARGE: Final = 16_384
"""Bytes above which a body is read in a thread. A smaller body has fewer values than `MOST_VALUES_OF_ALL`, together
with the 7,000 that path, query and headers can hold. The largest body of a real installer has 4 KB."""

SHORTEST_BODY_IDENTITY: Final = 4
"""Characters in identity form: the schema version ``1.0`` of a JSON body must not be the machine ``10``."""

SIDE_FILES: Final = ("meta-data", "vendor-data", "network-config")
"""The files that cloud-init asks NoCloud's URL for besides ``user-data`` (docs/selection.md#noclouds-side-files)."""

_USER_DATA: Final = "user-data"

AUTOYAST_RULES: Final = "rules.xml"
"""The file that AutoYaST asks a directory for first."""

_OF_PARTS: Final = ("serial", "uuid")
"""Labels of a JSON body that parts of a machine have too."""

_LONGEST_SHOWN: Final = 100
_MANY: Final = 32
_OF_NOCLOUD: Final = (ALIASES["yaml"], ALIASES["cfg"])
"""The formats of documents that cloud-init reads: a text of user-data may be any file's."""
_AUTOYAST: Final = ALIASES["autoyast"]
_LONGEST_HEX_ADDRESS: Final = 8
OF_XML: Final = frozenset(extension for extension, form in FORMATS.items() if form.family.name == "xml")
"""The formats of XML."""

_LOADERS: Final = tuple((extension,) for extension in ASKED_BY_NAME)
_PXELINUX_DEFAULT: Final = (PXELINUX_DIRECTORY, "default")
_HOST_SCRIPT: Final = re.compile(r"hostname-(.+)\.ipxe\Z", re.IGNORECASE)
"""The name by which netboot.xyz asks for the script of a host."""
_SHORT_PATH: Final = 128
"""Characters of a path that is remembered."""
_SET_HERE: Final = OWN_LABELS | RESERVED_LABELS
_MAC_HEADER: Final = re.compile(r"x-rhn-provisioning-mac-\d+\Z")
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(slots=True, eq=False)
class _Carried:
    """The identities that a request carries, with for each the text that gave it; empty for a text without letters.

    Those from ``macs_at`` on are MAC addresses within texts, and come after those of the body. ``names_in_body`` are
    those of a JSON body, among which are some that are too short. ``hidden``: the texts that gave no identity because
    many machines share them.
    """

    names: list[str]
    texts: list[str]
    macs_at: int
    names_in_body: list[str]
    texts_in_body: list[str]
    hidden: set[str]


class RequestPath:
    """What the path of a request says.

    ``segments`` are decoded. ``word`` is the segment, lower-cased, that asks for a format, None where there is none;
    ``extensions`` are the formats that may answer, in the order that decides ties (`formats_asked_for`).
    ``may_be_narrowed``: only some documents may claim some files of these formats. ``asks_loader``: PXELINUX or GRUB
    asks for its configuration; ``has_default``: a default may answer. ``has_xml_parts``: in a format of XML the path is
    that of AutoYaST's rules or classes. ``labels`` are pairs of label and value, ``names`` the texts whose identity
    counts, ``macs`` the MAC addresses anywhere in the path, but for those after PXELINUX's prefix, which ``own_macs``
    has too.
    """

    __slots__ = (
        "asks_loader",
        "extensions",
        "has_default",
        "has_xml_parts",
        "labels",
        "macs",
        "may_be_narrowed",
        "names",
        "own_macs",
        "segments",
        "word",
    )

    def __init__(self, path: str) -> None:
        self.segments = segments = tuple([_decoded(segment) for segment in path.split("/") if segment])
        words = tuple([segment.lower() for segment in segments])
        self.word, self.extensions = formats_asked_for(words)
        self.asks_loader = self.extensions in _LOADERS
        self.has_default = not self.asks_loader or words[-1] == GRUB_FILE or words[-2:] == _PXELINUX_DEFAULT
        has_parts = "classes" in words or "rules" in words[:-1]
        self.has_xml_parts = has_parts and not OF_XML.isdisjoint(self.extensions)
        self.may_be_narrowed = (
            self.extensions in (*_OF_NOCLOUD, _AUTOYAST) or not self.has_default or self.has_xml_parts
        )
        labels = [("path", _decoded(path.strip("/"))), ("file", segments[-1])] if segments else []
        labels += [("segment", segment) for segment in segments]
        self.labels = tuple([(label, value) for label, value in labels if len(value) <= LONGEST_VALUE])
        names: list[str] = []
        for at, segment in enumerate(segments, 1):
            if segment.lower() not in ALIASES:
                if self.asks_loader and at == len(segments):
                    names += _named_by_loader(segment)
                    continue
                if of_host := _HOST_SCRIPT.match(segment):
                    names.append(of_host[1])
                stem, extension = split_extension(segment)
                names += [segment, stem] if extension else [segment]
        self.names = tuple([name for name in names if len(name) <= LONGEST_VALUE])
        self.macs = tuple(find_macs(_decoded(path).encode("utf-8", "replace")))
        prefixed = [bare for name in names if (bare := without_pxelinux_prefix(name))]
        self.own_macs = tuple(dict.fromkeys((*prefixed, *self.macs)))


_read_short_path = lru_cache(1_024)(RequestPath)
"""Most machines of a fleet send the same path."""


@dataclass(slots=True, eq=False)
class Request:
    """The parts of a request that hold facts, as they came.

    ``path`` and ``query`` are undecoded, bytes as Latin-1 characters (what WSGI calls native strings); so are header
    values. Header names are in lower case. ``peer`` is an IP address, or empty where there is none. ``identities`` are
    names that the caller vouches for (``answerd render ID``). ``told`` are labels, case-folded, and values of an
    earlier request, where an answer is only tried: they are facts, and no identities.
    """

    path: str = "/"
    query: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    peer: str = ""
    identities: Sequence[str] = ()
    told: Sequence[tuple[str, str]] = ()


class Facts:
    """All facts of a request. Never raises: a body that cannot be read has no labels, but still identities.

    ``row`` is the inventory's row of the machine that asks, where it is known to have one
    (`answerd.answers.row_facts`).
    """

    row: Row | None = None

    @property
    def said(self) -> Facts:
        """The facts of the request alone, without those of its row."""
        return self

    @property
    def cells_of_row(self) -> Sequence[str]:
        """The cells of its row; none without one."""
        return ()

    shared: SharedValues = BUILT_IN
    """The values that many machines have."""

    state_source: Callable[[Facts], str] | None = None
    """Returns the state of the machine's install, where the service keeps states; called only for the label
    ``state``."""

    def __init__(self, request: Request, same_body: Facts | None = None) -> None:
        """``same_body``: facts of another request with this body, which then is not read again."""
        self.request = request
        # What is None is worked out when first asked for. (functools.cached_property takes a lock in Python 3.11: 1 µs
        # each time.)
        path = request.path
        self.path = read = _read_short_path(path) if len(path) <= _SHORT_PATH else RequestPath(path)
        self.extensions = read.extensions
        self.parameters = _parameters(request.query) if request.query else []
        self._header_facts = _header_facts(request.headers)
        self._sent_before_json: list[tuple[str, str]] | None = None
        self._json: JsonBody | None = None
        self._form: list[tuple[str, str]] | None = None
        if same_body:
            self._json, self._form = same_body._json, same_body._form
        elif request.body:
            self._json = read_json(request.body)
            if self._json is None:
                self._form = _form(request)
            elif len(request.body) > LARGE:
                self._json.keep_first(MOST_VALUES_OF_ALL - len(self._before_json()))
        self._identities: dict[str, str] | None = None
        self._carried: _Carried | None = None
        self._filed: dict[str, list[str]] | None = None
        self._labels: Mapping[str, Sequence[str]] | None = None
        self._firsts: dict[str, str | None] = {}
        self._first_of: dict[str, str] | None = None
        self._values: dict[str, Sequence[str]] = {}
        self._forms: dict[str, ComparedValues] = {}
        self._for_user_data: Facts | None = None
        self._knowing: Facts | None = None
        self.found: dict[object, Any] | None = {} if len(request.body) > LARGE else None
        """What indexes found for a large request, by the index or its method: it is looked up in a thread first."""

    def copied(self) -> Facts:
        """Return a copy that shares what was computed, but not `found`."""
        other = Facts(self.request, same_body=self)
        other._identities, other._carried, other._filed = self._identities, self._carried, self._filed
        other._labels, other.shared = self._labels, self.shared
        other.found = None if self.found is None else dict(self.found)
        return other

    def knowing(self, shared: SharedValues) -> Facts:
        """Return the facts of the same request for a set that names shared values: these denote nobody and are no
        facts. Always the same object for one set."""
        if shared.named == self.shared.named:
            return self
        known = self._knowing
        if known is None or known.shared is not shared:
            known = Facts(self.request, same_body=self)
            known.shared = shared
            self._knowing = known
        return known

    def hides(self, label: str) -> bool:
        """Return whether all values that the request has for a case-folded label are those of many machines."""
        return not self.values(label) and any(self._arrivals_of(label))

    @property
    def row_id(self) -> str:
        """The ``id`` of the inventory's row; empty where there is none."""
        return ""

    def values(self, label: str) -> Sequence[str]:
        """Return the first `MOST_VALUES` values of a case-folded label, in order of arrival and each once.

        They may hold control characters, and lone surrogates where the request was no valid Unicode.
        """
        values = self._values.get(label)
        if values is None:
            values = self._values[label] = _kept(self._unshared_of(label, self._arrivals_of(label)))
        return values

    def first(self, label: str) -> str | None:
        """Return the value that a placeholder takes: the first of its `values`, found without the others."""
        firsts = self._firsts
        if label in firsts:
            return firsts[label]
        sent = self._first_of
        if sent is None:
            sent = self._first_of = dict(reversed(self._before_json()))
        first = sent.get(label)
        if first is None and label in _SET_HERE:
            first = next(iter(self._own(label)), None)
        elif first is None:
            if self._json is not None and not label.startswith(SECRETS):
                first = self._json.first(label)
            if first is None and label == MAC and self.path.own_macs:
                first = self.path.own_macs[0]
        if first is not None and self._may_be_hidden(first) and self.shared.hides(label, first):
            first = next(iter(self.values(label)), None)
        firsts[label] = first
        return first

    def forms(self, label: str) -> ComparedValues:
        """Return the values of a label as patterns compare them, each once."""
        forms = self._forms.get(label)
        if forms is None:
            forms = self._forms[label] = ComparedValues(dict.fromkeys(map(form_under(label), self.values(label))))
        return forms

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """Every label that has a value, case-folded, with its values. For people: an answer asks for a label or two."""
        if self._labels is None:
            found = {label: [*values] for label, values in self._filed_before_json().items()}
            for label, sent in (self._json.labels() if self._json else {}).items():
                if not _is_set_here(label):
                    found.setdefault(label, []).extend(sent)
            if macs := self._macs_of_path(found.get(MAC, ())):
                found.setdefault(MAC, []).extend(macs)
            unshared = ((label, _kept(self._unshared_of(label, values))) for label, values in found.items())
            labels = {label: values for label, values in unshared if values}
            own = {label: values for label in sorted(OWN_LABELS) if (values := self.values(label))}
            self._labels = labels | own
        return self._labels

    def prepare(self) -> None:
        """Compute beforehand the facts that take long for a large request."""
        self.identities  # noqa: B018 - kept
        self.labels  # noqa: B018 - kept
        if self._json:
            self._json.system_values("serial")

    def values_before_json(self, label: str) -> list[str]:
        """Return the values of a case-folded label that are not in a JSON body."""
        before = self._before_json()
        if len(before) > _MANY:
            return self._filed_before_json().get(label, [])
        return [value for name, value in before if name == label]

    def system_values(self, label: str) -> Sequence[str]:
        """Return what a JSON body says of the machine itself: see `JsonBody.system_values`."""
        return self._json.system_values(label) if self._json else ()

    def identities_of_parts(self, found: Collection[str]) -> set[str]:
        """Return those of some identities that a JSON body says only of a part of the machine: a chassis, a board, a
        disk."""
        if self._json is None or not found:
            return set()
        of_labels = {identity_of(value) for label in _OF_PARTS for value in self._json.values(label)}
        asked = {one for one in found if one in of_labels} - {*self._carry().names}
        asked -= {identity_of(value) for label in _OF_PARTS for value in self._json.system_values(label)}
        return asked & {identity_of(value) for value in self._json.values_of_parts()} if asked else asked

    def _arrivals_of(self, label: str) -> Iterable[str]:
        """Return the values of one label as they arrive: URL, query, headers, body."""
        if _is_set_here(label):
            return self._own(label)
        found = self.values_before_json(label)
        if self._json is not None:
            found = found + self._json.values(label)
        return found + self._macs_of_path(found) if label == MAC and self.path.own_macs else found

    def _unshared_of(self, label: str, values: Iterable[str]) -> Iterable[str]:
        """Return the values of a label without those that many machines share."""
        kind = kind_of(label)
        holds = self.shared.holds
        return [value for value in values if not holds(kind, normalize(value))] if kind else values

    def _macs_of_path(self, named: Iterable[str]) -> list[str]:
        """Return the MAC addresses of the path that are none of those that the request names."""
        if not self.path.own_macs:
            return []
        known = {mac_digits(value) for value in named}
        return [mac for mac in self.path.own_macs if mac_digits(mac) not in known]

    def _before_json(self) -> list[tuple[str, str]]:
        """Return the labels, case-folded, and values of URL, query, headers and form, but for those that are set
        here."""
        if self._sent_before_json is None:
            found = [*self.path.labels]
            for pair in (*self.parameters, *self._header_facts, *(self._form or ()), *self.request.told):
                if not _is_set_here(pair[0]):
                    found.append(pair)
            if (asked := self._file_in_query) and ("file", asked) not in found:
                found.append(("file", asked))
            self._sent_before_json = found[:MOST_VALUES_OF_ALL]
        return self._sent_before_json

    def _filed_before_json(self) -> dict[str, list[str]]:
        """Return the same values by label."""
        if self._filed is None:
            self._filed = filed(self._before_json())
        return self._filed

    def _own(self, label: str) -> Iterable[str]:
        """Return the values of a label that the service sets, or that only the selection may set."""
        if label == "peer":
            return [self.request.peer] if self.request.peer else []
        if label == STATE and self.state_source is not None:
            return [self.state_source(self)]
        if label == "user_agent":
            return [_header_text(value) for name, value in self.request.headers if name == "user-agent" and value]
        return []

    @property
    def identities(self) -> Mapping[str, str]:
        """Each identity the request carries, with the text that gave it, as it was sent, in order of arrival."""
        if self._identities is None:
            carried = self._carry()
            outside = list(zip(carried.names, carried.texts, strict=True))
            in_body = zip(carried.names_in_body, carried.texts_in_body, strict=True)
            long_enough = [pair for pair in in_body if len(pair[0]) >= SHORTEST_BODY_IDENTITY]
            found: dict[str, str] = {}
            for identity, text in (*outside[: carried.macs_at], *long_enough, *outside[carried.macs_at :]):
                if identity:
                    found.setdefault(identity, text)
            self._identities = found
        return self._identities

    def identities_in(self, intersection: Callable[[Collection[str]], set[str]]) -> list[str]:
        """Return the `identities` that an index holds, in order of arrival.

        ``intersection`` returns those of its keys that are in a collection. The order is worked out only where it holds
        several, which saves 45 of 190 microseconds for a body of 119 texts.
        """
        found = self.identities_held_in(intersection)
        if len(found) < 2:  # noqa: PLR2004 - no order among them
            return list(found)
        return [identity for identity in self.identities if identity in found]

    def identities_but_of_peer_in(self, intersection: Callable[[Collection[str]], set[str]]) -> Collection[str]:
        """Return the `identities` that an index holds, in no order, without that of the address which the request came
        from, unless it is said as well.

        An address may be leased to another machine, so it never finds a row of an inventory.
        """
        found = self.identities_held_in(intersection)
        peer = self.request.peer
        if not found or not peer:
            return found
        of_peer = _address_identity(peer)
        if of_peer not in found or self._says(of_peer):
            return found
        return found - {of_peer}

    def identities_held_in(self, intersection: Callable[[Collection[str]], set[str]]) -> set[str]:
        """Return the `identities` that an index holds, in no order."""
        if self._identities is not None:
            return intersection(self._identities.keys())
        if self.found is not None and intersection in self.found:
            known: set[str] = self.found[intersection]
            return known
        carried = self._carry()
        found = intersection(carried.names)
        if carried.names_in_body:
            for identity in intersection(carried.names_in_body):
                if len(identity) >= SHORTEST_BODY_IDENTITY:
                    found.add(identity)
        if self.found is not None:
            self.found[intersection] = found
        return found

    def _says(self, identity: str) -> bool:
        """Return whether the request's own texts have the identity, apart from the address it came from."""
        carried = self._carry()
        said = carried.names.count(identity) - 1
        return said > 0 or identity in carried.names_in_body

    def _carry(self) -> _Carried:
        if self._carried is None:
            texts, places = self._identifying()
            names = identities_of(texts) if len(texts) > _MANY else [identity_of(text) for text in texts]
            hidden = self.shared.empty_in(names, texts, places)
            peer = self.request.peer
            if peer:
                texts.append(peer)
                names.append(_address_identity(peer))
            macs_at = len(names)
            macs = self._macs_before_json()
            names_in_body: list[str] = []
            texts_in_body: list[str] = []
            if self._json is not None:
                found = self._json.identities(OWN_LABELS, self.shared)
                names_in_body, texts_in_body, macs_in_body, hidden_in_body = found
                macs += macs_in_body
                hidden |= hidden_in_body
            of_macs = [normalize(mac) for mac in macs]
            if self.shared.may_hold_macs_in(of_macs):
                macs = [mac for mac in macs if not self.shared.holds(MAC, normalize(mac))]
                of_macs = [mac for mac in of_macs if not self.shared.holds(MAC, mac)]
            texts += macs
            names += of_macs
            self._carried = _Carried(names, texts, macs_at, names_in_body, texts_in_body, hidden)
        return self._carried

    def _may_be_hidden(self, text: str) -> bool:
        """Return whether a value may be one that many machines share: `_carry` has found most that are none."""
        if self._carried is None or self.request.told or self.shared.named:
            return True
        # A text without any letter or digit denotes nobody under these labels, and may be missing in ``hidden``.
        return text in self._carried.hidden or not text[:1].isalnum() or text in self.path.own_macs

    def _identifying(self) -> tuple[list[str], list[tuple[str, int]]]:
        """Return the texts whose identity counts however short it is, and of those that many machines may share the
        kind and the index."""
        texts = [*self.request.identities]
        places: list[tuple[str, int]] = []
        for label, value in self._header_facts:
            if kind := kind_of(label):
                places.append((kind, len(texts)))
            texts.append(value)
        texts += self.path.names
        for label, value in (*self.parameters, *(self._form or ())):
            if label not in OWN_LABELS:
                if kind := kind_of(label):
                    places.append((kind, len(texts)))
                texts.append(value)
                if label == MAC and len(value) == INFINIBAND_DIGITS and (port := address_identity(value)):
                    texts.append(port)
        for text in texts[:]:
            if bare := without_pxelinux_prefix(text):
                places.append((MAC, len(texts)))
                texts.append(bare)
        return texts, places

    def _macs_before_json(self) -> list[str]:
        """Return the MAC addresses anywhere in path, query and a body that is no JSON, but for some that are texts of
        their own (`_identifying`)."""
        found = [*self.path.macs]
        query, body = self.request.query, self.request.body
        if query and "%" not in query:
            query = "&".join([piece for piece in query.split("&") if not _is_read(piece)])
        if len(query) >= SHORTEST_MAC:
            found += find_macs(_decoded(query).encode("utf-8", "replace"))
        if self._form is not None:
            # Not as it came: the "2C" of an escaped comma would be the first octet of what follows it.
            found += find_macs(_decoded(body.decode("latin-1")).encode("utf-8", "replace"))
        elif body and self._json is None:
            found += find_macs(body)
        return found

    @property
    def side_file(self) -> str | None:
        """The side file of NoCloud that an endpoint of YAML or ``cfg`` is asked for; None for any other file."""
        if self.extensions not in _OF_NOCLOUD:
            return None
        asked = self._file_in_query or next((value for value in self.values("file") if value in SIDE_FILES), None)
        return None if asked == _USER_DATA else asked

    @property
    def _file_in_query(self) -> str | None:
        """The file that cloud-init asks an endpoint of YAML or ``cfg`` for in the query: it adds the name to the end of
        a URL that has one, whatever its last parameter is called."""
        if not self.parameters or self.extensions not in _OF_NOCLOUD or _nocloud_file(self.path.segments[-1]):
            return None
        return next(filter(None, (_nocloud_file(value) for _, value in reversed(self.parameters))), None)

    @property
    def asks_for_rules(self) -> bool:
        """Whether this is AutoYaST's first probe of a directory: its rules, not a machine's profile."""
        return self.extensions == _AUTOYAST and self.path.segments[-1] == AUTOYAST_RULES

    @property
    def asks_by_hex_address(self) -> bool:
        """Whether this is one of AutoYaST's next probes: its IPv4 address in hex, then with fewer and fewer digits."""
        return self.extensions == _AUTOYAST and _is_hex_address(self.path.segments[-1])

    @property
    def asks_for_xml_parts(self) -> bool:
        """Whether AutoYaST asks for a file of its rules or classes, and not for a machine's profile."""
        return self.asks_for_rules or self.path.has_xml_parts

    def asking_for_user_data(self) -> Facts:
        """Return the facts of the same request for NoCloud's ``user-data`` in place of a side file. Always the same
        object."""
        if self._for_user_data is None:
            self._for_user_data = self._made_for_user_data()
        return self._for_user_data

    def _made_for_user_data(self) -> Facts:
        head, _, last = self.request.path.rstrip("/").rpartition("/")
        path = f"{head}/{_USER_DATA}" if _decoded(last) in SIDE_FILES else self.request.path
        pieces = self.request.query.split("&")
        is_last = self._file_in_query is not None
        for at in range(len(pieces) - 1, -1, -1):
            label, _, sent = pieces[at].partition("=")
            value = _decoded(sent.replace("+", " "))
            if name := _nocloud_file(value):
                if is_last or (_decoded(label).casefold() == "file" and value in SIDE_FILES):
                    above = quote(value.removesuffix(name), errors="surrogateescape")
                    pieces[at] = f"{label}={above}{_USER_DATA}"
                is_last = False
        asked = self.request
        request = Request(path, "&".join(pieces), asked.headers, asked.body, asked.peer, asked.identities, asked.told)
        return Facts(request, same_body=self).knowing(self.shared)

    @property
    def described(self) -> str:
        """The machine that asks, for a console and a log: ``mac=…``, ``serial=…``, any other identity, or where it came
        from."""
        for label in ("mac", "serial"):
            value = self.first(label)
            if value and not value.isspace():
                return f"{label}={value[:_LONGEST_SHOWN]}"
        for identity, text in islice(self.identities.items(), MOST_VALUES):
            if mac_digits(identity):
                return f"mac={text}"
        if self.request.identities:
            return self.request.identities[0][:_LONGEST_SHOWN]
        return f"peer={self.request.peer}" if self.request.peer else "a request that names no machine"


def _nocloud_file(value: str) -> str | None:
    """Return the file of NoCloud that a value is, or ends in after a slash."""
    name = value.rpartition("/")[2]
    return name if name == _USER_DATA or name in SIDE_FILES else None


def _named_by_loader(name: str) -> list[str]:
    """Return the names of a machine in the file name that PXELINUX or GRUB asks for: ``01-`` and a MAC address, or a
    UUID. An address in hexadecimal digits names nobody."""
    if name[: len(GRUB_FILE)].lower() == GRUB_FILE:
        name = name[len(GRUB_FILE) :].lstrip("-").rstrip(":")  # RHEL 7.4's GRUB writes a colon after the address
    return [] if not name or _is_hex_address(name) else [name]


def _is_hex_address(name: str) -> bool:
    return len(name) <= _LONGEST_HEX_ADDRESS and not name.strip("0123456789ABCDEF")


def _kept(arrivals: Iterable[str]) -> list[str]:
    """Return the values that a label keeps: each once, the first `MOST_VALUES`."""
    kept = list(dict.fromkeys(arrivals))
    return kept[:MOST_VALUES] if len(kept) > MOST_VALUES else kept


def _header_facts(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the facts that Anaconda sends about its machine in headers of its own (``inst.ks.sendmac``,
    ``inst.ks.sendsn``)."""
    found: list[tuple[str, str]] = []
    for name, value in headers:
        if name > "x-":  # nearly no name is; half the time of startswith
            if _MAC_HEADER.match(name):
                words = _header_text(value).split()
                if words and len(words[min(1, len(words) - 1)]) <= LONGEST_VALUE:
                    found.append(("mac", words[min(1, len(words) - 1)]))
            elif name == "x-system-serial-number":
                serial = _header_text(value).strip()
                if 0 < len(serial) <= LONGEST_VALUE:
                    found.append(("serial", serial))
    return found


def _form(request: Request) -> list[tuple[str, str]] | None:
    """Return the parameters of a body that is sent as a form; None where it is not."""
    for name, value in request.headers:
        if name == "content-type" and value.partition(";")[0].strip().lower() == _FORM:
            # `curl --data-binary @file` sends the newline that ends the file.
            return _parameters(request.body.decode("latin-1").rstrip("\r\n"))
    return None


def _decoded(raw: str) -> str:
    """Return percent-decoded UTF-8. A byte that is not UTF-8 becomes a lone surrogate, which no placeholder takes."""
    if "%" not in raw and raw.isascii():
        return raw
    return unquote_to_bytes(raw.encode("latin-1", "replace")).decode("utf-8", "surrogateescape")


def _header_text(value: str) -> str:
    """Return a header's value as text. A byte that is not UTF-8 becomes a lone surrogate, which no placeholder
    takes."""
    return value if value.isascii() else value.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _is_read(piece: str) -> bool:
    """Return whether a piece of a query is a parameter with a MAC address and nothing else."""
    label, _, value = piece.partition("=")
    return is_mac(value) and label.casefold() not in OWN_LABELS


def _parameters(query: str) -> list[tuple[str, str]]:
    """Return the pairs of label, case-folded, and value of a query string, without those that have no value (an unset
    iPXE setting arrives as ``undef=``) or one that is too long."""
    found: list[tuple[str, str]] = []
    for piece in query.split("&"):
        label, _, sent = piece.partition("=")
        if sent:
            value = _decoded(sent.replace("+", " "))
            if len(value) <= LONGEST_VALUE:
                found.append((_decoded(label.replace("+", " ")).casefold(), value))
    return found


def _is_set_here(label: str) -> bool:
    """Return whether the values that a request sends for a label are never used."""
    return label in _SET_HERE or label.startswith(SECRETS)


_address_identity: Final = lru_cache(maxsize=4096)(identity_of)
"""The identity of an address: the same racks ask again and again, and to canonicalise one costs 3 µs."""


def facts_of(identifiers: Iterable[str], told: Sequence[tuple[str, str]] = ()) -> Facts:
    """Return the facts of a machine that sends only its names; ``told`` is as in `Request`."""
    return Facts(Request(identities=tuple(identifiers), told=told))
