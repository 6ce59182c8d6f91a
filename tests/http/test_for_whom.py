"""The log line of an answer that no machine document names says who it was for (docs/running.md#the-log)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.support.service import Service, write_tree

FILES = {
    "groups/dell.toml": 'match.product = "R640"\nx = 1\n',
    "default.ks": "lang fr_FR\n",
    "525400000001.toml": "x = 2\n",
    "inventory.csv": "id,mac\nweb-01,98:fa:9b:50:d8:11\n,98:fa:9b:50:d8:12\n",
}
MAC = "98:fa:9b:50:d8:10"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    answers = tmp_path_factory.mktemp("answers")
    write_tree(answers, FILES)
    with Service(SERVICE_ANSWERS_DIR=answers) as running:
        yield running


@pytest.mark.parametrize(
    ("ask", "outcome"),
    [
        pytest.param(
            lambda service: service.get(f"/pve?product=R640&mac={MAC}&n=1"),
            f"n=1 body=0 200 format=toml group=dell for mac={MAC} bytes=6",
            id="a group that selects",
        ),
        pytest.param(
            lambda service: service.post("/pve?n=2", json.dumps({"product": "R640", "nics": [{"mac": MAC}]}).encode()),
            f"200 format=toml group=dell for mac={MAC} bytes=6",
            id="a JSON body",
        ),
        pytest.param(
            lambda service: service.get("/ks?n=3", X_System_Serial_Number="7ABC123"),
            "n=3 body=0 200 format=text default for serial=7ABC123 bytes=11",
            id="a serial number",
        ),
        pytest.param(
            lambda service: service.get("/pve?mac=52:54:00:00:00:01&n=4"),
            "n=4 body=0 200 format=toml machine=525400000001 bytes=6",
            id="a machine document names the machine already",
        ),
        pytest.param(
            lambda service: service.get("/ks?mac=98fa9b50d811&n=6"),
            "n=6 body=0 200 format=text default for web-01 bytes=11",
            id="a row of an inventory",
        ),
        pytest.param(
            lambda service: service.get("/ks?mac=98-fa-9b-50-d8-12&n=7"),
            "n=7 body=0 200 format=text default for 98fa9b50d812 bytes=11",
            id="a row without an id",
        ),
        pytest.param(
            lambda service: service.get("/ks?n=5"), "n=5 body=0 200 format=text default bytes=11", id="it says nothing"
        ),
    ],
)
def test_an_answer_without_a_machine_document_says_who_it_was_for(
    service: Service, ask: Callable[[Service], object], outcome: str
) -> None:
    ask(service)
    assert service.wait_for_log(outcome.replace("?", r"\?")).endswith(outcome.rpartition(" body=")[2])
