"""What is said of bytes that are no UTF-8: what they seem to be, and the command that converts them."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Mapping

import pytest

from answerd.documents import Document, Key, NotText, RawDocument, decoded
from answerd.identity import Kind
from tests.support.waiting import PROGRAM_SECONDS

TEXT = "<?xml version='1.0'?>\n<a>Gerät</a>\n"
SEEMS: Mapping[str, tuple[bytes, str]] = {
    "UTF-16 of Windows": (b"\xff\xfe" + TEXT.encode("utf-16-le"), "UTF-16"),
    "UTF-16 the other way": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16"),
    "UTF-32": (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), "UTF-32"),
    "UTF-16 without a mark": (TEXT.encode("utf-16-le"), "UTF-16LE"),
    "UTF-16 without a mark, the other way": (TEXT.encode("utf-16-be"), "UTF-16BE"),
    "what XML declares": (TEXT.replace("'1.0'", "'1.0' encoding='ISO-8859-15'").encode("latin-1"), "ISO-8859-15"),
    "one byte a character": (b"# Ger\xe4t\nlang de_DE\n", "WINDOWS-1252"),
}


@pytest.mark.parametrize(("content", "seems"), SEEMS.values(), ids=SEEMS)
def test_bytes_seem_to_be_of_an_encoding_and_the_command_converts_them(content: bytes, seems: str) -> None:
    with pytest.raises(NotText) as caught:
        decoded(Kind.MACHINE, content)
    said = str(caught.value)
    assert f"it seems to be {seems}: convert it: iconv -f {seems} -t UTF-8" in said
    assert ("declare no other encoding" in said) is (b"x\0m\0l" in content or b"xml" in content.replace(b"\0", b""))
    if shutil.which("iconv"):
        command = ["iconv", "-f", seems, "-t", "UTF-8"]
        done = subprocess.run(command, input=content, capture_output=True, check=True, timeout=PROGRAM_SECONDS)
        assert "Gerät" in done.stdout.decode()


def test_what_is_compressed_is_said_to_be() -> None:
    with pytest.raises(NotText, match="gunzip"):
        decoded(Kind.MACHINE, gzip.compress(b"#cloud-config\n"))


def test_of_a_damaged_text_in_utf_8_no_other_encoding_is_guessed() -> None:
    with pytest.raises(NotText) as caught:
        decoded(Kind.MACHINE, "Gerät \n".encode() + b"\xff")
    assert "seems" not in str(caught.value)


def test_a_table_is_rather_saved_again() -> None:
    with pytest.raises(NotText, match="save it as CSV UTF-8, or convert it: iconv -f WINDOWS-1252"):
        decoded(Kind.INVENTORY, b"id,role\nw1,b\xfcro\n")


def test_utf_16_that_happens_to_be_utf_8_is_named() -> None:
    text = decoded(Kind.MACHINE, "lang en_US\n".encode("utf-16-le"))
    [problem] = Document(RawDocument(Key(Kind.MACHINE, "n1", "ks"), text)).problems
    assert "NUL" in problem
    assert "iconv -f UTF-16LE" in problem


def test_a_declaration_of_xml_is_named_there_too() -> None:
    text = decoded(Kind.MACHINE, '<?xml version="1.0" encoding="utf-16"?><a/>'.encode("utf-16-le"))
    [problem] = Document(RawDocument(Key(Kind.MACHINE, "n1", "xml"), text)).problems
    assert "iconv -f UTF-16LE -t UTF-8, and let its first line declare no other encoding" in problem
