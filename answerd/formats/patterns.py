"""The patterns of a ``match``, and when one holds for the values of a label (docs/selection.md#match).

A pattern and a value are compared as texts. Under labels of hardware punctuation does not count, because one program
writes ``98-fa-9b`` and another ``98:FA:9B``. Elsewhere a pattern that is an address or a network is compared as one.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from answerd.identity import address_of, folded, normalize
from answerd.shared_values import kind_of

IPV4_BITS: Final = 32
IPV6_BITS: Final = 128
_LONGEST_ADDRESS: Final = 64
"""Characters of a text that is looked at as an address: 45, a prefix, and a zone."""

_A_FEW: Final = 8
"""Up to this many values are tried one by one, which is faster than a search in all of them."""

_PREFIXED: Final = re.compile(r"([0-9a-f:.]+)/(0|[1-9][0-9]{0,2})\Z")


def is_hardware_label(label: str) -> bool:
    """Return whether the values of a case-folded label are compared without punctuation."""
    return bool(kind_of(label))


@lru_cache(1_024)
def form_under(label: str) -> Callable[[str], str]:
    """Return the function that makes the form of a value of a case-folded label which patterns compare."""
    return normalize if is_hardware_label(label) else as_compared


def as_compared(text: str) -> str:
    """Return ``text`` case-folded, runs of blanks as one, without blanks at its ends and a full stop after its last
    word: firmware and host names are written with it and without it. It has no line end."""
    form = " ".join((text.lower() if text.isascii() else folded(text)).split())
    return form[:-1] if form.endswith(".") and form[-2:-1].isalnum() else form


class Network(NamedTuple):
    """A network, or an address as a network of one: the first ``prefix`` of ``bits`` bits, as a number."""

    bits: int
    prefix: int
    number: int


def _address_in(form: str) -> tuple[int, int] | None:
    """Return the bits and the number of a value that is an address, with or without a prefix; None for another."""
    return _short_address_in(form) if len(form) <= _LONGEST_ADDRESS else None


@lru_cache(4_096)
def _short_address_in(form: str) -> tuple[int, int] | None:
    text = form
    if "/" in form:
        written = _PREFIXED.match(form)
        if written is None:
            return None
        text = written[1]
        address = address_of(text)
        if address is None or int(written[2]) > (IPV6_BITS if ":" in text else IPV4_BITS):
            return None
        return address
    return address_of(text)


def network_of(form: str) -> Network | None:
    """Return the network that a pattern is, or the address; None for any other pattern. A text with bits beyond its
    prefix (``10.20.0.7/16``) is no network."""
    address = _address_in(form)
    if address is None:
        return None
    bits, number = address
    _, slash, prefix = form.partition("/")
    if not slash:
        return Network(bits, bits, number)
    length = int(prefix) - (IPV6_BITS - bits if ":" in form else 0)
    beyond = bits - length
    return Network(bits, length, number >> beyond) if length >= 0 and number >> beyond << beyond == number else None


def has_bits_beyond_prefix(form: str) -> bool:
    """Return whether a pattern is an address with a prefix, and no network."""
    return "/" in form and _address_in(form) is not None and network_of(form) is None


class Pattern:
    """``*`` any run, ``?`` one character, the rest as `form_under` has it.

    ``text`` is the pattern as it was written. ``exact`` is the only text that satisfies it, None with wildcards;
    ``beginning`` what every such text begins with, ``runs`` the texts in it that follow a wildcard. ``network`` is the
    network of whose addresses it holds, in place of a text; None for a text.
    """

    __slots__ = ("_anchor", "_is_anchor_enough", "_matches", "beginning", "exact", "form", "network", "runs", "text")

    def __init__(self, text: str, label: str = "") -> None:
        """``label`` is case-folded. Raises ValueError for a pattern with nothing that is compared."""
        form = as_compared(text)
        if is_hardware_label(label):
            form = "".join(c for c in form if c in "*?" or c.isalnum())
        if not form:
            raise ValueError("a pattern of nothing but punctuation" if text.strip() else "an empty pattern")
        self.text = text
        self.form = form
        self.beginning, *runs = re.split(r"[*?]+", form)
        self.runs = tuple(filter(None, runs))
        self.exact: str | None = form if self.beginning == form else None
        self.network = network_of(form) if self.exact and not is_hardware_label(label) else None
        wildcards = "" if self.exact is not None else fnmatch.translate(form.replace("[", "[[]"))
        self._matches = re.compile(wildcards).match if wildcards else form.__eq__
        # The longest text of the pattern as it is in `ComparedValues.joined`, where line ends delimit a value.
        texts = re.split(r"[*?]+", f"\n{form}\n")
        longest = max(texts, key=lambda text: len(text.strip("\n")))
        self._anchor = longest if longest.strip("\n") else ""
        self._is_anchor_enough = "?" not in form and sum(map(bool, (self.beginning, *self.runs))) == 1

    def matches(self, form: str) -> bool:
        """Return whether the pattern holds for a value in its form (`form_under`)."""
        if self.network is not None:
            return self.matches_any(ComparedValues((form,)))
        return bool(self._matches(form))

    def matches_any(self, values: ComparedValues) -> bool:
        """Return whether the pattern holds for any of a label's values.

        Of many values, only those with the longest text of the pattern are tried; one search finds them all.
        """
        network = self.network
        if network is not None:
            bits, prefix, wanted = network
            addresses = values.addresses
            if len(addresses) > _A_FEW:
                return wanted in values.numbers(bits, prefix)
            for of, number in addresses:  # noqa: SIM110 - the generator of any(...) takes longer than one address
                if of == bits and number >> bits - prefix == wanted:
                    return True
            return False
        if len(values.forms) <= _A_FEW or not self._anchor:
            return any(map(self._matches, values.forms))
        joined, anchor = values.joined, self._anchor
        at = joined.find(anchor)
        if self._is_anchor_enough:
            return at >= 0
        while at >= 0:
            begin = at + 1 if anchor[0] == "\n" else joined.rfind("\n", 0, at) + 1
            end = joined.find("\n", begin)
            if self._matches(joined[begin:end]):
                return True
            at = joined.find(anchor, end)
        return False


class ComparedValues:
    """The values of one label as patterns compare them. ``forms``: in the form of `form_under`."""

    __slots__ = ("_addresses", "_joined", "_numbers", "forms")

    def __init__(self, forms: Iterable[str]) -> None:
        self.forms = list(forms)
        self._joined: str | None = None
        self._addresses: Sequence[tuple[int, int]] | None = None
        self._numbers: dict[tuple[int, int], frozenset[int]] = {}

    @property
    def joined(self) -> str:
        """All of them, each between two line ends. Computed once."""
        if self._joined is None:
            self._joined = "\n".join(["", *self.forms, ""])
        return self._joined

    @property
    def addresses(self) -> Sequence[tuple[int, int]]:
        """Those that are addresses, with or without a prefix, as bits and numbers. Computed once."""
        if self._addresses is None:
            self._addresses = [address for form in self.forms if (address := _address_in(form)) is not None]
        return self._addresses

    def numbers(self, bits: int, prefix: int) -> frozenset[int]:
        """Return the `Network.number` of each network with this prefix that one of the values is in. Computed once for
        a prefix."""
        found = self._numbers.get((bits, prefix))
        if found is None:
            beyond = bits - prefix
            found = self._numbers[bits, prefix] = frozenset(
                [number >> beyond for of, number in self.addresses if of == bits]
            )
        return found


@dataclass(frozen=True, slots=True)
class Criterion:
    """One label of a ``match`` and its patterns, any of which may hold."""

    label: str
    patterns: tuple[Pattern, ...]

    def holds(self, values: ComparedValues) -> bool:
        """Return whether any of the label's values satisfies any of the patterns."""
        return any(pattern.matches_any(values) for pattern in self.patterns)

    def holds_of(self, values: Iterable[str]) -> bool:
        """`holds`, of values as they are written."""
        return self.holds(ComparedValues(map(form_under(self.label), values)))


class NotAFilter(ValueError):
    """A text is no filter."""


def filters_in(written: Iterable[str]) -> list[Criterion]:
    """Return the criteria that filters ``LABEL=PATTERN`` are, all of which must hold. Raises `NotAFilter` with the one
    that is none."""
    wanted: dict[str, list[Pattern]] = {}
    for text in written:
        label, (_, equals, pattern) = label_of_filter(text), text.partition("=")
        try:
            matching = Pattern(pattern, label)
        except ValueError:
            raise NotAFilter(text) from None
        if not (label and equals):
            raise NotAFilter(text)
        wanted.setdefault(label, []).append(matching)
    return [Criterion(label, tuple(patterns)) for label, patterns in wanted.items()]


def label_of_filter(text: str) -> str:
    """Return the label of a filter, case-folded."""
    return folded(text.partition("=")[0].strip())
