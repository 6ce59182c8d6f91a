"""NoCloud's side files: docs/selection.md#noclouds-side-files, in every store."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
import yaml

from answerd.errors import AnswerError, BrokenDocument, CannotFill, NotClaimed
from tests.support.fleet import Fleet

MADE_UP = {"vendor-data": b"", "network-config": b""}
MAC = "52:54:00:aa:00:04"


@pytest.mark.parametrize("alias", ["ubuntu", "Autoinstall", "cloudinit", "NOCLOUD", "yaml", "yml"])
def test_one_document_is_enough(fleet: Fleet, alias: str) -> None:
    fleet.write({"525400aa0004.yaml": "#cloud-config\nhostname: n4\n"})
    assert fleet.text(f"/{alias}/{MAC}/user-data") == "#cloud-config\nhostname: n4\n"
    assert fleet.text(f"/{alias}/{MAC}/meta-data") == 'instance-id: "525400aa0004"\n'
    for name, body in MADE_UP.items():
        answer = fleet.ask(f"/{alias}/{MAC}/{name}")
        assert answer.body == body
        assert answer.format.content_type == "text/yaml; charset=utf-8"
        assert answer.composition == f"format=yaml machine=525400aa0004 nocloud={name}"


def test_a_cfg_document_is_user_data_too(fleet: Fleet) -> None:
    script = "#!/bin/sh\necho x > /etc/y\n"
    fleet.write({"525400aa0004.cfg": script, "groups/net.cfg": "# answer: match file=network-config\nversion: 2\n"})
    assert fleet.text(f"/cfg/{MAC}/user-data") == script
    assert fleet.text(f"/cfg/{MAC}/meta-data") == 'instance-id: "525400aa0004"\n'
    assert fleet.text(f"/cfg/{MAC}/vendor-data") == ""
    assert fleet.text(f"/cfg/{MAC}/network-config") == "version: 2\n"


@pytest.mark.parametrize(
    "target", ["/pve/meta-data", "/x?file=meta-data", "/meta-data/x", "/ubuntu/Meta-Data", "/ubuntu/meta-data/x"]
)
def test_elsewhere_they_are_names_like_any_other(fleet: Fleet, target: str) -> None:
    fleet.write({"default.yaml": "marker: 1\n", "default.toml": "marker = 1\n"})
    assert "marker" in fleet.text(target)


@pytest.mark.parametrize(
    ("documents", "query", "instance"),
    [
        ({"Node-1.yaml": "a: 1\n"}, "h=node_1", "Node-1"),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=Node-1", "Node-1"),
        ({"groups/g.yaml": f"members: ['{MAC}']\na: 1\n"}, "mac=52-54-00-AA-00-04", "52-54-00-AA-00-04"),
        ({"groups/g.yaml": "match: {serial: '*'}\na: 1\n"}, "serial=S1", "S1"),
        ({"groups/g.yaml": "match: {role: '*'}\na: 1\n"}, "role=web", "nocloud"),
        ({"default.yaml": "a: 1\n"}, "mac=52-54-00-AA-00-04&serial=S1", MAC),
        ({"default.yaml": "a: 1\n"}, "boot=01-52-54-00-AA-00-04", MAC),
        ({"default.yaml": "a: 1\n"}, "serial=To+be+filled+by+O.E.M.&uuid=4c4c4544-0042", "4c4c4544-0042"),
        ({"default.yaml": "a: 1\n"}, "mac=00:00:00:00:00:00", "nocloud"),
        ({"default.yaml": "a: 1\n"}, "h=node1", "nocloud"),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=node%22%5C1", 'node"\\1'),
        ({"groups/g.yaml": "members: [node1]\na: 1\n"}, "h=node%201%F0%9F%98%80%C2%85%0A", "node 1😀\x85\n"),
    ],
)
def test_the_instance_is_named_by_who_claimed(
    fleet: Fleet, documents: Mapping[str, str], query: str, instance: str
) -> None:
    text = fleet.write(documents).text(f"/ubuntu/?{query}&file=meta-data")
    assert yaml.safe_load(text) == {"instance-id": instance}
    assert text.count("\n") == 1


def test_only_documents_whose_match_names_file_may_claim_a_side_file(fleet: Fleet) -> None:
    fleet.write(
        {
            "node1.yaml": "own: 1\n",
            "groups/net.yaml": "match: {file: network-config}\nversion: 2\n",
            "groups/more.yaml": "match: {file: '*', rack: '1'}\nmore: 1\n",
            "groups/any.yaml": "match: {h: node*}\nany: 1\n",
            "groups/members.yaml": "members: [node2]\nmatch: {file: vendor-data}\nvendor: 1\n",
        }
    )
    assert yaml.safe_load(fleet.text("/ubuntu/user-data?h=node1")) == {"any": 1, "own": 1}
    assert yaml.safe_load(fleet.text("/ubuntu/network-config?h=node1")) == {"version": 2}
    assert yaml.safe_load(fleet.text("/ubuntu/network-config?h=node1&rack=1")) == {"more": 1}
    assert fleet.text("/ubuntu/vendor-data?h=node1") == ""
    assert yaml.safe_load(fleet.text("/ubuntu/vendor-data?h=node2")) == {"vendor": 1}
    assert fleet.ask("/ubuntu/network-config?h=node1").composition == "format=yaml group=net"


def test_a_machines_document_may_be_a_side_file(fleet: Fleet) -> None:
    fleet.write({"node1.yaml": "user: 1\n", "node1.yml": "match: {file: meta-data}\nlocal-hostname: n1\n"})
    assert yaml.safe_load(fleet.text("/ubuntu/meta-data?h=node1")) == {"local-hostname": "n1"}
    assert yaml.safe_load(fleet.text("/ubuntu/user-data?h=node1")) == {"user": 1}
    assert fleet.text("/ubuntu/vendor-data?h=node1") == ""


@pytest.mark.parametrize("name", ["meta-data", "vendor-data", "network-config"])
@pytest.mark.parametrize(
    ("documents", "query", "error"),
    [
        ({"node1.toml": "a = 1\n"}, "h=node1", NotClaimed),
        ({}, "h=node1", NotClaimed),
        ({"node1.yaml": "a: [\n"}, "h=node1", BrokenDocument),
        ({"node1.yaml": "extends: ghost\n"}, "h=node1", BrokenDocument),
        ({"node1.yaml": "a: '{{ serial }}'\n"}, "h=node1", CannotFill),
        ({"groups/dark.yaml": "members: 1\n", "node1.yaml": "a: 1\n"}, "h=node1", BrokenDocument),
    ],
)
def test_where_user_data_is_refused_so_are_they_for_the_same_reason(
    fleet: Fleet, name: str, documents: Mapping[str, str], query: str, error: type[AnswerError]
) -> None:
    fleet.write(documents)
    with pytest.raises(error) as caught:
        fleet.ask(f"/ubuntu/{name}?{query}")
    with pytest.raises(error) as user_data:
        fleet.ask(f"/ubuntu/user-data?{query}")
    assert caught.value.reason == user_data.value.reason


def test_a_broken_side_file_is_a_500(fleet: Fleet) -> None:
    fleet.write({"default.yaml": "a: 1\n", "groups/net.yaml": "match: {file: network-config}\nextends: ghost\n"})
    with pytest.raises(BrokenDocument, match="ghost"):
        fleet.ask("/ubuntu/network-config")
    assert fleet.text("/ubuntu/vendor-data") == ""


@pytest.mark.parametrize("text", ["match: {file: vendor-data}\n", "match: {file: vendor-data}\nextends: base\n"])
def test_a_side_file_may_say_nothing(fleet: Fleet, text: str) -> None:
    fleet.write({"default.yaml": "a: 1\n", "groups/vendor.yaml": text, "groups/base.yaml": "# nothing\n"})
    assert not yaml.safe_load(fleet.text("/ubuntu/vendor-data"))


def test_an_instance_is_never_named_by_what_is_no_unicode(fleet: Fleet) -> None:
    fleet.write({"groups/g.yaml": 'members: ["web-01"]\na: 1\n'})
    assert fleet.text("/ubuntu/meta-data?h=Web-01") == 'instance-id: "Web-01"\n'
    assert fleet.text("/ubuntu/meta-data?h=Web-01%ff") == 'instance-id: "web01"\n'


@pytest.mark.parametrize("name", ["meta-data", "vendor-data", "network-config"])
def test_a_group_that_cannot_be_read_keeps_no_side_file_back_where_user_data_is_answered(
    fleet: Fleet, name: str
) -> None:
    fleet.write(
        {
            "groups/zz.yaml": "a: [\n",
            "groups/g.yaml": "members: [aa-1]\nx: 1\n",
            "groups/net.yaml": "match: {file: network-config}\nversion: 2\n",
        }
    )
    assert fleet.text("/ubuntu/user-data?id=aa-1") == "x: 1\n"
    own = {"meta-data": {"instance-id": "aa-1"}, "vendor-data": None, "network-config": {"version": 2}}
    assert yaml.safe_load(fleet.text(f"/ubuntu/{name}?id=aa-1")) == own[name]
    with pytest.raises(BrokenDocument, match="zz"):  # user-data is a 500 too
        fleet.ask(f"/ubuntu/{name}?id=aa-2")


SCRIPT = "#!/bin/sh\nset -e\n\techo 'a: b' > /etc/{{ x\nif [ -f /x ]; then echo {{ y }}; fi\n"
USER_DATA = {
    "a script": SCRIPT,
    "a script after an empty line": "\n" + SCRIPT,
    "a boothook": "#cloud-boothook\n#!/bin/sh\necho 'x: y'\n\techo\n",
    "a list of URLs": "#include\nhttps://files.example.com/a\n# b\nhttps://files.example.com/{{ c }}\n",
    "a list of URLs that are read once": "#Include-Once\nhttps://files.example.com/a\n",
    "an archive": "#cloud-config-archive\n- type: text/cloud-config\n  content: |\n    a: '{{ b }}'\n",
    "a JSON patch": '#cloud-config-jsonp\n[{ "op": "add", "path": "/runcmd", "value": ["x"] }]\n',
    "a part handler": "#part-handler\ndef list_types():\n\treturn ['a']\n",
    "a message": 'Content-Type: multipart/mixed; boundary="b"\nMIME-Version: 1.0\n\n--b\nContent-Type: '
    "text/cloud-config\n\n#cloud-config\na: {{ b }}\n--b--\n",
    "a message with its version first": "MIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary=b\r\n\r\n--",
    "a message of a mail program": "From nobody Fri Jan  1\nContent-Type: text/plain\nMIME-Version: 1.0\n\n#!/bin/sh\n",
    "a template with statements": "## template: jinja\n#cloud-config\n{% if v1.region %}\nhostname: a\n{% endif %}\n",
    "a template with values": "## template: jinja\n#cloud-config\nhostname: h-{{ v1.instance_id }} # {{ a | b }}\n",
    "a template that is no YAML": "## Template: Jinja\n#cloud-config\nhostname: {{ v1.local_hostname }}\n",
}


@pytest.mark.parametrize("text", USER_DATA.values(), ids=USER_DATA)
def test_user_data_of_every_kind_is_served_as_it_is_with_side_files_beside_it(fleet: Fleet, text: str) -> None:
    fleet.write({"node1.yaml": text, "groups/net.yaml": "match: {file: network-config}\nversion: 2\n"})
    assert fleet.problems() == []
    assert fleet.ask("/ubuntu/user-data?h=node1").body == text.encode()
    assert yaml.safe_load(fleet.text("/ubuntu/meta-data?h=node1")) == {"instance-id": "node1"}
    assert yaml.safe_load(fleet.text("/ubuntu/network-config?h=node1")) == {"version": 2}
    assert fleet.text("/ubuntu/vendor-data?h=node1") == ""
    assert not fleet.check().problems


WITH_COMMENTS = [
    "a script",
    "a boothook",
    "a list of URLs",
    "a list of URLs that are read once",
    "an archive",
    "a part handler",
    "a template with statements",
    "a template that is no YAML",
]


@pytest.mark.parametrize("kind", WITH_COMMENTS)
def test_comments_of_user_data_steer_and_are_not_served(fleet: Fleet, kind: str) -> None:
    first, _, rest = USER_DATA[kind].partition("\n")
    fleet.write({"groups/g.yaml": f"{first}\n# answer: match role=web\n# answer: member node2\n{rest}"})
    assert fleet.problems() == []
    assert fleet.text("/ubuntu/user-data?role=web&h=node2") == f"{first}\n{rest}"
    for query in ("role=db&h=node2", "role=web&h=node1"):
        with pytest.raises(NotClaimed):
            fleet.ask(f"/ubuntu/user-data?{query}")


def test_placeholders_of_a_script_are_filled_where_it_asks_for_it(fleet: Fleet) -> None:
    fleet.write({"node1.yaml": "#!/bin/sh\n# answer: template on\necho {{ machine }} {{ serial }} ${#x}\n"})
    assert fleet.text("/ubuntu/user-data?h=node1&serial=S1") == "#!/bin/sh\necho node1 S1 ${#x}\n"
    with pytest.raises(CannotFill, match="serial"):
        fleet.ask("/ubuntu/user-data?h=node1")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"node1.yaml": SCRIPT, "groups/g.yaml": "members: [node1]\na: 1\n"}, "upper text is a script"),
        ({"node1.yaml": "extends: g\na: 1\n", "groups/g.yaml": "#include\nhttp://x.example\n"}, "lower text is a list"),
        ({"default.yaml": SCRIPT, "groups/o.yaml": "overlay: 1\nmembers: [node1]\na: 1\n"}, "lower text is a script"),
    ],
)
def test_nothing_is_laid_over_or_under_a_script(fleet: Fleet, files: Mapping[str, str], said: str) -> None:
    with pytest.raises(BrokenDocument, match=said):
        fleet.write(files).ask("/ubuntu/user-data?h=node1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\n# answer: extends base\n", "extends: has no meaning in a script"),
        ("#include\n# answer: unset a.b\n", "unset"),
        ("## template: jinja\nmatch: {role: web}\n{% if x %}\n", r"match: is no control key .* \(line 2\)"),
        ("#!/bin/sh\n# answer: mach role=web\n", "unknown directive"),
    ],
)
def test_what_has_no_meaning_in_user_data_is_a_problem(fleet: Fleet, text: str, said: str) -> None:
    [problem] = fleet.write({"groups/g.yaml": text}).problems()
    assert re.search(said, problem)


def test_a_template_is_a_layer_like_another_and_its_braces_are_cloud_inits(fleet: Fleet) -> None:
    fleet.write(
        {
            "groups/g.yaml": "## template: jinja\n#cloud-config\nmembers: [node1]\nhostname: h-{{ v1.instance_id }}\n",
            "node1.yaml": "#cloud-config\nfqdn: '{{ machine }}'\n",
        }
    )
    assert fleet.problems() == []
    lines = fleet.text("/ubuntu/user-data?h=node1").splitlines()
    assert lines[:2] == ["## template: jinja", "#cloud-config"]
    assert yaml.safe_load("\n".join(lines)) == {"hostname": "h-{{ v1.instance_id }}", "fqdn": "node1"}
    assert any("left to cloud-init" in note for note in fleet.check().notes)


@pytest.mark.parametrize(
    "header", ["\n#cloud-config\n", "#Cloud-Config\n", "#cloud-config  # web\n", "\n \n  #cloud-config\n"]
)
def test_the_header_is_read_as_cloud_init_reads_it(fleet: Fleet, header: str) -> None:
    fleet.write({"node1.yaml": f"{header}hostname: a\n", "groups/g.yaml": "members: [node1]\ntimezone: Etc/UTC\n"})
    text = fleet.text("/ubuntu/user-data?h=node1")
    assert text.lower().startswith("#cloud-config")
    assert yaml.safe_load(text) == {"hostname": "a", "timezone": "Etc/UTC"}
    assert not fleet.check().problems
