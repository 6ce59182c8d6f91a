"""The image, the compose file and the manifests: not root, nothing writable that need not be, no file that is missing.

No container engine is needed: what the files say is read. scripts/test-packages has hadolint and kubernetes-validate
judge them (tests/packages/test_judges.py), and runs the steps of the image.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerd.config import SETTINGS_BY_NAME
from answerd.server.roles import parse_token_file
from tests.support.containers import CHECKOUT, COMPOSE, DOCKERFILE, values
from tests.support.waiting import PROGRAM_SECONDS

KUBERNETES = CHECKOUT / "etc/kubernetes"
MANIFESTS: dict[str, Any] = {
    manifest["kind"]: manifest for manifest in yaml.safe_load_all((KUBERNETES / "answerd.yaml").read_text("utf-8"))
}
IGNORED = (CHECKOUT / ".dockerignore").read_text("utf-8")


def test_what_the_image_copies_exists_and_is_not_ignored() -> None:
    copied = {name.removeprefix("./") for rest in values("COPY") if "--from" not in rest for name in rest.split()[:-1]}
    assert {name for name in copied if not (CHECKOUT / name).exists()} == set()
    assert copied == set(re.findall(r"^!(.+)$", IGNORED, re.MULTILINE))


def test_nothing_gets_into_the_image_without_its_hash() -> None:
    """What pip installs, and what builds the wheel: in an environment of pip's own making it would have no hash."""
    steps = [
        step for rest in values("RUN") for step in rest.split("&&") if re.search(r"/pip .*\b(install|wheel)\b", step)
    ]
    files = [re.search(r"--require-hashes\s+-r (\S+)", step) for step in steps]
    assert {found[1] for found in files if found} == {"requirements-hashes.txt", "requirements-build.txt"}
    others = [step for step, found in zip(steps, files, strict=True) if not found]
    assert all("--no-deps" in step for step in others)
    assert all("--no-build-isolation" in step for step in others if " wheel " in step)
    pinned = re.findall(
        r"^([\w.-]+==\S+) \\\n +--hash=", (CHECKOUT / "requirements-build.txt").read_text("utf-8"), re.M
    )
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))
    assert pinned == project["build-system"]["requires"]


def test_the_image_does_not_run_as_root() -> None:
    (user,) = values("USER")
    assert user.isdigit()
    assert int(user) > 0
    assert f"--uid {user} " in DOCKERFILE


def test_the_image_is_healthy_when_it_is_ready() -> None:
    (check,) = values("HEALTHCHECK")
    assert "http://127.0.0.1:8000/ready" in check


def test_the_services_of_the_compose_file_are_confined() -> None:
    service = COMPOSE["services"]["answerd"]
    assert service["read_only"] is True
    assert [service["cap_drop"] for service in COMPOSE["services"].values()] == [["ALL"], ["ALL"]]
    assert (CHECKOUT / "etc" / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    named = {mount.partition(":")[0] for service in COMPOSE["services"].values() for mount in service["volumes"]}
    assert {name for name in named if not name.startswith("./")} == set(COMPOSE["volumes"])


NODES: list[dict[str, Any]] = list(yaml.safe_load_all((KUBERNETES / "many-nodes/nodes.yaml").read_text("utf-8")))
MADE_FOR_NODES: dict[str, Any] = yaml.safe_load((KUBERNETES / "many-nodes/kustomization.yaml").read_text("utf-8"))


def of_kind(kind: str) -> list[dict[str, Any]]:
    """The manifests of several nodes that are of a kind."""
    return [manifest for manifest in NODES if manifest["kind"] == kind]


def test_several_pods_are_made_like_the_one_and_share_a_database() -> None:
    (nodes,) = of_kind("StatefulSet")
    pod = nodes["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"] == POD["securityContext"]
    for same in ("securityContext", "readinessProbe", "livenessProbe", "image"):
        assert container[same] == CONTAINER[same]
    given = {variable["name"]: variable for variable in container["env"]}
    assert given.keys() <= SETTINGS_BY_NAME.keys()
    assert given["SERVICE_STORE"]["value"] == "postgres"
    (claim,) = nodes["spec"]["volumeClaimTemplates"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts.keys() == {claim["metadata"]["name"], *(volume["name"] for volume in pod["volumes"])}
    assert given["SERVICE_REPLICA_PATH"]["value"].startswith(mounts[claim["metadata"]["name"]] + "/")
    assert given["SERVICE_SECRETS_DIR"]["value"] == mounts["secrets"]
    labels = nodes["spec"]["template"]["metadata"]["labels"]
    ports = {port["name"] for port in container["ports"]}
    for service in of_kind("Service"):
        assert service["spec"]["selector"].items() <= labels.items()
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    assert nodes["spec"]["serviceName"] in {manifest["metadata"]["name"] for manifest in NODES}
    (policy,) = of_kind("NetworkPolicy")
    assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} == ports
    (budget,) = of_kind("PodDisruptionBudget")
    for selected in (policy["spec"]["podSelector"], budget["spec"]["selector"]):
        assert selected["matchLabels"].items() <= labels.items()


def test_the_secrets_of_several_pods_are_made_of_files_that_exist() -> None:
    generated = MADE_FOR_NODES["secretGenerator"]
    made = {secret["name"]: {file.rpartition("/")[2] for file in secret["files"]} for secret in generated}
    (nodes,) = of_kind("StatefulSet")
    pod = nodes["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert {volume["secret"]["secretName"] for volume in pod["volumes"]} == made.keys()
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    values = {variable["name"]: variable["value"] for variable in container["env"]}
    for setting in ("SERVICE_TOKENS_FILE", "SERVICE_DB_URL_FILE"):
        directory, _, name = values[setting].rpartition("/")
        assert directory == mounts["access"]
        assert name in made["answerd-access"]
    files = {file for secret in generated for file in secret["files"]}
    folder = KUBERNETES / "many-nodes"
    assert {folder / file for file in files} == {path for path in folder.rglob("*/*") if path.is_file()}
    assert parse_token_file((folder / "access/tokens").read_text("utf-8")) == (), (
        "a token of the sample would open nodes"
    )


def test_a_pod_has_time_to_drain_before_it_is_killed() -> None:
    (nodes,) = of_kind("StatefulSet")
    pod = nodes["spec"]["template"]["spec"]
    (drain,) = (
        variable["value"] for variable in pod["containers"][0]["env"] if variable["name"] == "SERVICE_DRAIN_SECS"
    )
    timeout = SETTINGS_BY_NAME["SERVICE_TIMEOUT_SECS"].default
    assert timeout is not None
    assert pod["terminationGracePeriodSeconds"] > int(drain) + int(timeout)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed: apt install kubernetes-client")
@pytest.mark.parametrize("folder", [KUBERNETES, KUBERNETES / "many-nodes"], ids=["one node", "many nodes"])
def test_kustomize_makes_manifests_of_a_folder(folder: Path) -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS
    )
    assert done.returncode == 0, done.stderr
    names = [(made["kind"], made["metadata"]["name"]) for made in yaml.safe_load_all(done.stdout)]
    assert ("Secret", "answerd-secrets") in names
    assert len(names) == len(set(names))


POD: dict[str, Any] = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def test_the_pod_meets_the_restricted_standard() -> None:
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert str(POD["securityContext"]["runAsUser"]) in values("USER")
    assert POD["automountServiceAccountToken"] is False
