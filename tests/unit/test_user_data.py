"""What a text of user-data is to cloud-init, and how it is read where people look at it."""

from __future__ import annotations

import pytest

from answerd.answers.redaction import redacted
from answerd.formats.origins import MARKINGS
from answerd.formats.user_data import kind_of

KINDS = {
    "#cloud-config\n": "a cloud-config",
    "\n\t \n#CLOUD-config-of-mine": "a cloud-config",
    "#cloud-config-archive\n- a\n": "a cloud-config archive",
    "#cloud-config-jsonp\n[]\n": "a JSON patch",
    "#!/bin/sh\n": "a script",
    "#include http://a\n": "a list of URLs",
    "## template: jinja\n": "a template of cloud-init",
    "MIME-Version: 1.0\n\n": "a MIME message",
    "Subject: x\nMime-version: 1.0\n\n": "a MIME message",
    "content-type: multipart/mixed;\n boundary=x\n\n": "a MIME message",
    "# a comment\n#cloud-config\n": None,
    "##template: jinja\n": None,
    "# include\n": None,
    "a: 1\nb: 2\n": None,
    "content-type: text/plain\n\nMIME-Version: 1.0\n": None,
    "key:\n- MIME-Version: 1.0\n": None,
    "": None,
}


@pytest.mark.parametrize(("text", "described"), KINDS.items())
def test_the_kind_of_a_text(text: str, described: str | None) -> None:
    kind = kind_of(text)
    assert (kind and kind.described) == described


def test_the_lines_of_a_script_are_its_values() -> None:
    marking = MARKINGS["yaml"]
    leaves = list(marking.leaves(marking.mark("#!/bin/sh\n# answer: once\n\necho a\n", 3)))
    assert [(leaf.path, leaf.layer, leaf.line, leaf.text) for leaf in leaves] == [
        (("1",), 3, 1, "#!/bin/sh"),
        (("2",), 3, 3, ""),
        (("3",), 3, 4, "echo a"),
    ]


def test_of_a_script_only_the_secret_is_hidden() -> None:
    text = "#!/bin/sh\necho 'root:Hunter2Hunter2' | chpasswd\necho 'a: b' > /etc/x\n"
    shown = redacted(text, "yaml")
    assert "Hunter2" not in shown
    assert "echo 'a: b' > /etc/x" in shown
