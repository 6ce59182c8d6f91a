"""Ubuntu's own JSON schema of autoinstall judges every autoinstall that the examples and the documentation serve.

The schema is in subiquity's source, which Debian does not package: INSTALLER_SOURCES names a directory with a checkout.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from answerd.answers.resolve import resolve
from answerd.answers.sources import Sources
from answerd.commands.documents import configured_sources
from answerd.facts import Facts, Request
from answerd.store.files import FileStore
from answerd.store.loader import loaded
from tests.installers.conftest import SYSTEM_PYTHON, installer_source
from tests.support.service import write_tree
from tests.support.waiting import PROGRAM_SECONDS

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[2]
LAB = ROOT / "examples" / "lab"
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)

JUDGE = """
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
judge = jsonschema.Draft7Validator(schema)
given = json.load(sys.stdin)
print(json.dumps({name: [error.message for error in judge.iter_errors(one)] for name, one in given.items()}))
"""


def judged(documents: dict[str, str]) -> dict[str, list[str]]:
    """What subiquity says of each document: of all that is below ``autoinstall``."""
    schema = installer_source("subiquity") / "autoinstall-schema.json"
    given = {name: yaml.safe_load(text)["autoinstall"] for name, text in documents.items()}
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", JUDGE, schema],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip("the schema needs a validator: apt install python3-jsonschema")
    assert done.returncode == 0, done.stderr
    said: dict[str, list[str]] = json.loads(done.stdout)
    return said


def blocks() -> dict[str, str]:
    """Every machine's document in the documentation that has an autoinstall, by page and place.

    Those of groups belong to the tutorials (tests/unit/test_tutorials.py)."""
    found = {}
    for page in sorted((ROOT / "docs").glob("**/*.md")):
        for number, text in enumerate(BLOCK.findall(page.read_text("utf-8"))):
            if re.search(r"^autoinstall:", text, re.MULTILINE) and not re.search(r"^match:", text, re.MULTILINE):
                found[f"{page.relative_to(ROOT)}:{number}"] = text
    return found


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    """The secrets of the lab, and a place for states that is never written."""
    monkeypatch.setenv("SERVICE_STATE_PATH", "/nowhere/state.db")
    monkeypatch.setenv("SERVICE_SECRETS_DIR", str(LAB / "secrets"))
    return configured_sources(by_directory=True)


def served(answers: Path, sources: Sources, names: list[str]) -> dict[str, str]:
    """The user-data of machines, with all layers."""
    catalogue = loaded(FileStore(answers), has_states=True)
    return {
        name: resolve(catalogue, Facts(Request(f"/ubuntu/{name}/user-data")), sources=sources).body.decode()
        for name in names
    }


def test_the_schema_refuses_what_is_no_autoinstall() -> None:
    assert judged({"x": "autoinstall: {identity: {hostname: x}}"})["x"]


def test_what_the_documentation_serves(sources: Sources, tmp_path: Path) -> None:
    answers: dict[str, str] = {}
    for name, block in blocks().items():
        folder = tmp_path / name.replace("/", "-")
        folder.mkdir()
        write_tree(folder, {"node1.yaml": block})
        answers |= {name: served(folder, sources, ["node1"])["node1"]}
    assert answers
    assert {name: errors for name, errors in judged(answers).items() if errors} == {}


def test_what_the_examples_serve(sources: Sources) -> None:
    rows = csv.DictReader(line for line in (LAB / "answers/inventory.csv").open() if not line.startswith("#"))
    machines = [row["id"] for row in rows if row["os"] == "ubuntu"]
    assert machines
    answers = served(LAB / "answers", sources, machines)
    answers |= served(ROOT / "examples" / "answers", sources, ["web-01"])
    assert {name: errors for name, errors in judged(answers).items() if errors} == {}
