"""What the rivals answer from: the made-up fleet as each of them keeps it. Knows their files; starts nothing."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loadtest.fleet import Machine, kickstart, merged_document, rack_document


def write_table(data: Path, machines: Sequence[Machine]) -> None:
    """Write the data for `loadtest.rivals.machines`: a table of machines, and a template as large as a merged
    answer."""
    text = rack_document(machines[0].rack)[1] + merged_document(machines[0])[1]
    for value, name in ((machines[0].host, "host"), (machines[0].network, "network"), (machines[0].rack, "rack")):
        text = text.replace(value, f"{{{{ {name} }}}}")
    (data / "answer.j2").write_text(text, "utf-8")
    table = {
        machine.mac: {"host": machine.host, "network": machine.network, "rack": machine.rack} for machine in machines
    }
    (data / "machines.json").write_text(json.dumps(table), "utf-8")


def write_answers(data: Path, machines: Sequence[Machine]) -> None:
    """Write the files of Proxmox' example server: a default, and an answer for each machine's first MAC address."""
    (data / "answers").mkdir()
    for machine in machines:
        text = rack_document(machine.rack)[1].replace("[network]", f'fqdn = "{machine.host}"\n\n[network]', 1)
        (data / "answers" / f"{machine.mac}.toml").write_text(text, "utf-8")
    (data / "default.toml").write_text(rack_document("rack")[1], "utf-8")


def write_matchbox(data: Path, machines: Sequence[Machine]) -> None:
    """Write matchbox' data directory: one profile with a kickstart as its template, and a group for each machine that
    claims by its MAC address and holds its values."""
    for name in ("groups", "profiles", "generic", "ignition", "cloud"):
        (data / name).mkdir(parents=True)
    (data / "generic" / "lab.ks").write_text(kickstart("{{.host}}", "{{.network}}"), "utf-8")
    _write_json(data / "profiles" / "lab.json", {"id": "lab", "name": "lab", "generic_id": "lab.ks"})
    for machine in machines:
        values = {"host": machine.host, "network": machine.network}
        group = {"id": machine.host, "profile": "lab", "selector": {"mac": machine.mac}, "metadata": values}
        _write_json(data / "groups" / f"{machine.host}.json", group)


def write_autopve(data: Path, machines: Sequence[Machine]) -> None:
    """Write autopve's storage: a default answer, and an answer for each machine that a MAC address must be in."""
    common = tomllib.loads(rack_document(machines[0].rack)[1])
    answers: dict[str, dict[str, Any]] = {"Default": {key.replace("_", "-"): table for key, table in common.items()}}
    for machine in machines:
        own = tomllib.loads(merged_document(machine)[1])
        answers[machine.host] = {
            "must_contain": [machine.mac.upper()],
            "global": own["global"],
            "network": {key: value for key, value in own["network"].items() if isinstance(value, str)},
            "first-boot": own["first-boot"],
            "post-installation-webhook": own["post-installation-webhook"],
        }
    data.mkdir()
    _write_json(data / "storage-general.json", {"config_100": answers})


def write_cobbler(data: Path, installed: Path, machines: Sequence[Machine], port: int) -> None:
    """Write Cobbler's three directories: what the package in ``installed`` brings, its daemon's port, one distribution,
    one profile with a kickstart as its template, and a system for each machine that holds its values."""
    shutil.copytree(installed / "etc" / "cobbler", data / "etc")
    shutil.copytree(installed / "var" / "lib" / "cobbler", data / "lib")
    (data / "log" / "tasks").mkdir(parents=True)
    settings = data / "etc" / "settings.yaml"
    lines = settings.read_text("utf-8").splitlines()
    lines = [f"xmlrpc_port: {port}" if line.startswith("xmlrpc_port:") else line for line in lines]
    settings.write_text("\n".join([*lines, ""]), "utf-8")
    template = kickstart("@host@", "@network@").replace("$", "\\$")
    template = template.replace("@host@", "${host}").replace("@network@", "${network}")
    (data / "lib" / "templates" / "lab.ks").write_text(template, "utf-8")
    kept = data / "lib" / "collections"
    kinds = ("distros", "profiles", "systems", "repos", "images", "mgmtclasses", "packages", "files", "menus")
    for kind in kinds:
        (kept / kind).mkdir(parents=True)
    for name in ("vmlinuz", "initrd.img"):
        (data / "lib" / name).touch()
    distro = {"kernel": "/var/lib/cobbler/vmlinuz", "initrd": "/var/lib/cobbler/initrd.img", "arch": "x86_64"}
    _write_json(kept / "distros" / "lab.json", {"name": "lab", "breed": "redhat", **distro})
    _write_json(kept / "profiles" / "lab.json", {"name": "lab", "distro": "lab", "autoinstall": "lab.ks"})
    for machine in machines:
        system = {
            "name": machine.serial,
            "profile": "lab",
            "hostname": machine.host,
            "autoinstall_meta": {"host": machine.host, "network": machine.network},
            "interfaces": {"default": {"mac_address": machine.mac, "ip_address": machine.network}},
        }
        _write_json(kept / "systems" / f"{machine.serial}.json", system)


def write_pxe_pilot(data: Path, machines: Sequence[Machine], port: int) -> None:
    """Write pxe-pilot's configuration: its hosts, and one PXELINUX file that it keeps for them."""
    kept = data / "tftp" / "conf" / "pxelinux"
    kept.mkdir(parents=True)
    (data / "tftp" / "pxelinux.cfg").mkdir()
    (kept / "lab").write_text(_PXELINUX, "utf-8")
    hosts = [{"name": machine.host, "mac_addresses": [machine.mac]} for machine in machines]
    loader = {"name": "pxelinux", "file": "lpxelinux.0", "config_path": "pxelinux.cfg"}
    configuration = {
        "hosts": hosts,
        "tftp": {"root": str(data / "tftp")},
        "configuration": {"directory": str(data / "tftp" / "conf"), "bootloaders": [loader]},
        "server": {"port": port},
    }
    _write_json(data / "pxe-pilot.yml", configuration)  # JSON is YAML


_PXELINUX = """\
default lab
label lab
  kernel vmlinuz
  append initrd=initrd.img inst.ks=http://10.0.0.1:8000/ks
"""


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")
