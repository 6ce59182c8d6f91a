"""What check, diff and --explain do with rows of an inventory. Rules: docs/inventory.md#before-a-machine-asks."""

from __future__ import annotations

import pytest

from answerd.answers.catalogue import Catalogue
from answerd.answers.causes import causes
from answerd.answers.diff import compare
from answerd.answers.explain import explained, origins
from answerd.answers.sources import NO_SOURCES
from answerd.check.refusals import refusals
from tests.support.fleet import Fleet

FILES = {
    "inventory.csv": "id,mac,role\nweb-01,98:fa:9b:50:d8:10,web\nlost-07,98:fa:9b:50:d8:11,tape\nown-02,,\n",
    "groups/web.cfg": "# answer: match role=web\nlang {{ id }}\nserial {{ serial }}\n",
    "groups/all.toml": 'members = ["web-01"]\nname = "{{ id }}"\nfixed = "{{ file | default(\'x\') }}"\n',
    "own-02.ks": "lang {{ id }}\n",
    "default.ks": "lang {{ id | default('none') }}\n",
}


def test_check_tries_each_row_in_each_format_that_a_document_claims_it_in(fleet: Fleet) -> None:
    report = fleet.write(FILES).check()
    assert report.problems == ()
    assert report.rendered == 4  # web-01 as cfg and toml, own-02.ks, default.ks
    notes = [note for note in report.notes if "csv" in note]
    assert notes == [
        "inventory.csv:2, web-01 (cfg): not tried whole, only a request has the fact 'serial', which its row lacks: "
        "a machine that does not say it gets a 500",
        "inventory.csv:3: nothing but a default claims this row",
        "inventory.csv:4 has no MAC address, serial number or UUID: only a request that says the name finds it; "
        "answerd adopt --free gives it the hardware of machines that ask",
    ]
    assert not [note for note in report.notes if "selects by match" in note]


def test_a_row_without_an_id_that_a_document_needs_is_said_to_have_none(fleet: Fleet) -> None:
    files = {
        "inventory.csv": "mac,role\n98:fa:9b:50:d8:10,web\n",
        "groups/web.cfg": "# answer: match role=web\n{{ id }}\n",
    }
    assert fleet.write(files).check().notes == (
        "inventory.csv:2, 98fa9b50d810 (cfg): not tried whole, only a request has the fact 'id', which its row lacks, "
        "and nothing is known to send it: a machine that does not say it gets a 500. Give it a value in a table, or a "
        'default("…"); name it in a match where a boot script sends it',
    )


def test_a_name_that_is_no_id_is_a_fault_whose_sentence_says_what_to_do_and_that_does(fleet: Fleet) -> None:
    web = "# answer: match role=web\nhost {{ id }}\n"
    fleet.write({"inventory.csv": "id,mac,role\nPC 7,98:fa:9b:50:d8:10,web\n", "groups/web.cfg": web})
    (problem,) = [one for one in fleet.check().problems if one.startswith("inventory.csv:2: ")]
    assert problem.endswith("; or call the column name, and write {{ name | slug }} in documents")
    advised = {
        "inventory.csv": "name,mac,role\nPC 7,98:fa:9b:50:d8:10,web\n",
        "groups/web.cfg": web.replace("id", "name | slug"),
    }
    assert fleet.write(advised).check().problems == ()
    assert fleet.text("/cfg?mac=98:fa:9b:50:d8:10").startswith("host pc-7")


def test_a_group_that_no_row_meets_is_named_as_not_tried(fleet: Fleet) -> None:
    report = fleet.write({**FILES, "inventory.csv": "id,role\nlost-07,tape\n"}).check()
    assert 'group "web" (cfg): selects by match, so it was not tried: no row has its value of role' in report.notes


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        ("raum=1", ": no table has a column raum"),
        ("os=ubuntu", ": no table has a column os; a boot script must send it"),
        ("os=ubuntu\n# answer: match dept=lab", ": no row has its value of dept"),
        ("product=R750", ""),
        ("site=a", ""),
    ],
)
def test_a_group_that_is_not_tried_has_the_reason(fleet: Fleet, criterion: str, reason: str) -> None:
    report = fleet.write(
        {
            "inventory.csv": "id,dept\nweb-01,er\n",
            "groups/g.ks": f"# answer: match {criterion}\nlang C\n",
            "groups/l.ipxe": "#!ipxe\n# answer: match dept=er\nchain http://192.0.2.1/ks?site=a\n",
        }
    ).check()
    assert f'group "g" (ks): selects by match, so it was not tried{reason}' in report.notes


def test_a_finding_that_differs_only_in_the_row_is_one_cause(fleet: Fleet) -> None:
    rows = "".join(f"pc-{number},{'er' if number % 2 else 'icu'}\n" for number in range(6))
    install = "autoinstall:\n  version: 1\n  identity: {hostname: '{{ id }}', password: $6$a$b}\n"
    groups = {dept: f"#cloud-config\nmatch: {{dept: {dept}}}\n{install}" for dept in ("er", "icu")}
    documents = {f"groups/{dept}.yaml": text for dept, text in groups.items()}
    before = fleet.write({"inventory.csv": f"id,dept\n{rows}"}).loader.catalogue
    report = fleet.write(documents).check()
    missing = [problem for problem in report.problems if "identity.username is missing" in problem]
    assert len(missing) == 6
    found = list(causes(missing, report.machines))
    assert [(len(cause.alike), len(cause.machines)) for cause in found] == [(3, 3), (3, 3)]
    assert not any("inventory.csv" in cause.rest for cause in found)
    refused = refusals(before, fleet.loader.catalogue, NO_SOURCES)
    assert [one.answers for one in refused if "identity.username is missing" in one.cause] == [3, 3]


def test_what_fails_for_a_row_is_a_problem_that_names_it(fleet: Fleet) -> None:
    report = fleet.write({**FILES, "groups/all.toml": 'members = ["web-01"]\nx = "{{ role | colons }}"\n'}).check()
    (problem,) = report.problems
    assert problem.startswith("inventory.csv:2, web-01 (toml): ")


def test_a_member_whose_row_has_a_fault_is_tried_by_its_name(fleet: Fleet) -> None:
    report = fleet.write(
        {
            "inventory.csv": "id,mac\nweb-01,98:fa:9b:50:d8:10\nweb-02,98:fa:9b:50:d8:11,x\n",
            "groups/all.toml": 'members = ["web-01", "web-02"]\nname = "x"\n',
        }
    ).check()
    assert report.problems == ("inventory.csv:3: has 3 cells, and the header has 2 columns",)
    assert report.rendered == 2


def test_a_value_from_a_row_has_the_place_of_the_row(fleet: Fleet) -> None:
    catalogue = fleet.write(FILES).loader.catalogue
    answer = fleet.ask("/pve/web-01")
    found = {origin.key: origin.row for origin in origins(answer, catalogue.inventory)}
    assert found == {"name": "inventory.csv:2", "fixed": None}
    assert "inventory.csv:2" in explained(answer, catalogue.inventory).splitlines()[0]


def test_braces_that_are_text_have_no_row(fleet: Fleet) -> None:
    fleet.write({**FILES, "groups/all.toml": 'members = ["web-01"]\ntemplate = false\nname = "{{ id }}"\n'})
    (origin,) = origins(fleet.ask("/pve/web-01"), fleet.loader.catalogue.inventory)
    assert origin.row is None


def differences(before: Catalogue, after: Catalogue) -> list[tuple[str, str]]:
    """Whose answers differ, and how."""
    return [(difference.name, difference.change) for difference in compare(before, after).differences]


def test_a_changed_row_is_a_changed_answer(fleet: Fleet) -> None:
    before = fleet.write(FILES).loader.catalogue
    text = FILES["inventory.csv"].replace(",tape", ",web").replace("web-01,98", "web-01 ,98")
    assert differences(before, fleet.write({"inventory.csv": text}).loader.catalogue) == [("lost-07 (cfg)", "new")]
    fleet.write({"inventory.csv": FILES["inventory.csv"], "groups/web.cfg": "# answer: match role=web\n{{ mac }}\n"})
    before = fleet.loader.catalogue
    text = FILES["inventory.csv"].replace("d8:10", "d8:20")
    assert differences(before, fleet.write({"inventory.csv": text}).loader.catalogue) == [("web-01 (cfg)", "changed")]
