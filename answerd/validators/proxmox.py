"""The Proxmox automated installer's answer schema, judged by the rules of one installer release.

It must not know files, tools or requests: it is given a parsed document, a release and a product.

Two tables decide. `TABLES` (`answerd.validators.proxmox_keys`) says what each key is by itself, `RULES`
(`answerd.validators.proxmox_rules`) what holds between keys.

Without a release the newest installer's rules decide, so that an answer which it refuses is invalid even if an older
installer would take it (``network.source`` is missing). A key that only installers newer than 9.0 know is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from answerd.formats.control import CONTROL_KEYS
from answerd.validators.proxmox_keys import TABLES, KeyRule
from answerd.validators.proxmox_release import KEBAB_SINCE, OLD_ENOUGH, PRODUCTS, Release, read_release
from answerd.validators.proxmox_rules import RULES, AnswerTable, ProxmoxAnswer
from answerd.validators.verdict import Remarks


def judge(document: Mapping[str, Any], release: str | None, product: str | None, remarks: Remarks) -> None:
    """Judge a parsed TOML document that has a section of a Proxmox answer.

    ``release`` is the installer's (``8.2``), ``product`` one of `PRODUCTS`; None for either: not known.
    """
    if product is not None and product not in PRODUCTS:
        remarks.note(f"product {product!r} is not known ({', '.join(PRODUCTS)}): rules of a product were not judged")
        product = None
    reader = read_release(release, product, remarks)
    tables: dict[str, AnswerTable] = {}
    for path in TABLES:
        tables[path] = _read_table(_raw(document, path), path, reader, remarks)
    answer = ProxmoxAnswer(tables, reader, product)
    for rule in RULES:
        rule(answer, remarks)
    remarks.judged_by(f"Proxmox answer schema (rules of {reader})")


def _raw(document: Mapping[str, Any], path: str) -> Mapping[str, Any] | None:
    """Return the document's table at a path, None when there is none or it is not a table."""
    table: Any = document
    for name in path.split(".") if path else ():
        table = table.get(name)
        if not isinstance(table, dict):
            return None
    found: Mapping[str, Any] = table
    return found


def _read_table(raw: Mapping[str, Any] | None, path: str, release: Release, remarks: Remarks) -> AnswerTable:
    if raw is None:
        return AnswerTable(path)
    keys = {key.name: key for key in TABLES[path]}
    spellings = keys | {key.snake_name: key for key in keys.values() if key.snake or key.alias}
    present: set[str] = set()
    good: dict[str, Any] = {}
    for name, value in raw.items():
        where = f"{path}.{name}" if path else name
        key = spellings.get(name)
        if key is None:
            _refuse_unknown(name, where, keys, remarks)
            continue
        if key.name in present:
            remarks.refuse(f"{where}: the key is set twice, as {key.name} and {key.snake_name}", where)
            continue
        present.add(key.name)
        _judge_release(key, name, where, release, remarks)
        if wrong := key.check(value):
            remarks.refuse(f"{where}: {wrong}", where)
        else:
            good[key.name] = value
    for key in keys.values():
        if key.required and key.name not in present:
            where = f"{path}.{key.name}" if path else key.name
            remarks.refuse(f"{where} is missing: {'every answer' if not path else f'[{path}]'} must have it", where)
    return AnswerTable(path, frozenset(present), good)


def _refuse_unknown(name: str, where: str, keys: Iterable[str], remarks: Remarks) -> None:
    if "." not in where and name in CONTROL_KEYS:  # only in a document that was not rendered first
        remarks.refuse(f"{where}: a control key of answerd, not of the installer: validate the rendered answer", where)
        return
    known = remarks.did_you_mean(name, keys)
    remarks.refuse(f"{where}: the installer knows no such key and refuses the whole answer{known}", where)


def _judge_release(key: KeyRule, name: str, where: str, release: Release, remarks: Remarks) -> None:
    """Judge whether the release knows the key and its spelling."""
    known = release.knows(key.since)
    since = ".".join(map(str, key.since))
    if known is False:
        remarks.refuse(f"{where}: the installer of {release} does not know this key (since {since})", where)
    elif known is None:
        remarks.warn(f"{where}: only the packages {since} and later of {release} know this key", where)
    elif not release.stated and key.since > OLD_ENOUGH:
        remarks.warn(f"{where}: installers before {since} do not know this key and refuse the answer", where)
    if not key.snake or name == key.snake_name == key.name:
        return
    if name == key.name and "-" in name and not release.knows(KEBAB_SINCE):
        remarks.refuse(f"{where}: the installer of {release} knows this key only as {key.snake_name}", where)
    if name == key.snake_name and release.knows(KEBAB_SINCE):
        remarks.warn(f"{where}: the spelling with '_' will be dropped; write {key.name} (known since 8.4)", where)
