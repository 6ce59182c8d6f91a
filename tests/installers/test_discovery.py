"""A machine that nobody knows, in QEMU: it boots into examples/discovery, shows its serial number and MAC address, asks
again until an operator adopts it, and then installs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.installers.machines import Machine, bios, identity, user_network
from tests.support.service import Service, run
from tests.support.waiting import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "discovery" / "answers"
MAC = "52:54:00:1e:00:07"
GATEWAY = "10.0.2.2"
"""QEMU's user network has the loopback interface of this machine there."""

INSTALLS = "echo MARK {{ id }}\nimgfetch --name r {{ report }}/installed && imgfree r ||\nsleep 1\nreboot\n"
"""In place of the installer: the last lines of the loader's script."""


def test_an_unknown_machine_waits_until_it_is_adopted_and_then_installs(
    serving: Callable[..., Service], tmp_path: Path
) -> None:
    states = tmp_path / "state.db"
    service = serving({}, SERVICE_STATE_PATH=states)
    assert service.address
    url = f"http://{GATEWAY}:{service.address[1]}"
    answers = tmp_path / "answers"
    for source in sorted(EXAMPLE.rglob("*")):
        if source.is_file():
            text = source.read_text("utf-8").replace("http://192.0.2.10:8000", url).replace("sleep 60", "sleep 1")
            if source.name == "installer.ipxe":
                text = re.sub(r"^set mirror .*", lambda _: INSTALLS, text, flags=re.MULTILINE | re.DOTALL)
            target = answers / source.relative_to(EXAMPLE)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
    wait_until(lambda: "asks again" in service.get("/ipxe").text)
    tftp = tmp_path / "tftp"
    tftp.mkdir()
    (tftp / "boot.ipxe").write_text(f"#!ipxe\nchain {url}/ipxe || exit 1\n")
    network = user_network(MAC, "boot.ipxe")
    network[1] += f",tftp={tftp}"

    def answerd(*words: str) -> str:
        done = run(*words, SERVICE_STATE_PATH=states, SERVICE_ANSWERS_DIR=answers)
        return (done.stdout + done.stderr).decode()

    with Machine(tmp_path, *bios(), *identity(), "-no-reboot", *network) as machine:
        machine.wait_for("the second question", lambda: machine.said.count("Serial number: LAB-SN-42") >= 2)
        assert f"MAC address: {MAC}" in machine.said
        assert "Product: QEMU Blade 9000" in machine.said
        wait_until(lambda: "LAB-SN-42 " in answerd("installs", "--unknown"))
        assert "1 machine adopted" in answerd(
            "adopt", "--name", "cn{n:04}", "--set", "os=debian", "--said", "product=Blade*"
        )
        said = machine.wait_for_end()
    assert "MARK cn0001" in said
    assert re.search(r"cn0001\s+installed", answerd("installs"))
    assert "0 machines" in answerd("installs", "--unknown")
