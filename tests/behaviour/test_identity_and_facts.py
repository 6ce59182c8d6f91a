"""Who a request is, seen in what it is answered, in every store.

Rules: docs/formats.md#identifiers, docs/selection.md#what-a-request-says-facts.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from answerd.errors import NotClaimed
from tests.support.fleet import Fleet

FORM = "application/x-www-form-urlencoded"
UUID = "12345678-1234-5678-9abc-98fa9b50d810"

INFINIBAND = "80:00:02:08:fe:80:00:00:00:00:00:00:f4:52:14:03:00:7b:cb:a1"

CLAIMS: dict[str, tuple[str, dict[str, Any]]] = {
    "a path segment": ("98fa9b50d810", {"target": "/x/98-FA-9B-50-D8-10/y"}),
    "a path segment with an extension": ("node.1", {"target": "/node.1.ks"}),
    "a path segment with an extension in capitals": ("node1", {"target": "/node1.TOML"}),
    "an escaped segment": ("98fa9b50d810", {"target": "/98%3afa%3a9b%3a50%3ad8%3a10"}),
    "OpenBSD's file name": ("98fa9b50d810", {"target": "/pve/98:fa:9b:50:d8:10-install.conf"}),
    "AutoYaST's file name": ("98fa9b50d810", {"target": "/98FA9B50D810"}),
    "PXELINUX's file name": ("98fa9b50d810", {"target": "/boot/01-98-fa-9b-50-d8-10"}),
    "PXELINUX's file name with an extension": ("98fa9b50d810", {"target": "/01-98-fa-9b-50-d8-10.ipxe"}),
    "PXELINUX's name in a query": ("98fa9b50d810", {"target": "/?m=01-98-fa-9b-50-d8-10"}),
    "a query value, escaped": ("98fa9b50d810", {"target": "/boot?mac=98%3Afa%3A9b%3A50%3Ad8%3A10"}),
    "a short query value": ("7", {"target": "/?slot=7"}),
    "Cisco's form": ("98-fa-9b-50-d8-10", {"target": "/?mac=98FA.9B50.D810"}),
    "a serial number with punctuation": ("VMware-56_4d", {"target": "/?serial=vmware%2056%204d"}),
    "a JSON body": ("98fa9b50d810", {"json": {"network_interfaces": [{"mac": "98:FA:9B:50:D8:10"}]}}),
    "a JSON body, escaped": ("98fa9b50d810", {"body": b'{"m": "98\\u003afa\\u003a9b\\u003a50\\u003ad8\\u003a10"}'}),
    "a MAC address within a JSON string": ("98fa9b50d810", {"json": ["eth0=98:fa:9b:50:d8:10;"]}),
    "a serial number in JSON": ("7ABC", {"json": {"dmi": {"system": {"serial": "7abc"}}}}),
    "a number in JSON": ("1234", {"json": {"asset": 1234}}),
    "a fraction in JSON": ("123.4", {"body": b'{"asset": 123.4}'}),
    "a UUID in JSON": (UUID, {"json": {"uuid": UUID.upper()}}),
    "a body that is nothing": ("98fa9b50d810", {"body": b"\x00\xff 98:fa:9b:50:d8:10\xfe"}),
    "a form": ("node1", {"body": b"h=node%2D1&x=1", "content_type": FORM}),
    "a form's escaped MAC address": ("98fa9b50d810", {"body": b"m=98%3Afa%3A9b%3A50%3Ad8%3A10", "content_type": FORM}),
    "anaconda's MAC address": ("98fa9b50d810", {"X_RHN_Provisioning_MAC_3": "eno1 98:FA:9B:50:D8:10"}),
    "anaconda's serial number": ("SN-1", {"X_System_Serial_Number": "sn 1"}),
    "the peer": ("192.0.2.7", {"peer": "192.0.2.7"}),
    "the peer, IPv6": ("2001:db8:0:0:0:0:0:7", {"peer": "2001:db8::7"}),
    "an address in a query": ("2001:db8::7", {"target": "/?ip=2001:DB8:0::7"}),
    "an address in a segment": ("192.168.1.11", {"target": "/192.168.1.11/x"}),
    "an address behind a word that ends in two hex digits": ("98fa9b50d810", {"target": "/pve/mac-98-fa-9b-50-d8-10"}),
    "an address before a word that begins with two": ("98fa9b50d810", {"target": "/98-fa-9b-50-d8-10-centos"}),
    "an address behind a word in a body": ("98fa9b50d810", {"body": b"mac:98:fa:9b:50:d8:10"}),
    "a key of a JSON object": ("98fa9b50d810", {"json": {"interfaces": {"98:fa:9b:50:d8:10": {"up": True}}}}),
    "the first of two values of one key": ("98fa9b50d810", {"body": b'{"m": "98:fa:9b:50:d8:10", "m": 1}'}),
    "an object called peer": ("98fa9b50d810", {"json": {"peer": {"mac": "98:fa:9b:50:d8:10"}}}),
    "a JSON body with a number beyond a double": ("7ABC", {"body": b'{"x": 1e400, "serial": "7abc"}'}),
    "an InfiniBand address": ("f4521403007bcba1", {"target": f"/?mac={INFINIBAND}"}),
    "an InfiniBand address without separators": (
        "f4-52-14-03-00-7b-cb-a1",
        {"target": f"/?mac={INFINIBAND.replace(':', '')}"},
    ),
    "an InfiniBand address in a segment": ("f4521403007bcba1", {"target": f"/x/{INFINIBAND.replace(':', '-')}.ipxe"}),
    "an InfiniBand address in PXELINUX's file name": (
        "f4521403007bcba1",
        {"target": f"/boot/20-{INFINIBAND.replace(':', '-')}"},
    ),
    "an InfiniBand address in JSON": ("f4521403007bcba1", {"json": {"nics": [{"mac": INFINIBAND.upper()}]}}),
    "an InfiniBand address in anaconda's header": (
        "f4521403007bcba1",
        {"X_RHN_Provisioning_MAC_0": f"ib0 {INFINIBAND}"},
    ),
    "all of an InfiniBand address, of another queue pair": (
        "80-00-00-48-fe-80-00-00-00-00-00-00-f4-52-14-03-00-7b-cb-a1",
        {"target": f"/?mac={INFINIBAND}"},
    ),
    "the port of an InfiniBand address": (
        "80-00-00-48-fe-80-00-00-00-00-00-00-f4-52-14-03-00-7b-cb-a1",
        {"target": "/?mac=f4:52:14:03:00:7b:cb:a1"},
    ),
    "an EUI-64": ("00-11-22-33-44-55-66-77", {"target": "/?guid=00:11:22:33:44:55:66:77"}),
}


@pytest.mark.parametrize(("identifier", "asked"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_machine_is_known_by(fleet: Fleet, identifier: str, asked: dict[str, Any]) -> None:
    fleet.write({f"{identifier}.toml": "x = 1\n", "default.toml": "d = 1\n"})
    assert fleet.text(**asked) == "x = 1\n"
    fleet.remove(f"{identifier}.toml")
    fleet.write({"groups/g.toml": f'members = ["{identifier}"]\ng = 1\n'})
    assert fleet.text(**asked) == "g = 1\n"


UNKNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "a user agent": ("wget", {"user_agent": "wget"}),
    "its own word about the peer": ("10.0.0.9", {"target": "/?peer=10.0.0.9"}),
    "its own word about the peer in JSON": ("10.0.0.9", {"json": {"peer": "10.0.0.9"}}),
    "its own word about the peer in a form": ("10.0.0.9", {"body": b"peer=10.0.0.9", "content_type": FORM}),
    "its own word about the user agent": ("node1", {"target": "/?user_agent=node1"}),
    "a schema version": ("10", {"json": {"$schema": {"version": "1.0"}}}),
    "a short text in JSON": ("abc", {"json": ["abc"]}),
    "a short number in JSON": ("123", {"json": [123]}),
    "a truth in JSON": ("true", {"json": [True]}),
    "a name in JSON": ("serial", {"json": {"serial": 1}}),
    "a label of the query": ("serial", {"target": "/?serial=1"}),
    "a part of a longer name": ("node1", {"target": "/node12"}),
    "a part of a path": ("ab", {"target": "/a/b"}),
    "the tail of a UUID": ("98fa9b50d810", {"target": f"/?uuid={UUID}"}),
    "the tail of a UUID in JSON": ("98fa9b50d810", {"json": {"uuid": UUID}}),
    "a part of an InfiniBand address": ("001122334455", {"target": "/?g=00:11:22:33:44:55:66:77"}),
    "the network's part of an InfiniBand address": ("fe80000000000000", {"target": f"/?mac={INFINIBAND}"}),
    "another port": ("f4521403007bcba2", {"target": f"/?mac={INFINIBAND}"}),
    "40 digits that are no address": ("f4521403007bcba1", {"target": f"/?sha1={INFINIBAND.replace(':', '')}"}),
    "a part of a longer hex number": ("98fa9b50d810", {"target": "/?x=98fa9b50d8100"}),
    "mixed separators": ("98fa9b50d810", {"body": b"x 98:fa-9b:50-d8:10"}),
    "another address of the same digits": ("192.168.11.1", {"target": "/?ip=192.168.1.11"}),
    "a fragment of two values": ("98fa9b50d810", {"target": "/?a=98fa9b&b=50d810"}),
    "another header": ("node1", {"X_Host": "node1"}),
    "an unknown extension": ("node1", {"target": "/node1.txt"}),
}


@pytest.mark.parametrize(("identifier", "asked"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_a_machine_is_not_known_by(fleet: Fleet, identifier: str, asked: dict[str, Any]) -> None:
    fleet.write({f"{identifier}.toml": "x = 1\n", "groups/g.toml": f'members = ["{identifier}"]\n'})
    with pytest.raises(NotClaimed):
        fleet.ask(**asked)


SELECTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the whole path": ("path", "boot/x y", {"target": "/boot/x%20y/"}),
    "the file": ("file", "node.ks", {"target": "/boot/node.ks"}),
    "any segment": ("segment", "boot", {"target": "/a/boot/b"}),
    "a query parameter in any case": ("serial", "S-1", {"target": "/?SERIAL=s1"}),
    "a label in any case": ("Serial", "S-1", {"target": "/?serial=s1"}),
    "a plus as a blank": ("product", "Blade 9000", {"target": "/?product=Blade+9000"}),
    "a second value": ("mac", "bb*", {"target": "/?mac=aa&mac=bb1"}),
    "a full path in JSON": ("dmi.system.serial", "s", {"json": {"dmi": {"System": {"serial": "S"}}}}),
    "an element in JSON": ("network_interfaces.1.mac", "bb", {"json": {"network_interfaces": [{}, {"mac": "bb"}]}}),
    "a leaf in JSON": ("mac", "bb", {"json": {"nics": [{"mac": "aa"}, {"mac": "bb"}]}}),
    "an element of a list of texts": ("tags", "gpu", {"json": {"tags": ["cpu", "gpu"]}}),
    "a truth": ("product.enable_btrfs", "true", {"json": {"product": {"enable_btrfs": True}}}),
    "a number": ("cpus", "128", {"json": {"cpus": 128}}),
    "a form": ("product", "Blade & Co", {"body": b"product=Blade%20%26+Co", "content_type": FORM}),
    "JSON that is sent as a form": ("product", "blade", {"body": b'{"product": "Blade"}', "content_type": FORM}),
    "a number beyond a double": ("size", "1e400", {"body": b'{"size": 1e400}'}),
    "a zero with a sign": ("size", "-0", {"body": b'{"size": -0, "serial": "7abc"}'}),
    "letters that case-folding makes two of": ("city", "STRASSE*", {"json": {"city": "Straße 7"}}),
    "a pattern of such letters": ("city", "straße*", {"json": {"city": "STRASSE 7"}}),
    "the peer": ("peer", "192.0.2.*", {"peer": "192.0.2.7"}),
    "the user agent": ("user_agent", "iPXE*", {"user_agent": "iPXE/1.21.1"}),
    "anaconda's header": ("mac", "525400abcdef", {"X_RHN_Provisioning_MAC_0": "eno0 52:54:00:ab:cd:ef"}),
    "a NIC list in which one counts": ("link", "eno2", {"json": [{"link": "eno1"}, {"link": "eno2"}]}),
}


@pytest.mark.parametrize(("label", "pattern", "asked"), SELECTS.values(), ids=SELECTS.keys())
def test_a_selector_sees(fleet: Fleet, label: str, pattern: str, asked: dict[str, Any]) -> None:
    fleet.write({"groups/g.toml": f'x = 1\n[match]\n"{label}" = "{pattern}"\n'})
    assert fleet.text(**asked) == "x = 1\n"


BLIND: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a label without a value": ("undef", "*", {"target": "/?undef="}),
    "null in JSON": ("a", "*", {"json": {"a": None}}),
    "an empty text in JSON": ("a", "*", {"json": {"a": ""}}),
    "an index as a leaf": ("0", "*", {"json": {"a": ["x"]}}),
    "a path of the root": ("path", "*", {"target": "/"}),
    "its own word about the peer": ("peer", "10*", {"target": "/?peer=10.0.0.1", "peer": "192.0.2.7"}),
    "its own word about the machine": ("machine", "*", {"target": "/?machine=a"}),
    "a body that is nothing": ("mac", "*", {"body": b"mac=1"}),
    "another header": ("x-host", "*", {"X_Host": "node1"}),
    "its own word about a state": ("state", "*", {"target": "/?state=armed", "json": {"a": {"state": "new"}}}),
    "its own word about a secret": ("secret.root", "*", {"target": "/?secret.root=x", "json": {"secret": {"root": 1}}}),
    "a value of more than 1,024 characters": ("serial", "*", {"json": {"serial": "x" * 1_025}}),
    "a missing label": ("serial", "*", {"target": "/?mac=1"}),
}


@pytest.mark.parametrize(("label", "pattern", "asked"), BLIND.values(), ids=BLIND.keys())
def test_a_selector_does_not_see(fleet: Fleet, label: str, pattern: str, asked: dict[str, Any]) -> None:
    fleet.write({"groups/g.toml": f'x = 1\n[match]\n"{label}" = "{pattern}"\n'})
    with pytest.raises(NotClaimed):
        fleet.ask(**asked)


def test_a_placeholder_takes_the_first_value_in_order_of_arrival(fleet: Fleet) -> None:
    fleet.write({"default.ks": "{{ mac }} {{ mac | upper }}\n"})
    body = {"mac": "cc"}
    assert fleet.text("/?mac=aa&mac=bb", json=body, X_RHN_Provisioning_MAC_0="e dd") == "aa AA\n"
    assert fleet.text("/", json=body, X_RHN_Provisioning_MAC_0="e dd") == "dd DD\n"
    assert fleet.text("/", json=body) == "cc CC\n"


@pytest.mark.parametrize("name", ["proxmox-8.2-vm.json", "proxmox-8.2-cisco-ucs.json", "proxmox-9.2-two-nics.json"])
def test_what_a_proxmox_installer_posts_names_each_of_its_interfaces(fleet: Fleet, name: str) -> None:
    body = BODIES[name]
    for interface in body["network_interfaces"]:
        fleet.write({f"{interface['mac'].lower()}.toml": f'link = "{interface["link"]}"\n'})
        assert fleet.text("/pve/answer", json=body) == f'link = "{interface["link"]}"\n'
        fleet.remove(f"{interface['mac'].lower()}.toml")
    fleet.write(
        {"default.toml": 'a = "{{ network_interfaces.0.mac | dashes }} {{ iso.release }} {{ product.product }}"\n'}
    )
    first = body["network_interfaces"][0]["mac"].lower().replace(":", "-")
    assert fleet.text("/pve/answer", json=body) == f'a = "{first} {body["iso"]["release"]} pve"\n'


def _interfaces(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"link": link, "mac": mac} for link, mac in pairs]


BODIES: dict[str, Any] = {
    "proxmox-8.2-vm.json": {
        "product": {"fullname": "Proxmox VE", "product": "pve", "enable_btrfs": True},
        "iso": {"release": "8.2", "isorelease": "2"},
        "dmi": {
            "system": {"name": "Standard PC", "serial": "", "uuid": "00000000-0000-0000-0000-000000000000", "sku": ""},
            "baseboard": {},
            "chassis": {"asset_tag": "", "serial": ""},
        },
        "network_interfaces": _interfaces(("ens18", "aa:bb:cc:dd:ee:01")),
    },
    "proxmox-8.2-cisco-ucs.json": {
        "product": {"fullname": "Proxmox VE (mocked)", "product": "pve", "enable_btrfs": True},
        "iso": {"release": "8.2", "isorelease": "2"},
        "dmi": {"system": {"serial": "<serial_number_chassis>", "name": "UCSC-C220-M4S", "sku": ""}},
        "network_interfaces": _interfaces(("enp9s0", "aa:bb:cc:dd:ee:01"), ("enp10s0", "aa:bb:cc:dd:ee:02")),
    },
    "proxmox-9.2-two-nics.json": {
        "$schema": {"version": "1.0"},
        "product": {"fullname": "Proxmox VE", "product": "pve", "enable_btrfs": True},
        "iso": {"release": "9.2", "isorelease": "1"},
        "dmi": {"system": {"serial": "A263331X9", "uuid": "00000000-0000-0000-0000-ac1f6bd3c2f4"}},
        "network_interfaces": _interfaces(("eno1", "AC:1F:6B:D3:C2:F4"), ("eno2", "AC:1F:6B:D3:C2:F5")),
    },
}
"""The shapes that real installers post, addresses and serial numbers masked."""


def test_two_answers_to_one_body_are_the_same_in_any_order_of_keys(fleet: Fleet) -> None:
    fleet.write({"groups/g.toml": 'x = "{{ dmi.system.serial }}"\n[match]\nserial = "A26*"\n'})
    body = BODIES["proxmox-9.2-two-nics.json"]
    turned = json.loads(json.dumps(body), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert fleet.text("/pve", json=body) == fleet.text("/pve", json=turned) == 'x = "A263331X9"\n'
