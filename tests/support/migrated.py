"""Data of other services, and what a migration makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from answerd import migrate
from answerd.migrate.result import MigratedData, write
from answerd.store.files import FileStore
from tests.support.fleet import Fleet
from tests.support.service import write_tree

MAC = "52:54:00:89:d8:10"


DASHES = "52-54-00-89-d8-10"


def made_of(source: str, tmp_path: Path, files: Mapping[str, str]) -> MigratedData:
    """What becomes of these files."""
    root = tmp_path / "source"
    root.mkdir()
    write_tree(root, files)
    return migrate.read(source, root)


def fleet_of(made: MigratedData, tmp_path: Path) -> Fleet:
    """The answer set that a migration writes."""
    write(made, "a test", tmp_path / "made")
    fleet = Fleet(FileStore(tmp_path / "made" / "answers"))
    fleet.poll()
    return fleet


def left(made: MigratedData) -> str:
    """All that is not carried over, as one text."""
    return "\n".join(f"{what}: {why}" for what, why in made.not_carried)


MATCHBOX = {
    "profiles/worker.json": json.dumps(
        {
            "id": "worker",
            "name": "Workers",
            "boot": {
                "kernel": "/assets/flatcar/vmlinuz",
                "initrd": ["--name main /assets/flatcar/initrd.gz"],
                "args": [
                    "initrd=main",
                    "ignition.config.url=http://matchbox.example.com:8080/ignition?mac=${mac:hexhyp}",
                ],
            },
            "ignition_id": "worker.ign",
        }
    ),
    "profiles/logic.json": json.dumps({"id": "logic", "ignition_id": "logic.yaml", "generic_id": "logic.tmpl"}),
    "groups/node1.json": json.dumps(
        {
            "id": "node1",
            "profile": "worker",
            "selector": {"mac": MAC},
            "metadata": {"etcd_name": "node1", "net": {"ip": "192.0.2.7"}},
        }
    ),
    "groups/installed.json": json.dumps(
        {"id": "stage-1", "profile": "worker", "selector": {"os": "installed"}, "metadata": {"etcd_name": 'say "a"'}}
    ),
    "groups/default.json": json.dumps({"id": "default", "profile": "worker"}),
    "groups/lost.json": json.dumps({"id": "lost", "profile": "gone"}),
    "ignition/worker.ign": json.dumps(
        {"ignition": {"version": "3.4.0"}, "x": "{{.etcd_name}} {{ .request.query.mac }}"}
    ),
    "ignition/logic.yaml": "variant: fcos\n",
    "generic/logic.tmpl": "{{ if .a }}b{{ end }}",
}


AUTOPVE: dict[str, Any] = {
    "Default": {
        "global": {
            "keyboard": "de",
            "fqdn": "auto.example.org",
            "root-password": "hunter22",
            "timezone": "Europe/Vienna",
        },
        "network": {"source": "from-dhcp"},
        "disk-setup": {"filesystem": "zfs", "zfs.raid": "raid1", "disk_list": ["sda", "sdb"]},
    },
    "first": {"must_contain": ["52:54:00:89:D8:10"], "global": {"fqdn": "first.example.org"}},
    "rack a": {
        "must_contain": ['"name": "PowerEdge R640"'],
        "must_not_contain": [""],
        "global": {"root-password": "of the rack"},
        "disk-setup": {},
    },
    "nobody": {"must_contain": ["a b { c"], "global": {"fqdn": "x.example.org"}},
    "model": {"must_contain": ["ProLiant"], "global": {"fqdn": "y.example.org"}},
    "not old": {
        "must_contain": ['"name": "DL360"'],
        "must_not_contain": ["nope"],
        "global": {"root-password": "kept out1"},
    },
}
