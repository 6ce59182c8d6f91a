"""Reports as installers send them: what each body means, byte by byte where the installer's own bytes are known."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.installs.reports import LONGEST_MESSAGE, Body, Report, joined, read_report
from answerd.installs.states import ReportKind

FORM = [("content-type", "application/x-www-form-urlencoded")]
JSON = [("content-type", "application/json")]


def report(
    body: bytes | str = b"",
    word: ReportKind | None = None,
    query: str = "",
    headers: list[tuple[str, str]] | None = None,
) -> Report:
    """A report with this body."""
    sent = body.encode() if isinstance(body, str) else body
    return read_report(word, query, headers or [], Body(sent))


PROXMOX: dict[str, Any] = {
    "$schema": {"version": "1.2"},
    "debian-version": "13.1",
    "product": {"fullname": "Proxmox VE", "short": "pve", "version": "9.2.1"},
    "iso": {"release": "9.2", "isorelease": "1"},
    "kernel-version": {"sysname": "Linux", "release": "6.14.8-2-pve", "version": "#1 SMP", "machine": "x86_64"},
    "boot-info": {"mode": "efi", "secureboot": True},
    "cpu-info": {"cores": 8, "cpus": 16, "flags": "fpu", "hvm": True, "model": "Xeon", "sockets": 1},
    "dmi": {"system": {"serial": "7ABC123", "uuid": "4c4c4544-0000-2010-8020-80c04f202020", "name": "R650"}},
    "filesystem": "zfs (RAID1)",
    "fqdn": "pve1.example.org",
    "machine-id": "9f0c",
    "reboot-mode": "reboot",
    "disks": [{"size": 512110190592, "is-bootdisk": True, "udev-properties": {"ID_SERIAL": "x"}}],
    "network-interfaces": [{"name": "eno1", "mac": "98:fa:9b:50:d8:10", "address": "192.0.2.5/24"}],
    "ssh-public-host-keys": {"ecdsa": "ecdsa-sha2-nistp256 AAAA", "ed25519": "x", "rsa": "y"},
    "token": "secret",
}


def without(*keys: str, **others: Any) -> str:
    """Proxmox' webhook with differences, as another release sends it."""
    return json.dumps({key: value for key, value in PROXMOX.items() if key not in keys} | others)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(without(), id="9.2.1, schema 1.2 with a token"),
        pytest.param(without("token"), id="9.1"),
        pytest.param(without("token", "reboot-mode", **{"$schema": {"version": "1.0"}}), id="8.4 without reboot-mode"),
        pytest.param(without("$schema", "token", **{"$format-info": {"version": "1.0"}}), id="8.2.7 with $format-info"),
        pytest.param(
            without("debian-version", **{"machine-id": "unknown", "ssh-public-host-keys": {}, "disks": []}),
            id="9.2.5 with what could not be gathered",
        ),
    ],
)
def test_proxmox_webhook_means_installed(body: str) -> None:
    found = report(body, headers=[("content-type", "application/json; charset=utf-8")])
    assert found.word is ReportKind.INSTALLED
    assert found.message == "Proxmox VE 9.2.1"


def test_proxmox_request_for_an_answer_is_no_report_of_success() -> None:
    asked = {
        "$schema": {"version": "2.0"},
        "product": {"fullname": "Proxmox VE", "product": "pve"},
        "iso": {"release": "9.2", "isorelease": "1"},
        "dmi": {"system": {"serial": "7ABC123"}},
        "network_interfaces": [{"link": "eno1", "mac": "98:FA:9B:50:D8:10"}],
    }
    assert report(json.dumps(asked), headers=JSON).word is ReportKind.PROGRESS


def event(name: str, kind: str, **more: str) -> str:
    """One of curtin's events, as subiquity sends it."""
    sent = {"name": name, "description": "", "event_type": kind, "origin": "curtin", "timestamp": 1795271424}
    return json.dumps({**sent, "level": "INFO", **more})


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (
            b'{"name": "subiquity/Install/install", "description": "", "event_type":"start", "origin": "curtin", '
            b'"timestamp": 1795271424, "level": "INFO"}',
            ReportKind.PROGRESS,
        ),
        (
            b'{"name": "subiquity/Install/install", "description": "Command failed", "event_type": "finish", '
            b'"origin": "curtin", "timestamp": 1795271424, "level": "ERROR", "result": "FAIL"}',
            ReportKind.FAILED,
        ),
        (event("subiquity/Shutdown/shutdown", "start"), ReportKind.INSTALLED),
        (event("subiquity/Shutdown/shutdown", "finish", result="SUCCESS"), ReportKind.PROGRESS),
        (event("subiquity/Install/install", "finish", result="SUCCESS"), ReportKind.PROGRESS),
        (event("subiquity/Install/install/configure_apt", "finish", result="FAIL"), ReportKind.PROGRESS),
        (event("subiquity/Late/run", "finish", result="FAIL"), ReportKind.FAILED),
        (event("subiquity/Late/run", "finish", result="WARN"), ReportKind.PROGRESS),
        (event("subiquity/core_validation", "finish", result="FAIL"), ReportKind.PROGRESS),
        (event("subiquity/Error/1795271424", "error"), ReportKind.FAILED),
        (event("subiquity/Meta/status_GET", "start"), ReportKind.PROGRESS),
        (event("cmd-install/stage-curthooks", "warning"), ReportKind.PROGRESS),
    ],
)
def test_events_of_subiquity(body: bytes | str, word: ReportKind) -> None:
    found = report(body, headers=JSON)
    assert found.word is word
    assert found.summary


@pytest.mark.parametrize("kind", ["start", "finish", "error"])
def test_cloud_inits_own_events_are_news(kind: str) -> None:
    body = event("modules-final", kind, origin="cloudinit", result="FAIL", duration="1.0")
    assert report(body).word is ReportKind.PROGRESS  # cloud-init sends no Content-Type


def test_phone_home_means_installed() -> None:
    body = (
        "pub_key_rsa=ssh-rsa+AAAAB3%0A&pub_key_ecdsa=N%2FA&pub_key_ed25519=ssh-ed25519+AAAA"
        "&instance_id=iid-1&hostname=node1&fqdn=node1.example.org"
    )
    found = report(body, headers=FORM)
    assert (found.word, found.message) == (ReportKind.INSTALLED, "phone_home of node1")


@pytest.mark.parametrize(
    ("case", "word", "message", "percent"),
    [
        (report("state=installed&mac=52:54:00:11:22:33", headers=FORM), ReportKind.INSTALLED, None, None),
        (report(query="state=installed"), ReportKind.INSTALLED, None, None),
        (report(query="STATE=Failed&Reason=no%20disk"), ReportKind.FAILED, "no disk", None),
        (report("state=copied&message=files+are+there", headers=FORM), ReportKind.COPIED, "files are there", None),
        (report('{"state": "failed", "reason": "no disk"}', headers=JSON), ReportKind.FAILED, "no disk", None),
        (report('{"state": "failed", "reason": "no disk"}', headers=FORM), ReportKind.FAILED, "no disk", None),
        (report('{"state": "progress", "message": "half", "percent": 50}'), ReportKind.PROGRESS, "half", 50.0),
        (report("", ReportKind.INSTALLED), ReportKind.INSTALLED, None, None),
        (report("reason=no+disk", ReportKind.FAILED, headers=FORM), ReportKind.FAILED, "no disk", None),
        (
            report("message=packages&percent=42", ReportKind.PROGRESS, headers=FORM),
            ReportKind.PROGRESS,
            "packages",
            42.0,
        ),
        (report("", ReportKind.PROGRESS, query="message=a%0Ab&percent=7.5%25"), ReportKind.PROGRESS, "a b", 7.5),
        (report("state=failed", ReportKind.INSTALLED, headers=FORM), ReportKind.INSTALLED, None, None),
        (report("a line of a log"), ReportKind.PROGRESS, "a line of a log", None),
        (report("\r\n\n  first \nsecond", ReportKind.FAILED), ReportKind.FAILED, "first", None),
        (report("the log, sent by curl -d", headers=FORM), ReportKind.PROGRESS, "the log, sent by curl -d", None),
        (report(query="state=sometimes"), ReportKind.PROGRESS, None, None),
        (report("", ReportKind.PROGRESS, query="percent=101"), ReportKind.PROGRESS, None, None),
        (report("", ReportKind.PROGRESS, query="percent=nan"), ReportKind.PROGRESS, None, None),
        (report("null"), ReportKind.PROGRESS, "null", None),
        (report("[1]"), ReportKind.PROGRESS, None, None),
        (report(b"\xff\xfe\n"), ReportKind.PROGRESS, "\ufffd\ufffd", None),
    ],
)
def test_forms_queries_json_and_plain_text(
    case: Report, word: ReportKind, message: str | None, percent: float | None
) -> None:
    assert (case.word, case.message, case.percent) == (word, message, percent)


def test_the_query_goes_before_the_body() -> None:
    found = report('{"message": "body"}', ReportKind.PROGRESS, query="message=query")
    assert found.message == "query"


def test_a_message_is_bounded() -> None:
    found = report(b"x" * 65_536, ReportKind.FAILED)
    assert found.message is not None
    assert len(found.message) == LONGEST_MESSAGE + 1


def test_a_log_without_a_message_is_told_by_its_last_line_where_the_install_failed() -> None:
    log = f"Starting\n{'x' * LONGEST_MESSAGE}\nTraceback:\nOSError: disk sda: not found\n\n"
    assert report(log, ReportKind.FAILED).message == "OSError: disk sda: not found"
    assert report(log, ReportKind.PROGRESS).message == "Starting"


# --- bodies of which the middle is left out --------------------------------------------------------------------------


def cut(body: bytes | str, first: int = 200, last: int = 200) -> Body:
    """A body as it arrives where only its ends are kept."""
    sent = body.encode() if isinstance(body, str) else body
    assert len(sent) > first + last
    return Body(sent[:first], len(sent) - first - last, sent[-last:])


LOG = "\n".join(f"line {number}: \u00fc\u00fc\u00fc" for number in range(100)) + "\nOSError: no disk\n"
CURTIN_FAILED = {"name": "subiquity/Install/install", "event_type": "finish", "origin": "curtin", "result": "FAIL"}


@pytest.mark.parametrize(
    ("sent", "headers", "word", "message"),
    [
        (json.dumps({"state": "failed", "message": "no disk", "log": LOG}), JSON, "failed", "no disk"),
        (json.dumps({"log": LOG, "state": "failed", "message": "no disk"}), JSON, "failed", "no disk"),
        (json.dumps({"state": "failed", "files": [{"content": LOG}], "message": "no"}, indent=1), [], "failed", "no"),
        (json.dumps({"log": LOG + '", "state": "installed"}', "state": "failed"}), JSON, "failed", None),
        (json.dumps({"log": {"of": LOG, "state": "installed"}}), JSON, "progress", None),
        (json.dumps([{"state": "failed"}, LOG]), JSON, "progress", None),
        (json.dumps(CURTIN_FAILED | {"files": [{"content": LOG}]}), JSON, "failed", None),
        (f"state=failed&message=no+disk&log={LOG}", FORM, "failed", "no disk"),
        (f"message=no+disk&log={LOG}&state=failed", [], "failed", "no disk"),
        (f"{LOG}http://192.0.2.1/?a=1&state=installed&b=2", FORM, "progress", None),
        (LOG, [], "progress", "line 0: \u00fc\u00fc\u00fc"),
    ],
)
def test_a_report_says_the_same_with_a_log_in_its_middle(
    sent: str, headers: list[tuple[str, str]], word: str, message: str | None
) -> None:
    found = read_report(None, "", headers, cut(sent))
    assert found.word.value == word
    if message is not None:
        assert found.message == message


def test_a_failure_whose_log_is_cut_is_told_by_its_last_line() -> None:
    found = read_report(ReportKind.FAILED, "", [], cut(LOG, first=600))
    assert found.message == "OSError: no disk"


@given(text=st.text(min_size=30, max_size=60), first=st.integers(1, 12), last=st.integers(1, 12))
def test_a_cut_leaves_no_part_of_a_character_and_says_how_many_bytes_are_left_out(
    text: str, first: int, last: int
) -> None:
    sent = text.encode()
    kept = joined(*cut(sent, first, last)).decode()  # strict: no part of a character is left
    found = re.fullmatch(r"(.*)\n\[([\d,]+) bytes left out\]\n(.*)", kept, re.DOTALL)
    assert found is not None
    head, between, tail = found.groups()
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head.encode()) > first - 4
    assert len(tail.encode()) > last - 4
    assert len(head.encode()) + int(between.replace(",", "")) + len(tail.encode()) == len(sent)


@given(body=st.binary(min_size=40, max_size=300), word=st.none() | st.sampled_from(list(ReportKind)))
def test_no_cut_body_fails(body: bytes, word: ReportKind | None) -> None:
    for sent in (body, b'{"a": "' + body + b'"}', b"state=" + body):
        assert read_report(word, "", [], cut(sent, 16, 16)).word in ReportKind


@given(
    body=st.binary(max_size=200) | st.text(max_size=100).map(str.encode),
    query=st.text(st.characters(max_codepoint=255), max_size=50),
    word=st.none() | st.sampled_from(list(ReportKind)),
    headers=st.sampled_from([[], FORM, JSON]),
)
def test_no_request_is_too_odd_to_be_a_report(
    body: bytes, query: str, word: ReportKind | None, headers: list[tuple[str, str]]
) -> None:
    found = read_report(word, query, headers, Body(body))
    assert word is None or found.word is word
    assert found.message is None or found.message.isprintable()


def test_a_word_in_the_query_that_is_none_does_not_hide_that_of_the_body() -> None:
    assert report("state=failed", query="state=nope", headers=FORM).word is ReportKind.FAILED
    assert report('{"state": "failed"}', query="state=nope", headers=JSON).word is ReportKind.FAILED
    assert report("state=failed", query="state=installed", headers=FORM).word is ReportKind.INSTALLED


@pytest.mark.parametrize("body", ["state=installed", "message=done&state=installed", "STATE=Installed\n"])
def test_a_form_without_a_content_type_is_a_form(body: str) -> None:
    assert report(body).word is ReportKind.INSTALLED
    assert report(body, headers=[("content-type", "text/plain")]).word is ReportKind.PROGRESS
