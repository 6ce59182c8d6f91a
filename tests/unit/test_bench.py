"""The benchmark's own arithmetic and bookkeeping: a figure that is wrong here is wrong everywhere it is stated."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from answerd.store.sqlite import SqliteStore
from loadtest.bench import __main__ as program
from loadtest.bench import against, installs, report, servers, shapes, throughput
from loadtest.bench.against import checked_out
from loadtest.bench.figures import Bar, Figure, Spread
from loadtest.bench.generator import Generator, Order
from loadtest.bench.load import Round, WrongAnswers, counted, paired
from loadtest.bench.processes import GENERATOR_CORE, Process
from loadtest.bench.servers import CannotStart, Server, answerd
from loadtest.bench.stores import FilesSet, SqliteSet
from loadtest.fleet import WIDE, Machine, proxmox_body, rack_document, templated_document, templated_fleet


def test_a_spread_is_the_median_and_the_outermost_rounds() -> None:
    assert Spread.of([3.0, 1.0, 2.0, 9.0, 2.5]) == Spread(2.5, 1.0, 9.0)


def test_a_ratio_is_taken_round_by_round() -> None:
    fast = [Round(200, 1.0, 0.5, 0.1), Round(20, 1.0, 0.5, 0.1), Round(400, 1.0, 0.5, 0.1)]
    slow = [Round(100, 1.0, 0.5, 0.1), Round(10, 1.0, 0.5, 0.1), Round(100, 1.0, 0.5, 0.1)]
    assert paired(fast, slow, lambda turn: turn.rate) == Spread(2.0, 2.0, 4.0)


def test_a_round_tells_cost_and_ceiling_from_cpu_time() -> None:
    turn = Round(requests=1_000, seconds=0.5, service_cpu=0.1, generator_cpu=0.05)
    assert [turn.rate, turn.cost, turn.generator_ceiling] == pytest.approx([2_000, 100, 20_000])
    assert [turn.service_busy, turn.generator_busy] == pytest.approx([0.2, 0.1])


def test_what_wrk_counts_is_read() -> None:
    assert counted("Running 2s test\nRESULT 9000 2000123 0 0 0 0 0\n") == (9_000, 2_000_123)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("RESULT 714 2000123 64 0 0 0 0\n", "of 714 answers 64 with another status"),
        ("RESULT 714 2000123 0 64 0 0 0\n", "of 714 answers 64 later than 30 s"),
        ("RESULT 714 2000123 0 0 3 2 1\n", "3 not connected, 2 broken off while they were read, 1 broken off while"),
        ("RESULT 0 2000123 0 0 0 0 0\n", "no answer in a whole round"),
        ("unable to connect\n", "wrk said 'unable to connect"),
    ],
)
def test_a_fault_that_wrk_counts_says_of_which_sort_it_is(text: str, said: str) -> None:
    with pytest.raises(WrongAnswers, match=said):
        counted(text)


def test_a_server_tells_which_statuses_it_gave_and_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    line = "2026-11-22T02:53:01Z 127.0.0.1:5 GET /ks?mac=1 body=0 {} the reason bytes=10\n"
    log.write_text("2026-11-22T02:53:00Z - answerd 0.1.0 listening\n" + line.format(503) * 2 + line.format(404))
    with Process([sys.executable, "-c", ""], GENERATOR_CORE) as process:
        told = Server(process, 1, 0.0, log=log).refusals(most=1)
        assert told == ["1 times 404", "2 times 503", line.format(404).rstrip("\n")]
        assert Server(process, 1, 0.0).refusals() == []


@pytest.mark.parametrize(
    ("bar", "value", "verdict"),
    [
        (Bar(at_least=2.0), 2.0, "met"),
        (Bar(at_least=2.0), 1.99, "MISSED"),
        (Bar(at_most=250), 250, "met"),
        (Bar(at_most=250), 251, "MISSED"),
        (None, 1, ""),
    ],
)
def test_a_bar_is_cleared_or_missed(bar: Bar | None, value: float, verdict: str) -> None:
    assert Figure("what", Spread(value, 0, 9_999), "x", bar).verdict == verdict


def test_what_is_kept_in_the_json_file_is_read_back_as_it_was(tmp_path: Path) -> None:
    figures = [
        Figure("a ratio", Spread(2.1, 2.0, 2.2), "x", Bar(at_least=2.0)),
        Figure("a cost", Spread(80, 70, 90), "µs of CPU a request", size=1_000),
        Figure("a share", Spread(9, 8, 10), "% busy", detail=True),
    ]
    first, second = report.measured("scale", figures), report.measured("cold", figures[:1])
    path = tmp_path / "build" / "bench.json"
    report.keep(first, path)
    report.keep(second, path)
    report.keep(second, path)
    assert report.kept(path) == [first, second]


def test_the_page_is_written_between_its_marks_and_the_plot_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "performance.md"
    page.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    figures = [
        Figure("templated, 10 machines", Spread(80, 70, 90), "µs of CPU a request", size=10),
        Figure("templated, 1,000 machines", Spread(81, 70, 90), "µs of CPU a request", size=1_000),
        Figure("a share", Spread(9, 8, 10), "% busy", detail=True),
    ]
    report.publish([report.measured("scale", figures)], page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "| templated, 1,000 machines | 81.0 | 70.0 to 90.0 | µs of CPU a request |  |  |" in text
    assert "old" not in text
    assert "a share" not in text
    assert "<svg" in (tmp_path / "performance.svg").read_text()


def test_groups_that_were_not_measured_again_stay_on_the_page(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    others = "".join(f"### {name}\n\nMeasured then.\n\n| {name} | 1 |\n\n" for name in ("requests", "cold", "load"))
    page.write_text(f"{report.BEGIN}\n\n- processor: a\n\n{others}{report.END}\n")
    report.publish([report.measured("cold", [Figure("colder", Spread(80, 70, 90), "s")])], page)
    report.publish([report.measured("installs", [Figure("once", Spread(80, 70, 90), "s")])], page)
    report.publish([report.measured("cold, compiled", [Figure("warm", Spread(80, 70, 90), "s")])], page)
    text = page.read_text()
    order = [
        text.index(part)
        for part in ("- processor: a", "| requests | 1 |", "| colder |", "| warm |", "| load | 1 |", "| once |")
    ]
    assert order == sorted(order)
    assert "| cold | 1 |" not in text
    # Groups are measured on different machines.
    assert text.count(f", {report.machine()['processor']}, load average ") == 3


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("nothing\n")
    with pytest.raises(ValueError, match="has no lines"):
        report.publish([], page)
    assert page.read_text() == "nothing\n"


def test_the_project_s_page_has_its_marks() -> None:
    text = (Path(__file__).parents[2] / "docs" / "performance.md").read_text("utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1


def test_a_shape_makes_the_very_request_of_each_machine() -> None:
    machine = Machine(0xABCDE)
    head, _, body = shapes.TEMPLATED_POST.request(machine).partition(b"\r\n\r\n")
    assert body == proxmox_body(machine, WIDE)
    assert f"content-length: {len(body)}".encode() in head
    assert shapes.TEMPLATED_POST.proof_of(machine) == machine.host.encode()


def test_a_wide_proxmox_body_is_3_kb() -> None:
    assert 2_900 <= len(proxmox_body(Machine(1), WIDE)) <= 3_200


def test_documents_are_as_large_as_the_bars_say() -> None:
    machine = Machine(77)
    assert 1_400 <= len(templated_document(machine)[1]) <= 1_600
    assert 1_000 <= len(rack_document(machine.rack)[1]) <= 1_600


def test_a_fleet_has_one_group_for_each_rack(tmp_path: Path) -> None:
    FilesSet(tmp_path).fill(templated_fleet(101))
    assert len(list((tmp_path / "groups").iterdir())) == 3
    assert len([path for path in tmp_path.iterdir() if path.is_file()]) == 101


def test_a_database_is_filled_and_changed_as_the_store_itself_would(tmp_path: Path) -> None:
    answers = SqliteSet(tmp_path)
    answers.fill(templated_fleet(60))
    store = SqliteStore(answers.path)
    first = store.changes()
    assert first is not None
    assert {(raw.key.kind.value, raw.key.identifier) for raw in first.added} >= {
        ("group", "rack-000001"),
        ("machine", Machine(59).identifier),
    }
    assert len(first.added) == 62
    answers.change(*templated_document(Machine(7), "-changed"))
    second = store.changes()
    assert second is not None
    assert [raw.key.identifier for raw in second.added] == [Machine(7).identifier]
    assert "-changed" in second.added[0].text
    store.close()


RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s"


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """A server that reads a request and sends these bytes, whatever it was; its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        listening.settimeout(5)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(answer)

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        serving.join(5)


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        pytest.param(RESPONSE % (13, b"node-00000000"), 2, id="another machine's answer"),
        pytest.param(RESPONSE % (39, b"node-00000000 node-00000001 node-00000002"[:39]), 1, id="cut in the proof"),
        pytest.param(RESPONSE % (41, b"node-00000000 node-00000001 node-00000002"), 0, id="everybody's"),
        pytest.param(RESPONSE % (42, b"node-00000000 node-00000001 node-00000002"), 3, id="shorter than it says"),
        pytest.param(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 3, id="503"),
        pytest.param(b"", 3, id="closed without a word"),
    ],
)
def test_the_generator_judges_every_answer(answer: bytes, wrong: int) -> None:
    shape = shapes.VERBATIM_GET
    with answering(answer) as port:
        outcome = Generator(Order(port, shape.parts, shape.proof, machines=3)).run()
    assert (outcome.requests, outcome.wrong) == (3, wrong)


def test_the_generator_keeps_its_pace_and_tells_delays() -> None:
    shape = shapes.VERBATIM_GET
    order = Order(0, shape.parts, "", machines=5, seconds=0.5, pace=100, delays=True)
    with answering(RESPONSE % (2, b"ok")) as port:
        outcome = Generator(Order(**(vars(order) | {"port": port}))).run()
    assert 20 <= outcome.requests <= 51
    assert len(outcome.delays) == outcome.requests
    assert all(0 < took < 0.5 for _, took in outcome.delays)


def test_a_process_is_on_its_core_and_ended_with_its_block() -> None:
    with Process([sys.executable, "-c", "import time; time.sleep(60)"], GENERATOR_CORE) as process:
        assert os.sched_getaffinity(process.pid) == {GENERATOR_CORE}
        assert process.cpu_seconds() >= 0
    assert process.child.returncode is not None


def test_an_unknown_group_is_named() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "loadtest.bench", "coffee"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 2
    assert "no group coffee" in ended.stderr


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_interrupted_run_leaves_no_process_and_no_directory(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "loadtest.bench", "--quick", "--json", str(tmp_path / "bench.json"), "cold"],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdout=subprocess.PIPE,
    ) as run:
        children: list[int] = []
        until = time.monotonic() + 20
        while not children and time.monotonic() < until:
            children = [int(pid) for pid in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]
        run.terminate()
        run.wait(30)
    assert children
    # One that was being started at that very moment is ended by the kernel, a moment after its parent.
    until = time.monotonic() + 20
    while any(map(is_running, children)) and time.monotonic() < until:
        time.sleep(0.01)
    assert not any(map(is_running, children))
    assert list(tmp_path.iterdir()) == []


def test_figures_are_plain_json(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    report.keep(report.measured("cold", [Figure("x", Spread(1, 1, 1), "s", Bar(at_most=20))]), path)
    figure = json.loads(path.read_text())["cold"]["figures"][0]
    assert (figure["median"], figure["bar"], figure["met"]) == (1, {"at_most": 20}, True)


def test_a_directory_without_answerd_is_named(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "loadtest.bench", "--against", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 2
    assert f"{tmp_path} is no checkout of answerd" in ended.stderr


def test_a_compiled_build_is_not_compared_with_the_sources_of_a_revision(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(servers, "CODE", [tmp_path])
    arguments = {"<revision>": "HEAD", "--quick": True, "--rounds": None, "--million": False}
    with pytest.raises(CannotStart, match="a compiled build would be compared with sources"):
        program._measured("compare", arguments)


def test_what_was_compared_with_another_checkout_is_not_published(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"{report.BEGIN}\n\n- processor: a\n\n{report.END}\n")
    monkeypatch.setattr(program, "PAGE", page)
    figures = [Figure("x", Spread(1, 1, 1), "s")]
    program._publish([report.measured(name, figures) for name in ("compare", "against", "cold", "cold, compiled")])
    assert [line for line in page.read_text().splitlines() if line.startswith("### ")] == [
        "### cold",
        "### cold, compiled",
    ]


def test_the_figures_of_a_compiled_build_have_a_name_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(servers, "CODE", [tmp_path])
    assert program._named("cold") == "cold"
    (tmp_path / "0__mypyc.cpython-311-x86_64-linux-gnu.so").touch()
    assert program._named("cold") == "cold, compiled"


def test_a_revision_that_git_does_not_know_is_named() -> None:
    with pytest.raises(CannotStart, match="git cannot check out no-such-revision"), checked_out("no-such-revision"):
        pass


@pytest.mark.parametrize(
    ("rate", "cpu", "verdicts"),
    [(96, 1.04, ("met", "met")), (94, 1.0, ("MISSED", "met")), (100, 1.06, ("met", "MISSED"))],
    ids=["within the bar", "fewer answers", "the generator is full, and a request costs more"],
)
def test_a_release_fails_where_any_ratio_lost_five_percent(rate: int, cpu: float, verdicts: tuple[str, str]) -> None:
    whats = [what for what, _, _ in against._SHAPES]
    alike = [Round(100, 1.0, 1.0, 0.1)] * 3
    turns = {f"{what}, {when}": alike for what in whats for when in ("before", "now")}
    turns[f"{whats[-1]}, now"] = [Round(rate, 1.0, cpu * rate / 100, 0.1)] * 3
    ratios = [figure for figure in against.compared(turns, against.LEAST_RATIO_OF_A_RELEASE) if figure.unit == "x"]
    assert [figure.verdict for figure in ratios] == ["met", "met"] * (len(whats) - 1) + list(verdicts)


def test_the_compiled_build_has_bars_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(servers, "CODE", [tmp_path])
    assert "answerd templated, 0.5 KB POST" not in throughput.request_bars()
    (tmp_path / "0__mypyc.cpython-311-x86_64-linux-gnu.so").touch()
    bars = throughput.request_bars()
    assert bars["answerd verbatim, GET"] == bars["answerd group + machine merged, GET"] == Bar(at_least=4.0)
    assert bars["answerd templated, 3 KB POST"] == Bar(at_least=2.0)
    assert bars["answerd templated, 0.5 KB POST"] == Bar(at_least=2.6)


def test_each_machine_with_everything_in_use_has_a_row_and_a_secret() -> None:
    documents = dict(installs.with_everything(2))
    assert [name for name in documents if name.startswith("inventory/")] == ["inventory/part-0000.csv"]
    assert documents["groups/rack-000000.toml"].startswith("once = true\n")
    assert "{{ secret.root }}" in documents["groups/rack-000000.toml"]
    assert "root+{{ id }}@" in documents[f"{Machine(1).identifier}.toml"]


def test_the_code_of_another_checkout_runs(tmp_path: Path) -> None:
    package = tmp_path / "answerd"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import os, time\n"
        "with open(os.environ['SERVICE_LOG_FILE'], 'a') as log:\n"
        "    log.write('- answerd 0 listening on 127.0.0.1:12345\\n')\n"
        "time.sleep(60)\n"
    )
    with answerd({}, checkout=tmp_path) as server:
        assert server.port == 12_345
