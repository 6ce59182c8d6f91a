"""The recipe of docs/selection.md for one machine that asks twice in one format, with the real program."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.support.service import Service

MAC = "98:fa:9b:50:d8:10"
PAGE = (Path(__file__).parents[2] / "docs" / "selection.md").read_text("utf-8")


def recipe() -> dict[str, str]:
    """The two documents as the page shows them."""
    section = PAGE.partition("### One machine that asks twice in one format")[2].partition("\n## ")[0]
    return dict(re.findall(r"^`(groups/\w+\.ipxe)`[^\n]*:\n\n```\n(.*?)```", section, re.MULTILINE | re.DOTALL))


def served(text: str) -> str:
    return re.sub("(?m)^# answer: .*\n", "", text)


def test_each_script_is_served_at_its_own_url(serving: Callable[..., Service]) -> None:
    documents = recipe()
    first, second = documents["groups/first.ipxe"], documents["groups/second.ipxe"]
    service = serving({**documents, "default.ipxe": "#!ipxe\nexit\n"})
    assert service.get(f"/ipxe?mac={MAC}").text == served(first)
    chained = re.search(r"chain http://[^/]+(?P<target>/\S+)", first)
    assert chained
    reply = service.get(chained["target"].replace("${netX/mac}", MAC))
    assert (reply.status, reply.text) == (200, served(second))
    assert service.get(f"/ipxe/secnd?mac={MAC}").text == "#!ipxe\nexit\n"


def test_one_machine_has_its_own_document_and_a_group(serving: Callable[..., Service]) -> None:
    service = serving(
        {
            "98fa9b50d810.ipxe": "#!ipxe\n# answer: match file=ipxe\necho own\n",
            "groups/own-second.ipxe": "#!ipxe\n# answer: member 98fa9b50d810\n# answer: match file=second\necho two\n",
            "98fa9b50d810.preseed": "# answer: match file=debian\nd-i preseed/include string second\n",
            "groups/own-second.preseed": "# answer: member 98fa9b50d810\n# answer: match file=second\n# two\n",
        }
    )
    assert service.get(f"/ipxe?mac={MAC}").text == "#!ipxe\necho own\n"
    assert service.get(f"/ipxe/second?mac={MAC}").text == "#!ipxe\necho two\n"
    assert service.get("/ipxe/second?mac=98:fa:9b:50:d8:11").status == 404
    assert service.get(f"/debian?mac={MAC}").text == "d-i preseed/include string second\n"
    assert service.get(f"/debian/second?mac={MAC}").text == "# two\n"
    assert service.get("/debian/second?mac=98:fa:9b:50:d8:11").status == 404


def test_a_group_that_selects_by_something_else_claims_neither_before_them(serving: Callable[..., Service]) -> None:
    other = "#!ipxe\n# answer: match serial=7* file=ipxe\necho seven\n"
    service = serving({**recipe(), "groups/a.ipxe": other})
    assert service.get("/ipxe?serial=7A").text == "#!ipxe\necho seven\n"
    assert service.get("/ipxe/second?serial=7A").text == served(recipe()["groups/second.ipxe"])
