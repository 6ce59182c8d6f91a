"""A made-up fleet: its machines, the documents that answer them, and the requests of their installers.

Usage:
  fleet DIR [--machines N] [--once]

Options:
  --machines N  Machines in the fleet [default: 1000].
  --once        The lab that installs once (loadtest/once.py).

Run as ``python -m loadtest.fleet``: writes the documents of the locust scripts' fleet into DIR.

Everything follows from a machine's number, so a load script can check that an answer is the machine's own without
reading a document.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from docopt import docopt

OUI = "00:16:3e"
"""The prefix of all MAC addresses of the fleet: a vendor's, because locally administered addresses identify a machine
only where it has no other."""

RACK = 50
"""Machines that share one group."""

Documents = Iterator[tuple[str, str]]
"""Pairs of a document's flat name (``groups/rack-00001.toml``) and its text."""


@dataclass(frozen=True)
class Machine:
    """One machine of the fleet, by its number (from 0, below 16,777,216)."""

    number: int

    @cached_property
    def mac(self) -> str:
        """Of its first interface, in lower case with colons."""
        digits = f"{self.number:06x}"
        return f"{OUI}:{digits[:2]}:{digits[2:4]}:{digits[4:]}"

    @property
    def identifier(self) -> str:
        """What its documents are named."""
        return self.mac.replace(":", "-")

    @property
    def serial(self) -> str:
        """Its system serial number."""
        return f"SN{self.number:08d}"

    @property
    def uuid(self) -> str:
        return f"0f3a1c5e-7b2d-4e86-9a4c-{self.mac.replace(':', '')}"

    @property
    def rack(self) -> str:
        """The group that it belongs to."""
        return f"rack-{self.number // RACK:06d}"

    @property
    def host(self) -> str:
        """Its host name, which no other machine's answer holds."""
        return f"node-{self.number:08d}"

    @property
    def network(self) -> str:
        return f"10.{self.number >> 16 & 255}.{self.number >> 8 & 255}.{self.number & 255}"


# --- documents ------------------------------------------------------------------------------------------------------

_KEYS = ",\n".join(
    f'  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{name}{"Made0up0Key" * 3} {name}@ops.lab.example.com"'
    for name in ("anna", "bert", "carl", "dora", "emil", "fred", "gina")
)

_RACK_TOML = f"""\
# What all machines of {{rack}} have in common.
[global]
keyboard = "en-us"
country = "at"
timezone = "Europe/Vienna"
mailto = "root@{{rack}}.lab.example.com"
root-password-hashed = "$y$j9T$MadeUpSalt$MadeUpHashOfNoPassword000000000000000000000"
reboot-on-error = false
reboot-mode = "reboot"
root-ssh-keys = [
{_KEYS}
]

[network]
source = "from-dhcp"

[disk-setup]
filesystem = "zfs"
disk-list = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"]

[disk-setup.zfs]
raid = "raid1"
ashift = 12
compress = "zstd"
checksum = "on"
hdsize = 100.0
"""

_OWN_TOML = f"""\
# {{host}} in {{rack}}
{{extends}}
[global]
fqdn = "{{host}}.lab.example.com"
mailto = "{{mail}}"
root-ssh-keys = [
{_KEYS}
]

[network]
source = "from-answer"
cidr = "{{network}}/8"
dns = "10.0.0.53"
gateway = "10.255.255.254"

[network.filter]
ID_NET_NAME_MAC = "{{adapter}}"

[disk-setup]
filter-match = "any"

[disk-setup.zfs]
raid = "raid10"
arc-max = 8192

[first-boot]
source = "from-url"
ordering = "network-online"
url = "{{first_boot}}"

[post-installation-webhook]
url = "{{webhook}}"
cert-fingerprint = "04:42:97:27:F6:29:0D:29:97:7F:E0:FD:E3:B0:38:A7:DF:A0:9C:B5:B5:81:4D:AA:21:88:D6:C6:0C:B5:C2:58"
"""

_VERBATIM_KS = f"""\
# kickstart of {{host}}
text
lang en_US.UTF-8
keyboard --xlayouts=us
timezone Europe/Vienna --utc
network --bootproto=static --ip={{network}} --netmask=255.0.0.0 --gateway=10.255.255.254 --hostname={{host}}.example.com
url --url=https://mirror.lab.example.com/rocky/9/BaseOS/x86_64/os
rootpw --iscrypted $6$MadeUpSalt$MadeUpHashOfNoPassword
zerombr
clearpart --all --initlabel
autopart --type=lvm
bootloader --append="console=ttyS0,115200"
reboot

%packages
@^minimal-environment
chrony
tmux
%end

%post --log=/root/post.log
mkdir -m 0700 /root/.ssh
cat >/root/.ssh/authorized_keys <<END
{_KEYS}
END
hostnamectl set-hostname {{host}}
systemctl enable --now chronyd
%end
"""

_HOLES = {
    "mail": "root+{{ dmi.system.serial | lower }}@lab.example.com",
    "adapter": "*{{ mac | bare }}",
    "first_boot": "https://deploy.lab.example.com/first-boot?uuid={{ dmi.system.uuid }}",
    "webhook": "https://deploy.lab.example.com/done/{{ machine }}?mac={{ mac | dashes }}",
}
"""The five placeholders of a templated document."""


def rack_document(rack: str) -> tuple[str, str]:
    """Return the group document of a rack, 1.2 KB."""
    return f"groups/{rack}.toml", _RACK_TOML.format(rack=rack)


def templated_document(machine: Machine, mark: str = "") -> tuple[str, str]:
    """Return a machine's document over its rack's with placeholders, 1.5 KB. ``mark`` makes it another version."""
    extends = f'extends = "{machine.rack}"\n'
    text = _OWN_TOML.format(
        host=machine.host + mark, rack=machine.rack, network=machine.network, extends=extends, **_HOLES
    )
    return f"{machine.identifier}.toml", text


def merged_document(machine: Machine) -> tuple[str, str]:
    """Return a machine's document over its rack's without placeholders, 1.5 KB."""
    text = _OWN_TOML.format(
        host=machine.host,
        rack=machine.rack,
        network=machine.network,
        extends=f'extends = "{machine.rack}"\n',
        mail=f"root+{machine.serial.lower()}@lab.example.com",
        adapter=f"*{machine.mac.replace(':', '')}",
        first_boot=f"https://deploy.lab.example.com/first-boot?serial={machine.serial}",
        webhook=f"https://deploy.lab.example.com/done/{machine.identifier}",
    )
    return f"{machine.identifier}.toml", text


def kickstart(host: str, network: str) -> str:
    """Return a kickstart of 1.4 KB with a host name and an address, or with placeholders for them."""
    return _VERBATIM_KS.format(host=host, network=network)


def verbatim_document(machine: Machine) -> tuple[str, str]:
    """Return a kickstart that is served as it was written, 1.4 KB."""
    return f"{machine.identifier}.ks", kickstart(machine.host, machine.network)


def templated_fleet(machines: int) -> Documents:
    """Racks and their machines' documents with placeholders."""
    for number in range(machines):
        machine = Machine(number)
        if number % RACK == 0:
            yield rack_document(machine.rack)
        yield templated_document(machine)


ROWS_OF_A_FILE = 100_000
"""Rows of one inventory: 7 MB, and one may have 16."""

ROW_COLUMNS = ("id", "mac", "serial", "kind", "network")


def inventory_document(first: int, rows: int, marked: int | None = None, mark: str = "") -> tuple[str, str]:
    """Return an inventory with a row for each of ``rows`` machines from ``first`` on; the name in one row has a
    ``mark``."""
    lines = [",".join(ROW_COLUMNS)]
    for number in range(first, first + rows):
        machine = Machine(number)
        name = machine.host + (mark if number == marked else "")
        lines.append(f"{name},{machine.mac},{machine.serial},lab,{machine.network}")
    return f"inventory/part-{first // ROWS_OF_A_FILE:04}.csv", "\n".join(lines) + "\n"


def inventory_fleet(machines: int) -> Documents:
    """Return rows, and one group for all of them, over another: the same answers as those of `templated_fleet`."""
    yield rack_document("rack-base")
    text = _OWN_TOML.format(
        host="{{ id }}", rack="rack-base", network="{{ network }}", extends='extends = "rack-base"\n', **_HOLES
    )
    yield "groups/lab.toml", f'match = {{ kind = "lab" }}\n{text}'.replace("{{ machine }}", "{{ id }}")
    for first in range(0, machines, ROWS_OF_A_FILE):
        yield inventory_document(first, min(ROWS_OF_A_FILE, machines - first))


def selecting_fleet(groups: int, pattern: str) -> Documents:
    """Return groups that claim by ``match`` alone. ``pattern`` is one for asset tags, ``{rack}`` in it the rack's
    name."""
    for number in range(groups):
        rack = Machine(number * RACK).rack
        asked = json.dumps(pattern.format(rack=rack))
        text = f'match = {{ "dmi.chassis.asset_tag" = {asked} }}\n\n{_RACK_TOML.format(rack=rack)}'
        text = text.replace("[network]", f'fqdn = "{rack}.lab.example.com"\n\n[network]', 1)
        yield f"groups/{rack}.toml", text


# --- what installers send -------------------------------------------------------------------------------------------


_JUNK = "To be filled by O.E.M."


def proxmox_body(machine: Machine, virtual_functions: int = 0) -> bytes:
    """Return the body of a POST of the Proxmox installer 9.2: MAC addresses in upper case, its own first.

    0.5 KB; a host whose adapters are split into 50 virtual functions sends 3 KB.
    """
    interfaces = [
        {"link": "eno1", "mac": machine.mac.upper()},
        {"link": "enx0a94ef0c1b2d", "mac": "0A:94:EF:0C:1B:2D"},  # the management controller's, the same on every host
    ]
    interfaces += [
        {"link": f"enp65s0f{at % 2}v{at // 2}", "mac": f"0E:94:EF:00:{at:02X}:01"} for at in range(virtual_functions)
    ]
    body = {
        "$schema": {"version": "1.0"},
        "product": {"fullname": "Proxmox VE", "product": "pve", "enable_btrfs": True},
        "iso": {"release": "9.2", "isorelease": "1"},
        "dmi": {
            "baseboard": {"serial": _JUNK, "name": "X11DPi-N", "asset_tag": _JUNK},
            "chassis": {"sku": "", "asset_tag": f"{machine.rack}-u07", "serial": "C8150LJ20"},
            "system": {
                "sku": "091715D9",
                "serial": machine.serial,
                "uuid": machine.uuid,
                "name": "SYS-2029U-TR4",
            },
        },
        "network_interfaces": interfaces,
    }
    return json.dumps(body, separators=(",", ":")).encode()


WIDE = 50
"""Virtual functions that make a Proxmox body 3 KB."""

PROXMOX_HEADERS = {
    "accept-encoding": "gzip",
    "user-agent": "ureq/3.0.11",
    "content-type": "application/json; charset=utf-8",
    "accept": "application/json, application/toml;q=0.5",
}
ANACONDA_HEADERS = {"User-Agent": "curl/7.88.1", "Accept": "*/*"}
IPXE_HEADERS = {"User-Agent": "iPXE/2.0.0"}
CLOUD_INIT_HEADERS = {"User-Agent": "Cloud-Init/24.1", "Accept-Encoding": "gzip, deflate", "Accept": "*/*"}


def anaconda_headers(machine: Machine) -> dict[str, str]:
    """Return the headers of Anaconda with ``inst.ks.sendmac`` and ``inst.ks.sendsn``."""
    return {
        **ANACONDA_HEADERS,
        "X-RHN-Provisioning-MAC-0": f"eno1 {machine.mac}",
        "X-System-Serial-Number": machine.serial,
    }


# --- the mixed fleet of the locust scripts --------------------------------------------------------------------------

KINDS = ("proxmox", "kickstart", "nocloud", "chain")
"""How the machines of the mixed fleet are installed, in turn: machine 6 is a NoCloud machine."""

_MIXED_GROUPS = {
    "groups/rocky.ks": "text\nlang en_US.UTF-8\ntimezone Europe/Vienna --utc\nclearpart --all --initlabel\nautopart\n",
    "groups/ubuntu.yaml": """\
#cloud-config
autoinstall:
  version: 1
  locale: en_US.UTF-8
  storage:
    layout:
      name: lvm
""",
}

_MIXED_OWN = {
    "kickstart": {
        "ks": "# answer: extends rocky\nnetwork --hostname={host} --device={{{{ mac }}}}\n# {{{{ serial }}}}\n",
    },
    "nocloud": {
        "yaml": "extends: ubuntu\nautoinstall:\n  identity:\n    hostname: {host}\n    username: admin\n",
    },
    "chain": {
        "ipxe": "#!ipxe\nset hostname {host}\nchain /debian/preseed?mac={{{{ mac | colons }}}}\n",
        "preseed": "d-i netcfg/get_hostname string {host}\nd-i netcfg/choose_interface select {{{{ mac | colons }}}}\n",
    },
}


def kind_of(machine: Machine) -> str:
    """Return how a machine of the mixed fleet is installed."""
    return KINDS[machine.number % len(KINDS)]


def mixed_fleet(machines: int) -> Documents:
    """Return the documents that the locust scripts ask for."""
    yield from _MIXED_GROUPS.items()
    for rack in range(-(-machines // RACK)):
        yield rack_document(Machine(rack * RACK).rack)
    for number in range(machines):
        machine = Machine(number)
        kind = kind_of(machine)
        if kind == "proxmox":
            yield templated_document(machine)
        for extension, text in _MIXED_OWN.get(kind, {}).items():
            yield f"{machine.identifier}.{extension}", text.format(host=machine.host)


# --- the lab that installs once --------------------------------------------------------------------------------------

_ONCE_LOADER = """\
#!ipxe
# answer: match kind=lab
# answer: once
echo Installing {{ id }}
kernel http://10.0.0.1/vmlinuz inst.ks=http://10.0.0.1:8000/ks?mac={{ mac | colons }}
boot
"""

_ONCE_KICKSTART = """\
# answer: match kind=lab
# answer: once
text
network --hostname={{ id }}
autopart
%post
curl -X POST {{ report }}/installed
%end
"""


def once_fleet(machines: int) -> Documents:
    """Return a row for each machine, one boot loader's script and one kickstart for all, both given once."""
    yield "groups/once.ipxe", _ONCE_LOADER
    yield "groups/once.ks", _ONCE_KICKSTART
    for first in range(0, machines, ROWS_OF_A_FILE):
        yield inventory_document(first, min(ROWS_OF_A_FILE, machines - first))


def write(documents: Documents, directory: Path) -> int:
    """Write documents into a directory in the file store's layout; return how many."""
    (directory / "groups").mkdir(parents=True, exist_ok=True)
    count = 0
    for name, text in documents:
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(text.encode())
        count += 1
    return count


def main() -> int:
    """Write the mixed fleet where the command line says."""
    arguments = docopt(__doc__)
    machines = int(arguments["--machines"])
    documents = once_fleet(machines) if arguments["--once"] else mixed_fleet(machines)
    count = write(documents, Path(arguments["DIR"]))
    print(f"{count} documents for {machines} machines in {arguments['DIR']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
