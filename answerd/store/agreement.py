"""What decides the answers of nodes that share a database, as digests that each of them publishes there.

Rules: docs/many-nodes.md#the-list-of-nodes. Nodes with other settings or secrets give other answers to the same
machine.

The digests are in the database, which backups copy, and the key of the states is beside them. So a digest of what is
secret must not tell a guess from the truth: it has 16 bits, and is of all secrets together. Whoever tries a list of
passwords against it is left with one in 65,536 of the list, and a difference is missed once in 65,536 times.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from answerd.config import DECIDES_ANSWERS, SETTINGS, Config

Digests = Mapping[str, str]
"""The digests of one node, by the name of a setting, `SECRETS` or `NAMES`."""

NO_DIGESTS: Final[Digests] = MappingProxyType({})

SECRETS: Final = "values of secrets"
NAMES: Final = "names of secrets"

_BYTES: Final = 8
_BYTES_OF_SECRETS: Final = 2
_SCRYPT: Final = {"n": 16_384, "r": 8, "p": 1, "maxmem": 67_108_864}
"""Some 50 ms and 16 MB for a digest of what is secret."""


def digests_of(config: Config, secrets: Mapping[str, str], key: bytes) -> Digests:
    """Return the digests of what decides the answers of a node. ``secrets`` are the texts of all secrets by their
    place; ``key`` is one that all nodes of a database have."""
    found = {}
    for setting in SETTINGS:
        if setting.name in DECIDES_ANSWERS:
            value = getattr(config, setting.field)
            parts = sorted(map(str, value)) if isinstance(value, tuple) else [str(value)]  # lists without an order
            found[setting.name] = _of_secrets(key, parts) if setting.secret else _of(key, parts)
    found[NAMES] = _of(key, sorted(secrets))
    found[SECRETS] = _of_secrets(key, [part for place in sorted(secrets) for part in (place, secrets[place])])
    return found


def differences(nodes: Iterable[tuple[str, Digests]]) -> list[str]:
    """Return a sentence for each thing in which nodes, given by name, differ:

    ``nodes differ in SERVICE_ALLOW: a, b; c`` where ``a`` and ``b`` have one value and ``c`` another. What only some
    nodes publish is not compared: others run another version, or know no key yet.
    """
    by_value: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, digests in nodes:
        for what, digest in digests.items():
            by_value[what][digest].append(name)
    return [
        f"nodes differ in {'the ' if what in (SECRETS, NAMES) else ''}{what}: "
        + "; ".join(sorted(", ".join(sorted(names)) for names in values.values()))
        for what, values in sorted(by_value.items())
        if len(values) > 1
    ]


def _of(key: bytes, parts: Iterable[str]) -> str:
    return hmac.digest(key, _joined(parts), "sha256")[:_BYTES].hex()


def _of_secrets(key: bytes, parts: Iterable[str]) -> str:
    return hashlib.scrypt(_joined(parts), salt=key, dklen=_BYTES_OF_SECRETS, **_SCRYPT).hex()


def _joined(parts: Iterable[str]) -> bytes:
    """Return parts as bytes that no other parts give."""
    return b"".join(b"%d:%b" % (len(part), part) for part in (text.encode("utf-8", "replace") for text in parts))
