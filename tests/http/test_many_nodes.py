"""Nodes on one PostgreSQL database, as the real program: docs/many-nodes.md."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from answerd import __version__
from answerd.store.postgres_connection import PostgresServer
from answerd.store.tables import execute
from tests.support.console import Browser
from tests.support.disks import fill
from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.replies import Reply
from tests.support.service import Service, run, write_tree
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(binaries() is None, reason=MISSING)

TOKEN = "0123456789abcdef"
AWAY = "postgresql://answerd@127.0.0.1:1/none"


@pytest.fixture(scope="module")
def one_cluster() -> Iterator[Cluster]:
    with clusters() as parent:
        made = Cluster(home_of(parent, "primary")).start()
        yield made
        made.stop(signal.SIGQUIT)


@pytest.fixture
def cluster(one_cluster: Cluster) -> Cluster:
    """A running cluster, which a test may stop. Each makes a database of its own."""
    return one_cluster if one_cluster.process is not None else one_cluster.start()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a node: ``node(name, url, SERVICE_…=value)``; its replica has its name."""
    running: list[Service] = []

    def start(name: str, url: str, **settings: object) -> Service:
        service = Service(
            SERVICE_STORE="postgres",
            SERVICE_DB_URL=url,
            SERVICE_REPLICA_PATH=tmp_path / f"{name}.db",
            SERVICE_ADMIN_ADDR="127.0.0.1:0",
            SERVICE_ADMIN_TOKEN=TOKEN,
            **settings,
        )
        running.append(service)
        return service

    yield start
    for service in running:
        with service:
            pass


def text_of(service: Service) -> str:
    return "\n".join(service.log)


def put(service: Service, name: str, text: str) -> int:
    reply = service.ask_admin("PUT", f"/machines/{name}?format=ks", text.encode(), Authorization=f"Bearer {TOKEN}")
    return reply.status


def answer(service: Service, name: str) -> tuple[int, bytes]:
    reply = service.get(f"/ks?mac={name}")
    return reply.status, reply.body


def scraped(service: Service) -> dict[tuple[str, ...], float]:
    """What the metrics say, by name and the values of the labels."""
    text = service.ask_admin("GET", "/metrics", Authorization=f"Bearer {TOKEN}").text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def gives(service: Service, expected: tuple[int, bytes]) -> bool:
    return answer(service, "aabbccddee01") == expected


def test_a_write_is_in_force_at_once_on_its_node_and_soon_on_the_others(
    cluster: Cluster, node: Callable[..., Service]
) -> None:
    url = cluster.database()
    first, second = node("first", url, SERVICE_WORKERS=2), node("second", url)
    for number in range(5):
        assert put(first, "aabbccddee01", f"# {number}\n") == 200
        assert {answer(first, "aabbccddee01") for _ in range(6)} == {(200, f"# {number}\n".encode())}
        expected = (200, f"# {number}\n".encode())
        wait_until(partial(gives, second, expected))


def test_answers_go_on_while_the_database_is_away_and_writes_say_when_to_come_back(
    cluster: Cluster, node: Callable[..., Service]
) -> None:
    service = node("only", cluster.database())
    assert put(service, "aabbccddee01", "# kept\n") == 200
    cluster.stop(signal.SIGQUIT)
    assert answer(service, "aabbccddee01") == (200, b"# kept\n")
    refused = service.ask_admin("PUT", "/machines/aabbccddee02?format=ks", b"# new\n", Authorization=f"Bearer {TOKEN}")
    assert refused.status == 503
    assert refused.headers["retry-after"] == "5"
    assert "postgresql://127.0.0.1" in json.loads(refused.body)["error"]
    assert answer(service, "aabbccddee01") == (200, b"# kept\n")
    assert service.get("/ready").status == 200
    cluster.start()
    wait_until(lambda: put(service, "aabbccddee02", "# new\n") == 200)
    assert answer(service, "aabbccddee02") == (200, b"# new\n")


def test_a_node_that_starts_without_the_database_answers_from_its_replica(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    with node("kept", cluster.database()) as before:
        assert put(before, "aabbccddee01", "# kept\n") == 200
    service = node("kept", AWAY)
    assert answer(service, "aabbccddee01") == (200, b"# kept\n")
    assert service.get("/ready").status == 200


def test_a_node_without_database_and_replica_is_not_ready_and_says_so(node: Callable[..., Service]) -> None:
    service = node("new", AWAY)
    wait_until(
        lambda: (
            b"there is no set yet: the database postgresql://127.0.0.1:1/none cannot be reached"
            in service.get("/ready").body
        )
    )
    assert service.get("/ready").status == 503
    assert answer(service, "aabbccddee02")[0] == 503
    service.wait_for_log("aabbccddee02")  # so the lines of /ready before it are in the log too
    probes = [line for line in service.log if "GET /ready" in line]
    assert sum("cannot be reached" in line for line in probes) == 1
    assert "503 not ready, as before" in probes[-1]
    assert answer(service, "aabbccddee01")[0] == 503
    assert service.get("/health").status == 200
    samples = scraped(service)
    assert samples["answerd_ready",] == 0
    assert ("answerd_set_age_seconds",) not in samples, "the age of what is not there"


def test_the_replicator_is_replaced_when_it_dies(cluster: Cluster, node: Callable[..., Service]) -> None:
    url = cluster.database()
    first, second = node("first", url), node("second", url)
    os.kill(second.children()[-1], signal.SIGKILL)
    wait_until(lambda: "replicator died" in text_of(second))
    assert put(first, "aabbccddee01", "# after\n") == 200
    wait_until(lambda: answer(second, "aabbccddee01") == (200, b"# after\n"))


IPXE = "#!ipxe\n# answer: once\nkernel vmlinuz {{ report }}\n"
MACHINE = "/ipxe?mac=aabbccddee01"


def install(service: Service) -> str:
    """Ask for the script of a machine; return the path by which it reports."""
    found = re.search(r"/report/[\w.-]+", service.get(MACHINE).text)
    assert found is not None
    return found[0]


def is_refused(service: Service) -> bool:
    return "is installed" in service.get(MACHINE).text


def order(service: Service, verb: str) -> int:
    target = f"/installs/aabbccddee01/{verb}"
    return service.ask_admin("POST", target, Authorization=f"Bearer {TOKEN}").status


def put_script(service: Service) -> None:
    target = "/machines/aabbccddee01?format=ipxe"
    assert service.ask_admin("PUT", target, IPXE.encode(), Authorization=f"Bearer {TOKEN}").status == 200


def metric(service: Service, name: str) -> float:
    text = service.ask_admin("GET", "/metrics", Authorization=f"Bearer {TOKEN}").text
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    assert found is not None
    return float(found[1])


def test_a_report_to_one_node_closes_the_machines_gates_at_every_node(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    first, second = node("first", url, SERVICE_WORKERS=2), node("second", url)
    put_script(first)
    wait_until(lambda: second.get(MACHINE).status == 200)
    report = install(first)
    assert install(second) == report
    assert first.post(f"{report}/installed", b"").status == 200
    assert [is_refused(first) for _ in range(6)] == [True] * 6  # in every worker, at once
    wait_until(lambda: is_refused(second))
    assert order(second, "arm") == 200
    assert not is_refused(second)
    wait_until(lambda: not is_refused(first))
    wait_until(lambda: install(first) != report)
    record = json.loads(first.ask_admin("GET", "/installs/aabbccddee01", Authorization=f"Bearer {TOKEN}").body)
    assert [event["event"] for event in record["events"]].count("installed") == 1

    cluster.stop(signal.SIGQUIT)
    assert first.post(f"{install(first)}/installed", b"").status == 200
    assert is_refused(first)
    assert order(first, "arm") == 200  # as events do, it counts here and is delivered later
    assert not is_refused(first)
    settings: dict[str, Any] = {"SERVICE_STORE": "postgres", "SERVICE_REPLICA_PATH": tmp_path / "first.db"}
    ordered = run("disarm", "aabbccddee01", SERVICE_DB_URL=url, **settings)
    assert (ordered.returncode, ordered.stdout) == (0, b"aabbccddee01 disarmed\n"), ordered.stderr
    assert b"of this node for the database, which its service delivers" in ordered.stderr
    assert is_refused(first)
    elsewhere = run("disarm", "aabbccddee01", **settings | {"SERVICE_DB_URL": url, "SERVICE_REPLICA_PATH": "none.db"})
    assert (elsewhere.returncode, b"cannot be reached" in elsewhere.stderr) == (1, True)
    assert metric(first, "answerd_outbox_messages") > 0
    first.process.kill()  # before anything is delivered
    first.process.wait(PATIENCE)
    again = node("first", url)
    assert is_refused(again)
    assert again.get("/ready").status == 200
    cluster.start()
    wait_until(lambda: is_refused(second))
    wait_until(lambda: metric(again, "answerd_outbox_messages") == 0)


def set_schema(url: str, difference: int) -> None:
    """Have the database look as if another version of the program had migrated it."""
    with PostgresServer(url).connected() as database:
        execute(database, "UPDATE schema_version SET version = version + %s", (difference,))


def test_a_node_does_not_start_on_a_schema_newer_than_its_program(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    with node("only", url) as before:
        assert put(before, "aabbccddee01", "# old\n") == 200
    set_schema(url, +1)
    for database in (url, AWAY):  # without the database too: it is known from the start before
        refused = run(
            "serve",
            SERVICE_STORE="postgres",
            SERVICE_DB_URL=database,
            SERVICE_REPLICA_PATH=tmp_path / "only.db",
            SERVICE_LISTEN_ADDR="127.0.0.1:0",
        )
        assert refused.returncode == 1
        assert b"use the newer version" in refused.stderr
    set_schema(url, -1)
    assert answer(node("only", url), "aabbccddee01") == (200, b"# old\n")


def test_a_node_that_meets_a_newer_schema_while_it_runs_answers_and_takes_no_write(
    cluster: Cluster, node: Callable[..., Service]
) -> None:
    url = cluster.database()
    service = node("only", url, SERVICE_WORKERS=2)
    put_script(service)
    report = install(service)
    set_schema(url, +1)
    assert order(service, "disarm") == 503  # at once, before the replicator has looked
    assert put(service, "aabbccddee02", "# new\n") == 503
    wait_until(lambda: all(service.get("/ready").status == 503 for _ in range(6)))
    assert "schema version" in service.get("/ready").text
    assert service.get(MACHINE).status == 200
    reported = service.post(f"{report}/installed", b"")
    assert (reported.status, reported.headers["retry-after"]) == (503, "5")
    assert not is_refused(service)
    service.wait_for_log("answers come from the replica")
    set_schema(url, -1)
    wait_until(lambda: all(service.get("/ready").status == 200 for _ in range(6)))
    assert service.post(f"{report}/installed", b"").status == 200
    assert put(service, "aabbccddee02", "# new\n") == 200
    assert text_of(service).count("answers come from the replica") == 1


@pytest.mark.parametrize("is_away", [False, True], ids=["with the database", "while the database is away"])
def test_a_full_disk_is_said_as_such_and_a_node_takes_no_write_until_there_is_space(
    cluster: Cluster, node: Callable[..., Service], small_disk: Path, is_away: bool
) -> None:
    service = node("small/only", cluster.database(), SERVICE_WORKERS=2)
    put_script(service)
    report = install(service)
    if is_away:
        cluster.stop(signal.SIGQUIT)
    ballast = fill(small_disk)
    wait_until(lambda: all(service.get("/ready").status == 503 for _ in range(6)))
    assert "only.db cannot be written: the disk is full" in service.get("/ready").text
    reported = service.post(f"{report}/installed", b"")
    assert (reported.status, reported.headers["retry-after"]) == (503, "5")
    assert "the disk is full" in reported.text
    if not is_away:
        target = "/machines/aabbccddee02?format=ks"
        refused = service.ask_admin("PUT", target, b"# " + b"x" * 99_999, Authorization=f"Bearer {TOKEN}")
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert "the disk is full" in json.loads(refused.body)["error"]
    assert "rollback" not in text_of(service)
    ballast.unlink()
    wait_until(lambda: all(service.get("/ready").status == 200 for _ in range(6)))
    assert service.post(f"{report}/installed", b"").status == 200
    assert is_refused(service)


def test_while_the_database_stands_still_each_request_is_answered_or_asked_to_come_back(
    cluster: Cluster, node: Callable[..., Service]
) -> None:
    """The server's processes are stopped where they are: connections stay, and nothing is said on them."""
    service = node("only", cluster.database(), SERVICE_WORKERS=2, SERVICE_TIMEOUT_SECS=4, SERVICE_ADMIN_TIMEOUT_SECS=4)
    put_script(service)
    report = install(service)
    change = json.dumps({"put": [{"kind": "group", "identifier": "g", "format": "ks", "text": "x\n"}], "dry_run": True})
    requests = [
        *[("PUT", f"/machines/aabbccddee{at:02}?format=ks", b"x\n") for at in range(10, 16)],
        ("DELETE", "/machines/aabbccddee02?format=ks", b""),
        ("POST", "/apply", change.encode()),
        *[("GET", path, b"") for path in ("/machines", "/machines?detail=1", "/history", "/check", "/installs")],
        ("POST", f"/installs/{MACHINE.rpartition('=')[2]}/arm", b""),
    ]

    def reported(number: int) -> Reply:
        return service.post(f"{report}/progress?percent={number % 100}", b"")

    def administered(request: tuple[str, str, bytes]) -> Reply:
        return service.ask_admin(*request, Authorization=f"Bearer {TOKEN}")

    cluster.pause()
    try:
        with ThreadPoolExecutor(40) as clients:
            administering = clients.map(administered, requests)
            replies = [*clients.map(reported, range(200)), *administering]
    finally:
        cluster.resume()
    statuses = {(reply.status, reply.headers.get("retry-after")) for reply in replies}
    assert statuses <= {(200, None), (404, None), (503, "5"), (503, "2")}
    wait_until(lambda: put(service, "aabbccddee02", "# new\n") == 200)
    assert service.post(f"{report}/installed", b"").status == 200


def test_a_replica_that_was_removed_is_made_again(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    service, other = node("only", url, SERVICE_WORKERS=2), node("other", url)
    put_script(service)
    report = install(service)
    wait_until(lambda: all(service.get(MACHINE).status == 200 for _ in range(12)))  # both workers have read it
    (tmp_path / "only.db").unlink()  # what SQLite keeps beside it stays
    assert [service.get(MACHINE).status for _ in range(6)] == [200] * 6
    wait_until(lambda: put(service, "aabbccddee02", "# new\n") == 200)
    assert put(other, "aabbccddee03", "# other\n") == 200
    wait_until(lambda: {answer(service, "aabbccddee03") for _ in range(12)} == {(200, b"# other\n")})
    assert service.post(f"{report}/installed", b"").status == 200
    wait_until(lambda: is_refused(other))
    assert text_of(service).count("was removed: it is made again") == 1

    cluster.stop(signal.SIGQUIT)
    for file in tmp_path.glob("only.db*"):
        if "states" not in file.name:
            file.unlink()
    wait_until((tmp_path / "only.db").exists)
    assert [answer(service, "aabbccddee03") for _ in range(6)] == [(200, b"# other\n")] * 6
    cluster.start()
    wait_until(lambda: put(service, "aabbccddee03", "# newer\n") == 200)
    assert answer(service, "aabbccddee03") == (200, b"# newer\n")


def test_a_second_node_on_one_replica_does_not_start(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    first = node("only", url)
    settings: dict[str, Any] = {"SERVICE_STORE": "postgres", "SERVICE_REPLICA_PATH": tmp_path / "only.db"}
    refused = run("serve", SERVICE_DB_URL=url, SERVICE_LISTEN_ADDR="127.0.0.1:0", **settings)
    assert refused.returncode == 1
    assert b"belongs to another node" in refused.stderr
    first.process.kill()
    first.process.wait(PATIENCE)
    again = node("only", url)  # at once: the processes of a node end with their parent
    wait_until(lambda: again.get("/ready").status == 200)


READING = {
    "/machines": "aabbccddee01",
    "/machines/aabbccddee01?format=ks": "# second",
    "/groups": "rack",
    "/inventory": "inventory",
    "/inventory/inventory": "web-01",
    "/check": "problems",
    "/history": "# second",
}


def test_reading_goes_on_from_the_replica_while_the_database_is_away(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    service = node("only", url)
    authorized: Any = {"Authorization": f"Bearer {TOKEN}"}
    for target, text in (
        ("/machines/aabbccddee01?format=ks", "# first\n"),
        ("/machines/aabbccddee01?format=ks", "# second\n"),
        ("/groups/rack?format=ks", "# answer: members x1\nlang fr\n"),
        ("/inventory/inventory", "id,mac\nweb-01,aabbccddee09\n"),
    ):
        assert service.ask_admin("PUT", target, text.encode(), **authorized).status == 200, target
    before = {target: service.ask_admin("GET", target, **authorized) for target in READING}
    for target, words in READING.items():
        assert (before[target].status, words in before[target].text) == (200, True), target
    cluster.stop(signal.SIGQUIT)
    for target in READING:  # at once, and when the node knows for long that it is away
        assert service.ask_admin("GET", target, **authorized).text == before[target].text, target
    wait_until(lambda: metric(service, "answerd_set_age_seconds") > 3)
    for target in READING:
        again = service.ask_admin("GET", target, **authorized)
        assert (again.status, again.text, again.headers.get("etag")) == (
            200,
            before[target].text,
            before[target].headers.get("etag"),
        ), target

    settings: dict[str, Any] = {"SERVICE_STORE": "postgres", "SERVICE_REPLICA_PATH": tmp_path / "only.db"}
    for command in (["check"], ["render", "aabbccddee01", "--format", "ks"], ["history"]):
        done = run(*command, SERVICE_DB_URL=url, **settings)
        assert done.returncode == 0, done.stderr
        line = done.stderr.decode().splitlines()[0]
        assert f"the replica {tmp_path / 'only.db'}, because the database" in line
        assert f"cannot be reached: 127.0.0.1:{cluster.port}: Connection refused, " in line  # without libpq's advice
    assert run("render", "aabbccddee01", "--format", "ks", SERVICE_DB_URL=url, **settings).stdout == b"# second\n"
    refused = run("restore-document", "--revision", "1", "aabbccddee01.ks", SERVICE_DB_URL=url, **settings)
    assert refused.returncode == 1
    assert b"cannot be reached" in refused.stderr


def test_nodes_that_differ_in_what_decides_their_answers_say_so(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    for name in ("first", "second"):
        write_tree(tmp_path / f"{name}-secrets", {"root": "correct horse"})
    settings = {name: {"SERVICE_SECRETS_DIR": tmp_path / f"{name}-secrets"} for name in ("first", "second")}
    first = node("first", url, SERVICE_ALLOW="127.0.0.0/8", **settings["first"])
    second = node("second", url, **settings["second"])
    here = {"SERVICE_STORE": "postgres", "SERVICE_DB_URL": url}

    def told() -> list[str]:
        asked = first.ask_admin("GET", "/nodes", Authorization=f"Bearer {TOKEN}").body
        found: list[str] = json.loads(asked)["differences"]
        return [sentence.partition(":")[0] for sentence in found]

    wait_until(lambda: told() == ["nodes differ in SERVICE_ALLOW"])
    for service in (first, second):
        service.wait_for_log("warning: nodes differ in SERVICE_ALLOW: ")
    assert scraped(first)["answerd_node_differences",] == 1
    listed = run("nodes", **here)  # type: ignore[arg-type]
    assert (listed.returncode, b"problem: nodes differ in SERVICE_ALLOW: " in listed.stdout) == (1, True)
    write_tree(tmp_path / "second-secrets", {"root": "battery staple"})
    wait_until(lambda: "nodes differ in the values of secrets" in told())
    write_tree(tmp_path / "first-secrets", {"root": "battery staple"})
    wait_until(lambda: told() == ["nodes differ in SERVICE_ALLOW"])
    second.stop()
    node("second", url, SERVICE_ALLOW="127.0.0.0/8", **settings["second"])
    wait_until(lambda: told() == [])
    first.wait_for_log("all nodes have the same settings and secrets for their answers again")
    assert run("nodes", **here).returncode == 0  # type: ignore[arg-type]


def test_each_node_lists_all_of_them_and_how_far_they_are(
    cluster: Cluster, node: Callable[..., Service], tmp_path: Path
) -> None:
    url = cluster.database()
    first, second = node("first", url, SERVICE_CONSOLE_ADDR="127.0.0.1:0"), node("second", url)
    host, _, port = first.wait_for_log("console listening on ").rpartition(" ")[2].rpartition(":")
    browser = Browser(first, (host, int(port)))

    def listed(service: Service) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            service.ask_admin("GET", "/nodes", Authorization=f"Bearer {TOKEN}").body
        )["nodes"]
        return found

    wait_until(lambda: len(listed(first)) == len(listed(second)) == 2)
    assert {one["version"] for one in listed(first)} == {__version__}
    assert {one["node"].partition(" ")[0] for one in listed(first)} == {socket.gethostname()}
    assert len({one["node"] for one in listed(first)}) == 2  # on one host each has its id too
    second.process.send_signal(signal.SIGKILL)
    second.process.wait(PATIENCE)
    assert put(first, "aabbccddee01", "lang C\n") == 200
    wait_until(lambda: sorted(one["behind"] for one in listed(first)) == [0, 1])  # the second one stays behind
    (gone,) = (one for one in listed(first) if one["behind"])
    wait_until(lambda: scraped(first)["answerd_node_silent_seconds", gone["node"]] > 1)
    browser.log_in()
    row = rf"{re.escape(gone['node'])}</td><td>{re.escape(__version__)}</td>.*<td>[12]</td>"  # change, log-in
    assert re.search(row, browser.get("/console/settings").text)
    here = {"SERVICE_STORE": "postgres", "SERVICE_DB_URL": url}
    printed = json.loads(run("nodes", "--json", **here).stdout)["nodes"]  # type: ignore[arg-type]
    assert [one["node"] for one in printed] == [one["node"] for one in listed(first)]
    cluster.stop()
    assert {one["node"] for one in listed(first)} == {one["node"] for one in printed}
