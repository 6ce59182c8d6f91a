"""Every block of docs/ that is a whole document is what its installer takes: by the installer's own program where it is
installed, and by the tables."""

from __future__ import annotations

import re

import pytest

from answerd.answers.cases import check_cases
from answerd.answers.catalogue import Catalogue
from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.documents import Key, RawDocument
from answerd.formats import FORMATS
from answerd.identity import Kind
from answerd.inventory import FORMAT as INVENTORY
from answerd.validators import TOOL_OF_FORMAT
from tests.support.installs import RememberedInstalls
from tests.support.judges import installed, proven
from tests.support.pages import DOCS, FENCE

ROW = {
    "id": "pc-001",
    "mac": "52:54:00:12:34:56",
    "disk": "/dev/sda",
    "zone": "W. Europe Standard Time",
    "os": "ubuntu",
    "kind": "windows",
    "role": "web",
    "seat": "1",
}
"""A machine, with the labels that the documents fill in and select by."""

HASH = "$6$example$hash.of.the.password"

WHOLE = {
    "yaml": r"\A(?:#cloud-config\b|version: v1alpha1\n|instance-id:)",
    "xml": r"\A(?:<\?xml[^>]*>\s*)?<(?P<root>unattend|profile)\b",
    "json": r'\A\{\s*"(?P<key>ignition|product)"',
    "toml": r"^disk-setup\b|^\[disk-setup\]",
    "ks": r"",
    "preseed": r"",
    "ipxe": r"\A#!ipxe\n",
}
"""A language of blocks to what tells a whole document; others are parts of one, or of another program."""


def extension_of(language: str, text: str) -> str | None:
    """The extension that a block would have as a document; None for one that is none."""
    beginning = WHOLE.get(language)
    found = re.search(beginning, text, re.MULTILINE) if beginning is not None else None
    if found is None or re.search(r"\bextends\b|answer: overlay", text):  # laid over another, it is no whole document
        return None
    named = found.groupdict()
    return {"profile": "autoyast", "unattend": "unattend", "ignition": "ign"}.get(
        named.get("root") or named.get("key") or "", language
    )


BLOCKS = [
    (f"{path.relative_to(DOCS)}:{text.count(chr(10), 0, found.start()) + 1}", extension, found["text"])
    for path in sorted(DOCS.rglob("*.md"))
    for text in [path.read_text("utf-8")]
    for found in FENCE.finditer(text)
    if (extension := extension_of(found["language"].strip(), found["text"])) is not None
]


def answered(extension: str, text: str) -> str:
    """The answer of a machine that has a block as its own document."""
    columns = ",".join(ROW)
    table = f"{columns}\n{','.join(ROW.values())}\n"
    installs = RememberedInstalls(url="http://192.0.2.10:8000")
    catalogue = Catalogue(has_states=True).changed(
        [
            RawDocument(Key(Kind.INVENTORY, "default", INVENTORY), table),
            RawDocument(Key(Kind.MACHINE, ROW["id"], extension), text),
        ]
    )
    sources = Sources(secret=lambda _name, _machines: HASH, gates=installs.gates)
    [case] = check_cases(catalogue)
    return resolve(catalogue, case.facts, case.extensions, case.assumed, sources=sources).body.decode()


def test_the_blocks_are_found() -> None:
    assert len(BLOCKS) >= 20
    assert {extension for _, extension, _ in BLOCKS} == {*WHOLE, "autoyast", "unattend", "ign"} - {"xml"}
    assert set(WHOLE) <= set(FORMATS)


@pytest.mark.parametrize(("extension", "text"), [block[1:] for block in BLOCKS], ids=[block[0] for block in BLOCKS])
def test_a_block_that_is_a_document_is_taken(extension: str, text: str) -> None:
    verdict = proven(answered(extension, text), extension)
    assert verdict.findings == ()
    assert verdict.judged
    program = TOOL_OF_FORMAT.get(extension, "")
    is_read_by_it = extension != "json" and (extension != "yaml" or text.startswith("#cloud-config"))
    if program in installed().paths and is_read_by_it and program not in verdict.judged_by:
        assert [note for note in verdict.notes if note.startswith(f"{program} is too old")]
