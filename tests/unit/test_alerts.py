"""The alert rules and the dashboard, judged by Prometheus' own promtool: they load, and each alert fires when it must.

Rules: docs/metrics.md. The names of metrics and labels are held by test_metrics.py, which needs no promtool.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.waiting import PROGRAM_SECONDS

ETC = Path(__file__).parents[2] / "etc"
RULES = ETC / "answerd-alerts.yml"
ALERTS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text("utf-8"))["groups"][0]["rules"]

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed: apt install prometheus"
)

FIRING: dict[str, tuple[str, str]] = {
    "AnswerdDown": ('up{job="answerd"}', "0x60"),
    "AnswerdNotReady": ("answerd_ready", "0x60"),
    "AnswersFailing": ('answerd_requests_total{outcome="failed"}', "0+1x60"),
    "MachinesUnclaimed": ('answerd_requests_total{outcome="unclaimed"}', "0+1x60"),
    "AnswerdSheds": ('answerd_shed_total{limit="connections"}', "0+1x60"),
    "AnswerSetProblems": ("answerd_problems", "3x60"),
    "AnswerSetOld": ("answerd_set_age_seconds", "61x60"),
    "StoreUnreadable": ('answerd_loads_total{result="failed"}', "0+1x60"),
    "CertificateEndsSoon": ("answerd_certificate_expiry_timestamp_seconds", "1209600x60"),
    "WorkersDie": ("answerd_workers_replaced_total", "0+1x60"),
    "TokensGuessed": ('answerd_authentication_failures_total{endpoint="admin"}', "0+3x60"),
    "MachinesSilent": ("answerd_installs_silent", "2x60"),
    "InstallsFailed": ('answerd_installs{state="exhausted"}', "1x60"),
    "InstallsInConflict": ('answerd_installs{state="conflict"}', "1x60"),
    "NodeSilent": ('answerd_node_silent_seconds{node="a"}', "301x60"),
    "NodesDiffer": ("answerd_node_differences", "1x60"),
    "ReportsWaitForTheDatabase": ("answerd_outbox_age_seconds", "121x60"),
}
"""Each alert: the series that an instance has, and values of one hour by which the alert fires."""

QUIET: dict[str, str] = {
    "AnswerdDown": "1x60",
    "AnswerdNotReady": "1x60",
    "AnswerSetOld": "59x60",
    "CertificateEndsSoon": "1300000x60",
    "TokensGuessed": "0+1x60",
    "ReportsWaitForTheDatabase": "119x60",
}
"""Values by which it does not fire; those of the others are 0."""

OF_ALL_NODES = (
    "AnswerSetProblems",
    "MachinesSilent",
    "InstallsFailed",
    "InstallsInConflict",
    "NodeSilent",
    "NodesDiffer",
)
"""Alerts about what nodes with one database have in common: each fires once, however many nodes say so."""


def series(alert: str, values: str, instance: str) -> dict[str, str]:
    """The series of an instance, as promtool reads it."""
    name, _, labels = FIRING[alert][0].rstrip("}").partition("{")
    labels = labels.replace('node="a"', 'node="b"') if instance == "good" else labels
    given = ",".join(filter(None, [labels, f'instance="{instance}"', 'job="answerd"' if "job=" not in labels else ""]))
    return {"series": f"{name}{{{given}}}", "values": values}


def test_every_alert_has_a_case() -> None:
    assert [alert["alert"] for alert in ALERTS] == list(FIRING)


def judged(*arguments: str | Path) -> str:
    """What promtool says. Fails with that where it finds a fault."""
    done = subprocess.run(
        ["promtool", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@needs_promtool
def test_the_rules_are_rules() -> None:
    assert f"{len(ALERTS)} rules found" in judged("check", "rules", RULES)


@needs_promtool
def test_each_alert_fires_when_it_must_and_not_otherwise(tmp_path: Path) -> None:
    given = [series(alert, values, "bad") for alert, (_, values) in FIRING.items()]
    given += [series(alert, QUIET.get(alert, "0x60"), "good") for alert in FIRING]
    given += [series(alert, FIRING[alert][1], "bad as well") for alert in OF_ALL_NODES]
    tests = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": given,
                "promql_expr_test": [
                    {
                        "expr": f'count by (alertname, instance) (ALERTS{{alertname="{alert}",alertstate="firing"}})',
                        "eval_time": "50m",
                        "exp_samples": [
                            {
                                "labels": f'{{alertname="{alert}"}}'
                                if alert in OF_ALL_NODES
                                else f'{{alertname="{alert}",instance="bad"}}',
                                "value": 1,
                            }
                        ],
                    }
                    for alert in FIRING
                ],
            }
        ],
    }
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump(tests))
    judged("test", "rules", file)


@needs_promtool
def test_every_expression_of_the_dashboard_is_one(tmp_path: Path) -> None:
    panels = json.loads((ETC / "grafana-answerd.json").read_text("utf-8"))["panels"]
    expressions = [target["expr"] for panel in panels for target in panel["targets"]]
    filled = [expression.replace("$__rate_interval", "5m").replace("$instance", ".+") for expression in expressions]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(filled)]
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(rules)} rules found" in judged("check", "rules", file)
