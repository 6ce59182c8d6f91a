"""Every installer that is known, byte for byte as it asks, against the real program.

One program for the whole file: each client's documents carry names of their own, as in a real fleet.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service import Service, write_tree

FLEET = {
    "52-54-00-ab-cd-ef.ipxe": "#!ipxe\nchain http://x/{{ mac | dashes }}\n",
    "groups/blades.ipxe": '# answer: match product="Blade 9000*" file=product.ipxe\n#!ipxe\necho {{ product }}\n',
    "52-54-00-ab-cd-ef.preseed": "d-i netcfg/get_hostname string {{ serial | lower }}\n",
    "default.preseed": "d-i marker string default\n",
    "groups/cloud.yaml": "#cloud-config\nmembers: ['52:54:00:ab:cd:ef', 'SN/1é']\nhostname: n1\n",
    "52-54-00-ab-cd-f0.toml": (
        '[global]\nfqdn = "{{ dmi.baseboard.serial | lower }}.example.com"\nuuid = "{{ uuid }}"\n'
    ),
    "groups/cisco.toml": 'marker = "{{ dmi.system.name }}"\n[match]\n"dmi.system.name" = "UCSC*"\n',
    "52-54-00-ab-cd-ef.ks": "lang fr_FR\n# {{ serial }} {{ user_agent }}\n",
    "52-54-00-ab-cd-ef.ign": '{"ignition": {"version": "3.4.0"}, "mac": "{{ mac }}"}',
    "52-54-00-ab-cd-ef.autoyast": "<profile><a>{{ machine }}</a></profile>\n",
    "52-54-00-ab-cd-ef.cfg": "System hostname = openbsd\n",
    "52-54-00-ab-cd-ef.json": '{"product": {"id": "Leap_16.0"}, "root": {"mac": "{{ mac }}"}}',
    "52-54-00-ab-cd-ef.unattend": "<unattend><a>{{ mac | colons }}</a></unattend>\n",
    "groups/xen-stages.cfg": "# answer: member xen-1\n# answer: match file=complete\n#!/bin/sh\necho {{ serial }} $1\n",
    "talos-1.yml": "machine: talos\n",
    "xen-1.xml": "<installation>{{ serial }}</installation>\n",
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The program, with a fleet of one machine or two for each client."""
    directory: Path = tmp_path_factory.mktemp("answers")
    write_tree(directory, FLEET)
    with Service(SERVICE_ANSWERS_DIR=directory) as service:
        yield service


def request(*lines: str, body: str = "") -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body.encode()


@pytest.mark.parametrize(
    "target", ["/boot.ipxe?mac=52%3A54%3A00%3Aab%3Acd%3Aef", "/boot.ipxe?mac=52:54:00:ab:cd:ef"], ids=["2019", "newer"]
)
def test_ipxe_by_its_mac_address(fleet: Service, target: str) -> None:
    reply = fleet.send(
        request(
            f"GET /ipxe{target} HTTP/1.1",
            "Connection: keep-alive",
            "User-Agent: iPXE/1.0.0+git-20190125.36a4c85-5.1",
            "Host: 10.0.2.2:18081",
        )
    )
    assert (reply.status, reply.text) == (200, "#!ipxe\nchain http://x/52-54-00-ab-cd-ef\n")
    assert reply.headers["connection"] == "close"
    assert int(reply.headers["content-length"]) == len(reply.body)


@pytest.mark.parametrize(
    ("query", "product"),
    [
        ("product=Blade%209000%20%26%20Co&undef=&mac=52-54-00-99-99-99", "Blade 9000 & Co"),
        ("product=Blade%209000%20&%20Co&undef=", "Blade 9000 "),
        ("product=Blade+9000&undef=", "Blade 9000"),
    ],
    ids=["newer", "2019, the ampersand raw", "a plus"],
)
def test_ipxe_by_what_it_says_of_itself(fleet: Service, query: str, product: str) -> None:
    reply = fleet.send(
        request(
            f"GET /x/product.ipxe?{query} HTTP/1.1",
            "Connection: keep-alive",
            "User-Agent: iPXE/1.21.1+git-20220113",
            "Host: 10.0.2.2:18081",
        )
    )
    assert (reply.status, reply.text) == (200, f"#!ipxe\necho {product}\n")


def test_ipxe_posts_its_params(fleet: Service) -> None:
    body = "mac=52%3A54%3A00%3Aab%3Acd%3Aef&serial=S1&product=Blade%209000%20%26%20Co"
    reply = fleet.send(
        request(
            "POST /ipxe HTTP/1.1",
            "Connection: keep-alive",
            "User-Agent: iPXE/2.0.0",
            "Host: 10.0.2.2:18081",
            "Content-Type: application/x-www-form-urlencoded",
            f"Content-Length: {len(body)}",
            body=body,
        )
    )
    assert (reply.status, reply.text) == (200, "#!ipxe\nchain http://x/52-54-00-ab-cd-ef\n")


@pytest.mark.parametrize("path", ["/../../etc/x", "/%2e%2e/%2e%2e/etc/passwd", "/groups/..%2f..%2fx", "//etc/passwd"])
def test_ipxes_raw_paths_reach_nothing(fleet: Service, path: str) -> None:
    reply = fleet.send(request(f"GET {path} HTTP/1.1", "Connection: keep-alive", "User-Agent: iPXE/2.0.0", "Host: a"))
    assert reply.status == 200  # the default of the first format that has one: nothing else has been asked for
    assert reply.text == "d-i marker string default\n"


def test_debian_installer(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /debian/preseed?mac=52:54:00:ab:cd:ef&serial=SN-TEST-001 HTTP/1.1",
            "Host: 10.0.2.2:18082",
            "User-Agent: debian-installer",
            "Accept: */*",
            "Accept-Encoding: identity",
            "Connection: Keep-Alive",
        )
    )
    assert (reply.status, reply.text) == (200, "d-i netcfg/get_hostname string sn-test-001\n")


def test_debian_installer_with_a_host_alone(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /d-i/bookworm/preseed.cfg HTTP/1.1",
            "Host: 10.0.2.2:18082",
            "User-Agent: debian-installer",
            "Accept: */*",
            "Accept-Encoding: identity",
            "Connection: Keep-Alive",
        )
    )
    assert reply.status == 200
    assert reply.text == "d-i marker string default\n"


CLOUD_INIT = (
    "Host: 127.0.0.1:18085",
    "User-Agent: Cloud-Init/22.4.2",
    "Accept-Encoding: gzip, deflate",
    "Accept: */*",
    "Connection: keep-alive",
)


@pytest.mark.parametrize(
    ("file", "body"),
    [
        ("network-config", ""),
        ("meta-data", 'instance-id: "52:54:00:ab:cd:ef"\n'),
        ("user-data", "#cloud-config\nhostname: n1\n"),
        ("vendor-data", ""),
    ],
)
@pytest.mark.parametrize("seed", ["/ubuntu/52:54:00:ab:cd:ef/{}", "/ubuntu/?mac=52:54:00:ab:cd:ef&file={}"])
def test_cloud_init(fleet: Service, file: str, body: str, seed: str) -> None:
    reply = fleet.send(request(f"GET {seed.format(file)} HTTP/1.1", *CLOUD_INIT))
    assert (reply.status, reply.text) == (200, body)
    assert reply.headers["content-type"] == "text/yaml; charset=utf-8"
    assert reply.headers["content-length"] == str(len(body))


def test_cloud_inits_serial_number_of_odd_characters(fleet: Service) -> None:
    reply = fleet.send(request("GET /ubuntu/?serial=SN%2F1%C3%A9&file=user-data HTTP/1.1", *CLOUD_INIT))
    assert (reply.status, reply.text) == (200, "#cloud-config\nhostname: n1\n")


PROXMOX_9 = (
    '{"$schema":{"version":"1.0"},"product":{"fullname":"Proxmox VE","product":"pve","enable_btrfs":true},'
    '"iso":{"release":"8.0","isorelease":"2"},"dmi":{"baseboard":{"serial":"BS-7","name":"X11","asset_tag":"Asset-9"},'
    '"chassis":{"sku":"CSKU","asset_tag":"ChassisAsset","serial":"CH-1"},"system":{"sku":"SKU-1","serial":"SN\\"x/../é",'
    '"uuid":"12345678-1234-5678-9abc-def012345678","name":"Blade 9000 & Co"}},"network_interfaces":'
    '[{"link":"eno0","mac":"52:54:00:AB:CD:EF"},{"link":"eno1","mac":"52:54:00:AB:CD:F0"}]}'
)


def test_proxmox_9(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "POST /pve/answer HTTP/1.1",
            "accept-encoding: gzip",
            f"content-length: {len(PROXMOX_9.encode())}",
            "user-agent: ureq/3.0.11",
            "host: 127.0.0.1:18083",
            "content-type: application/json; charset=utf-8",
            "accept: application/json, application/toml;q=0.5",
            body=PROXMOX_9,
        )
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert tomllib.loads(reply.text) == {
        "global": {"fqdn": "bs-7.example.com", "uuid": "12345678-1234-5678-9abc-def012345678"}
    }


def test_proxmox_8(fleet: Service) -> None:
    body = json.dumps(
        {
            "dmi": {"system": {"name": "UCSC-C220-M4S", "serial": "<x>"}},
            "network_interfaces": [{"mac": "aa:bb:cc:dd:ee:01"}],
        },
        indent=4,
    )
    reply = fleet.send(
        request(
            "POST /answer HTTP/1.1",
            "Host: 127.0.0.1:18083",
            "Accept: */*",
            "Content-Type: application/json; charset=utf-",
            f"Content-Length: {len(body)}",
            body=body,
        )
    )
    assert (reply.status, reply.text) == (200, 'marker = "UCSC-C220-M4S"\n')


def test_proxmox_prints_an_error_on_its_console(fleet: Service) -> None:
    body = '{"network_interfaces":[{"mac":"aa:bb:cc:dd:ee:02"}]}'
    reply = fleet.send(
        request(
            "POST /pve/answer HTTP/1.1",
            "Host: 127.0.0.1:18083",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            body=body,
        )
    )
    assert reply.status == 404
    assert reply.text.count("\n") == 1
    assert "mac=aa:bb:cc:dd:ee:02" in reply.text


def test_anaconda(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /ks?a=1 HTTP/1.1",
            "Host: 127.0.0.1:18087",
            "User-Agent: curl/7.88.1",
            "Accept: */*",
            "X-RHN-Provisioning-MAC-0: eno0 52:54:00:ab:cd:ef",
            "X-RHN-Provisioning-MAC-1: eno1 52:54:00:ab:cd:f0",
            "X-System-Serial-Number: VMware-56 4d x",
        )
    )
    assert (reply.status, reply.text) == (200, "lang fr_FR\n# VMware-56 4d x curl/7.88.1\n")


def test_ignition(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /coreos/base.ign?mac=52:54:00:ab:cd:ef HTTP/1.1",
            "Host: 127.0.0.1:18086",
            "User-Agent: Ignition/2.26.0",
            "Accept: application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
            "Accept-Encoding: identity",
        )
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.text) == {"ignition": {"version": "3.4.0"}, "mac": "52:54:00:ab:cd:ef"}


def test_talos(fleet: Service) -> None:
    target = "/x?code=&hostname=Talos-1&mac=12%3A34%3A56%3A78%3A90%3Aab&uuid=12345678-1234-5678-9abc-525400abcdef"
    reply = fleet.send(request(f"GET {target} HTTP/1.1", "Host: a", "User-Agent: Go-http-client/1.1"))
    assert (reply.status, reply.text) == (200, "machine: talos\n")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("rules/rules.xml", 404),
        ("C0A80201", 404),
        ("C0A8020", 404),
        ("C", 404),
        ("525400ABCDEF", 200),
        ("525400abcdef", 200),
        ("default", 404),
    ],
)
def test_autoyast_tries_one_name_after_another(fleet: Service, name: str, status: int) -> None:
    reply = fleet.send(request(f"GET /suse/{name} HTTP/1.1", "Host: a", "User-Agent: AutoYaST"))
    assert reply.status == status
    if status == 200:
        assert "<a>52-54-00-ab-cd-ef</a>" in reply.text


@pytest.mark.parametrize(
    ("name", "answer"),
    [("52:54:00:ab:cd:ef-install.conf", "openbsd"), ("unknown-install.conf", None), ("install.conf", None)],
)
def test_openbsd_tries_one_name_after_another(fleet: Service, name: str, answer: str | None) -> None:
    reply = fleet.send(request(f"GET /cfg/{name} HTTP/1.1", "Host: a", "User-Agent: OpenBSD ftp"))
    assert reply.status == (200 if answer else 404)
    if answer:
        assert answer in reply.text


def test_xenserver(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /xml/xen-1?serial=%3Ca%3E HTTP/1.1",
            "Accept-Encoding: identity",
            "Host: a",
            "User-Agent: Python-urllib/3.6",
            "Connection: close",
        )
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/xml; charset=utf-8"
    assert reply.text == "<installation>&lt;a&gt;</installation>\n"


def test_xenserver_fetches_its_script_at_the_last_stage(fleet: Service) -> None:
    reply = fleet.send(
        request(
            "GET /cfg/xen-1/complete?serial=LAB7 HTTP/1.1",
            "Accept-Encoding: identity",
            "Host: a",
            "User-Agent: Python-urllib/3.6",
            "Connection: close",
        )
    )
    assert (reply.status, reply.text) == (200, "#!/bin/sh\necho LAB7 $1\n")


def test_agama(fleet: Service) -> None:
    reply = fleet.send(request("GET /json/agama?mac=52:54:00:ab:cd:ef HTTP/1.1", "Host: 10.0.2.2:8000", "Accept: */*"))
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.text) == {"product": {"id": "Leap_16.0"}, "root": {"mac": "52:54:00:ab:cd:ef"}}


@pytest.mark.parametrize("mac", ["52:54:00:AB:CD:EF", "52-54-00-AB-CD-EF"], ids=["wmic", "getmac"])
def test_windows_by_a_script_in_winpe(fleet: Service, mac: str) -> None:
    reply = fleet.send(
        request(
            f"GET /windows/unattend.xml?mac={mac} HTTP/1.1",
            "Host: 192.0.2.10:8000",
            "User-Agent: curl/8.9.1",
            "Accept: */*",
        )
    )
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/xml; charset=utf-8"
    assert "<a>52:54:00:ab:cd:ef</a>" in reply.text


def test_every_request_was_logged_once_and_in_its_form(fleet: Service) -> None:
    fleet.get("/the/last?one=1")
    fleet.wait_for_log(r"/the/last\?one=1")
    form = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ 127\.0\.0\.1:\d+ (GET|POST) \S+ body=\d+ \d{3} .* bytes=\d+\Z")
    lines = [line for line in fleet.log if not re.match(r"\S+ - ", line)]
    assert lines
    assert [line for line in lines if not form.match(line)] == []
