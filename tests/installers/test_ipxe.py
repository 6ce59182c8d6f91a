"""iPXE on BIOS and UEFI, in QEMU's own network: a busy service, a refusal, and the disk once the machine is installed.

Rules: docs/installers/ipxe.md, docs/install-once.md#what-a-refused-machine-gets.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installers.disks import WORD, bios_disk, uefi_disk
from tests.installers.machines import LOADER_SECONDS, Machine, bios, identity, uefi_with_stick, user_network
from tests.support.service import Service, run, write_tree
from tests.support.waiting import PATIENCE, wait_until

MAC = "52:54:00:1e:00:01"
NAME = "52-54-00-1e-00-01"

SCRIPT = """#!ipxe
echo MARK {{ mac | colons }}
echo SERIAL {{ serial }}
chain --autofree SERVICE/ipxe/second?mac=${netX/mac}&uuid=${uuid} || echo NO SECOND
"""

SECOND = """#!ipxe
# answer: match file=second
echo SECOND {{ uuid }}
sleep 1
reboot
"""

ONCE = """#!ipxe
# answer: once
echo INSTALLING
imgfetch --name r {{ report }}/installed ||
imgfree r
sleep 1
reboot
"""

OPERATORS = """#!ipxe
# answer: match state=installed
echo OPERATORS
sanboot --no-describe --drive 0x80 || exit 1
"""

BOOTS = 3
"""So often the installed machine starts from its disk before the test believes that it always does."""


@pytest.fixture(params=["bios", "uefi"])
def firmware(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def machine(firmware: str, service: Service, scratch: Path, *more: str) -> Machine:
    """A machine that is led to the service by DHCP, with a disk behind its network card."""
    assert service.address
    query = "mac=${netX/mac}&serial=${serial:uristring}&uuid=${uuid}"
    boot_file = f"http://10.0.2.2:{service.address[1]}/ipxe?{query}"
    if firmware == "bios":
        own = [*bios(), *user_network(MAC, boot_file), *bios_disk(scratch)]
    else:
        own = [*uefi_with_stick(scratch), *user_network(MAC, boot_file, rom="", first=False), *uefi_disk(scratch)]
    return Machine(scratch, *own, *identity(), *more)


@pytest.mark.parametrize("firmware", [pytest.param("bios", marks=pytest.mark.quick), "uefi"])
def test_a_machine_gets_its_own_script_and_a_second(
    firmware: str, serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serving({"groups/second.ipxe": SECOND})
    assert service.address
    script = SCRIPT.replace("SERVICE", f"http://10.0.2.2:{service.address[1]}")
    write_tree(
        tmp_path / "answers", {f"{NAME}.ipxe": script.replace("#!ipxe\n", "#!ipxe\n# answer: match file=ipxe\n")}
    )
    wait_until(lambda: service.get(f"/ipxe?mac={MAC}&serial=S").status == 200)
    with machine(firmware, service, tmp_path, "-no-reboot") as started:
        said = started.wait_for_end()
    assert f"MARK {MAC}" in said
    assert "SERIAL LAB-SN-42" in said
    assert "SECOND 12345678-1234-5678-9abc-def012345678" in said


def test_a_busy_service_is_asked_again(firmware: str, serving: Callable[..., Service], tmp_path: Path) -> None:
    service = serving({f"{NAME}.ipxe": SCRIPT}, SERVICE_MAX_CONNECTIONS=1, SERVICE_TIMEOUT_SECS=300)
    assert service.address
    with socket.create_connection(service.address, timeout=PATIENCE) as held:
        held.sendall(b"GET /")
        with machine(firmware, service, tmp_path) as started:
            started.wait_for("a 503", lambda: re.search(r" 503 shed ", "\n".join(service.log)))
            held.close()
            started.wait_for("the script", lambda: f"MARK {MAC}" in started.said)


def test_a_machine_that_nobody_knows_starts_from_its_disk(
    firmware: str, serving: Callable[..., Service], tmp_path: Path
) -> None:
    service = serving({"52-54-00-1e-00-99.ipxe": SCRIPT})
    with machine(firmware, service, tmp_path, "-no-reboot") as started:
        said = started.wait_for_end()
    assert said.count(WORD) == 1
    assert "MARK" not in said
    (asked,) = [line for line in service.log if " GET " in line]
    assert " 404 no document claims mac=52:54:00:1e:00:01" in asked


@pytest.mark.parametrize("script", ["built in", "the operator's"])
def test_an_installed_machine_starts_from_its_disk_for_ever(
    firmware: str, script: str, serving: Callable[..., Service], tmp_path: Path
) -> None:
    state = tmp_path / "state.db"
    documents = {f"{NAME}.ipxe": ONCE} | ({"groups/local.ipxe": OPERATORS} if script != "built in" else {})
    service = serving(documents, SERVICE_STATE_PATH=state)
    with machine(firmware, service, tmp_path) as started:
        started.wait_for("the third start from disk", lambda: started.said.count(WORD) >= BOOTS, 3 * LOADER_SECONDS)
        said = started.said
    assert said.count("INSTALLING") == 1
    assert said.index("INSTALLING") < said.index(WORD)
    assert ("OPERATORS" in said) == (script != "built in")
    done = run("installs", "--json", SERVICE_STATE_PATH=state, SERVICE_ANSWERS_DIR=tmp_path / "answers")
    (record,) = json.loads(done.stdout)["installs"]
    assert (record["state"], record["starts"]) == ("installed", 1)
