"""What `scripts/bench rivals` starts, compares and writes into docs/performance.md."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from loadtest.bench import rival_documents, rival_servers, rivals, shapes
from loadtest.bench.figures import Bar, Figure, Spread
from loadtest.bench.load import Contestant, Round
from loadtest.bench.report import Group
from loadtest.bench.rival_servers import Rival
from loadtest.bench.rival_table import BEGIN, END, cells, labels, published
from loadtest.bench.rivals import OURS_GET, OURS_POST, Entry
from loadtest.bench.servers import Server
from loadtest.fleet import Machine

MACHINES = [Machine(number) for number in range(3)]
PAGES = Path(__file__).parents[2] / "loadtest" / "rivals"
NOWHERE = Server(None, 1, 0.0)  # type: ignore[arg-type]


# --- what is installed -----------------------------------------------------------------------------------------------


def test_a_module_is_looked_for_in_the_rivals_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rival_servers, "PYTHON", tmp_path / "python")
    assert not rival_servers.is_installed("json")
    monkeypatch.setattr(rival_servers, "PYTHON", Path(sys.executable))
    assert rival_servers.is_installed("json")
    assert not rival_servers.is_installed("no_such_rival")


def test_each_rival_that_is_not_installed_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rival_servers, "RIVALS", tmp_path)
    monkeypatch.setattr(rival_servers, "PYTHON", tmp_path / "bin" / "python")
    assert [rival.name for rival in rival_servers.ALL if str(tmp_path) not in rival.missing()] == []


def test_a_rival_that_is_not_installed_is_named_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def never(data: Path, machines: Sequence[Machine]) -> Iterator[Server]:
        raise AssertionError((data, machines))
        yield NOWHERE

    asked = rivals._Asked(Rival("slowd", never, lambda: "a program"), shapes.MATCHBOX_GET, "GET")
    monkeypatch.setattr(rivals, "_ASKED", (asked,))
    with ExitStack() as running:
        assert list(rivals._theirs(running)) == []
    assert capsys.readouterr().err == "missing: slowd: it needs a program (loadtest/rivals/README.md)\n"


def test_each_rival_is_asked_and_has_a_page() -> None:
    assert {asked.rival.name for asked in rivals._ASKED} == {rival.name for rival in rival_servers.ALL}
    index = (PAGES / "README.md").read_text("utf-8")
    named = [line.split(" | ") for line in index.splitlines() if line.startswith("| ")][1:]
    pages = {cell[0].removeprefix("| "): cell[1].partition("](")[2].removesuffix(")") for cell in named}
    assert {rival.name for rival in rival_servers.ALL} <= pages.keys()
    assert {path.name for path in PAGES.glob("*.md")} == {*pages.values(), "README.md"}


# --- what they answer from -------------------------------------------------------------------------------------------


def test_the_rivals_table_and_template_give_each_machine_its_own_answer(tmp_path: Path) -> None:
    rival_documents.write_table(tmp_path, MACHINES)
    text = (tmp_path / "answer.j2").read_text("utf-8")
    assert MACHINES[0].host not in text
    assert "{{ host }}" in text
    assert json.loads((tmp_path / "machines.json").read_text("utf-8"))[MACHINES[2].mac]["host"] == MACHINES[2].host


def test_matchbox_has_a_group_for_each_machine(tmp_path: Path) -> None:
    rival_documents.write_matchbox(tmp_path, MACHINES)
    groups = [json.loads(path.read_text("utf-8")) for path in sorted((tmp_path / "groups").iterdir())]
    assert [group["selector"] for group in groups] == [{"mac": machine.mac} for machine in MACHINES]
    assert [group["metadata"]["host"] for group in groups] == [machine.host for machine in MACHINES]
    assert "set-hostname {{.host}}\n" in (tmp_path / "generic" / "lab.ks").read_text("utf-8")


def test_autopve_has_an_answer_for_each_machine_over_a_default(tmp_path: Path) -> None:
    rival_documents.write_autopve(tmp_path / "data", MACHINES)
    (answers,) = json.loads((tmp_path / "data" / "storage-general.json").read_text("utf-8")).values()
    assert answers["Default"]["disk-setup"]["zfs"]["raid"] == "raid1"
    assert answers[MACHINES[1].host]["must_contain"] == [MACHINES[1].mac.upper()]
    assert answers[MACHINES[1].host]["global"]["fqdn"].startswith(MACHINES[1].host)


def test_cobbler_has_a_system_for_each_machine_and_a_port_of_its_own(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    for name in ("etc/cobbler", "var/lib/cobbler/templates"):
        (installed / name).mkdir(parents=True)
    (installed / "etc/cobbler/settings.yaml").write_text("server: 127.0.0.1\nxmlrpc_port: 25151\n", "utf-8")
    rival_documents.write_cobbler(tmp_path, installed, MACHINES, 4711)
    assert "xmlrpc_port: 4711\n" in (tmp_path / "etc" / "settings.yaml").read_text("utf-8")
    systems = sorted((tmp_path / "lib" / "collections" / "systems").iterdir())
    assert [path.stem for path in systems] == [machine.serial for machine in MACHINES]
    assert json.loads(systems[2].read_text("utf-8"))["autoinstall_meta"]["host"] == MACHINES[2].host
    template = (tmp_path / "lib" / "templates" / "lab.ks").read_text("utf-8")
    assert "set-hostname ${host}\n" in template
    assert "\\$6\\$MadeUpSalt" in template  # else Cheetah looks for names there


def test_pxe_pilot_listens_on_the_port_that_it_is_given(tmp_path: Path) -> None:
    rival_documents.write_pxe_pilot(tmp_path, MACHINES, 4711)
    configuration = json.loads((tmp_path / "pxe-pilot.yml").read_text("utf-8"))
    assert configuration["server"] == {"port": 4711}
    assert len(configuration["hosts"]) == len(MACHINES)


def test_proxmox_example_server_has_a_file_for_each_machine(tmp_path: Path) -> None:
    rival_documents.write_answers(tmp_path, MACHINES)
    answer = tomllib.loads((tmp_path / "answers" / f"{MACHINES[1].mac}.toml").read_text("utf-8"))
    assert answer["global"]["fqdn"] == MACHINES[1].host


# --- how they are asked ----------------------------------------------------------------------------------------------


def test_of_each_group_that_claims_one_machine_asks_at_once() -> None:
    for contestant, asking in (
        (Contestant("", NOWHERE, shapes.TEMPLATED_POST, 1_000), 1_000),
        (Contestant("", NOWHERE, shapes.SELECTED_POST, 50_000, 50), 1_000),
    ):
        order = rivals.order_at_once(contestant)
        assert len(range(0, order.machines, order.step)) == order.connections == asking


def test_of_a_slow_rival_a_hundred_machines_ask_in_a_round() -> None:
    for fleet in (100, 1_000):
        order = Entry(Contestant("", NOWHERE, shapes.MATCHBOX_GET, fleet), 0.0, asking=100)._pass()
        assert len(range(0, order.machines, order.step)) == 100
        assert order.seconds == 0


# --- what is said of them --------------------------------------------------------------------------------------------


def entry(label: str, *, makes_answers: bool = False) -> Entry:
    return Entry(Contestant(label, NOWHERE, shapes.ALIKE_GET), 0.0, makes_answers)


def rounds(rate: int) -> list[Round]:
    return [Round(rate, 1.0, 1.0, 0.1)] * 3


def test_the_bar_is_about_the_fastest_that_makes_an_answer_under_the_same_request() -> None:
    rates = {
        OURS_POST: 600,
        OURS_GET: 900,
        "hello, 3 KB POST": 5_000,
        "slowd, 3 KB POST": 100,
        "fastd, 3 KB POST": 500,
        "getd, GET": 300,
    }
    entries = [entry(label, makes_answers=label.partition(",")[0] in ("slowd", "fastd", "getd")) for label in rates]
    figures = rivals.compared(entries, {label: rounds(rate) for label, rate in rates.items()})
    judged = {figure.what: (figure.value.median, figure.verdict) for figure in figures if figure.bar}
    what = "the fastest that makes an answer from documents"
    assert judged == {
        f"{OURS_POST} / {what} (fastd, 3 KB POST)": (1.2, "MISSED"),
        f"{OURS_GET} / {what} (getd, GET)": (3.0, "met"),
    }


def figures_of(label: str) -> list[Figure]:
    return [
        Figure(label, Spread(5_000, 4_000, 6_000), "requests/s"),
        Figure(label, Spread(200, 190, 210), "µs of CPU a request"),
        Figure(f"{label}: core of the service", Spread(99, 98, 100), "% busy", detail=True),
        Figure(f"{OURS_GET} / {label}", Spread(3, 2, 4), "x"),
        Figure(f"{OURS_GET} / {label}, by CPU time", Spread(5, 2, 4), "x"),
        Figure(f"{label}, 1,000 machines at once: 99 % have their answer after", Spread(70, 60, 80), "ms"),
        Figure(f"{label}, 1,000 machines at once: refused, reset or wrong", Spread(0, 0, 0), "requests"),
        Figure(f"{label}: memory of all processes", Spread(40, 40, 40), "MB"),
        Figure(f"{label}: from its start until its first answer", Spread(0.5, 0.5, 0.5), "s"),
    ]


def test_the_table_has_a_line_of_all_figures_for_each_contestant() -> None:
    figures = [*figures_of("slowd, 100 groups, GET"), *figures_of("slowd, GET")]
    assert labels(figures) == ["slowd, 100 groups, GET", "slowd, GET"]
    for label in labels(figures):
        assert cells(label, figures) == ["5,000", "200", "3.00 x", "1,000", "70.0 ms", "0", "40.0 MB", "0.50 s"]


def test_the_page_keeps_the_table_of_the_build_that_was_not_measured_again() -> None:
    machine = {"processor": "some Xeon", "load average": "1.00"}
    judged = Figure("ours / theirs", Spread(2, 2, 2), "x", Bar(at_least=1.5))
    page = f"before\n{BEGIN}\n{END}\nafter\n"
    first = published([Group("rivals", "then", machine, [*figures_of("slowd, GET"), judged])], page)
    both = published([Group("rivals, compiled", "later", machine, figures_of("fastd, GET"))], first)
    again = published([Group("rivals, compiled", "last", machine, figures_of("fastd, GET"))], both)
    assert both.startswith(first.partition(END)[0].rstrip())
    assert again == both.replace("later", "last")
    assert "**Interpreted, then**, some Xeon, load average 1.00:" in both
    assert "ours / theirs: 2.00 (bar ≥ 1.5, met)." in both
    assert both.startswith("before\n")
    assert both.endswith("\nafter\n")


def test_a_page_without_a_place_for_it_is_left_alone() -> None:
    assert published([Group("rivals", "then", {}, figures_of("slowd, GET"))], "a page\n") == "a page\n"
