"""Talos' machine configurations: what `talosctl validate` refuses at their top is found."""

from __future__ import annotations

import pytest

from answerd.validators import Tools, Verdict, validate

MAIN = """version: v1alpha1
machine:
  type: worker
  token: abcdef.0123456789abcdef
  install: {disk: /dev/sda}
cluster:
  controlPlane: {endpoint: 'https://192.0.2.20:6443'}
"""
BESIDE = """---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: node1
"""


def judged(text: str) -> Verdict:
    return validate(text, "yaml", tools=Tools.none())


@pytest.mark.parametrize(
    "text",
    [
        MAIN,
        f"---\n{MAIN}{BESIDE}",
        MAIN + BESIDE.replace("HostnameConfig", "ConfigOfTomorrow"),
        f"# a note\n{MAIN}",
        f"{MAIN}  etcd:\n",
        MAIN.replace("version: v1alpha1\n", ""),
        MAIN.replace("v1alpha1", "v1beta1"),
    ],
    ids=[
        "the main document",
        "one beside it",
        "a kind that is not known",
        "a comment",
        "an empty key",
        "no version, by which Talos does not tell it",
        "a version that Talos does not judge",
    ],
)
def test_what_talos_takes_has_no_remark(text: str) -> None:
    verdict = judged(text)
    assert (verdict.findings, verdict.warnings) == ((), ())
    assert "Talos rules" in verdict.judged_by


@pytest.mark.parametrize(
    ("text", "path", "line", "sentence"),
    [
        (MAIN.replace("v1alpha1", "[v1alpha1]"), "version", 1, "a string"),
        (MAIN.replace("  install", "  instal"), "machine.instal", 5, "did you mean 'install'?"),
        (MAIN.replace("worker", "master"), "machine.type", 3, "'controlplane'"),
        (MAIN.partition("cluster")[0], "cluster", 1, "is missing"),
        (MAIN.replace("controlPlane", "controlplane"), "cluster.controlplane", 7, "did you mean 'controlPlane'?"),
        (MAIN.replace("token: abc", "token: [1] #"), "machine.token", 4, "a string"),
        (f"{MAIN}hostname: a\n", "hostname", 8, "not a key that Talos knows"),
        (MAIN + BESIDE.replace("HostnameConfig", "HostNameConf"), "kind", 10, "did you mean 'HostnameConfig'?"),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value else "",
)
def test_what_talos_refuses_is_named_with_its_place(text: str, path: str, line: int, sentence: str) -> None:
    [finding] = judged(text).findings
    assert (finding.path, finding.line) == (path, line)
    assert sentence in finding.message


@pytest.mark.parametrize(
    "text", ["machine: {a: 1}\n", "kind: Pod\nmachine: {}\ncluster: {}\n", "machine: a\nversion: 1\n"]
)
def test_other_yaml_is_judged_as_yaml_only(text: str) -> None:
    assert judged(text).judged_by == ("YAML syntax",)
