"""YAML answers: cloud-config, Ubuntu autoinstall and NoCloud's side files; `talos` judges Talos' configurations, and
other YAML is judged as well-formed only.

The text is read to nodes, as documents are: no Python object is built from it. The rules are data
(``rules/cloud-config.json``, ``rules/autoinstall.json``); here is what a schema cannot say: the first line, which
kind of file it is, passwords and time zones.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from answerd.formats import yaml_read
from answerd.formats.family import ParseError
from answerd.formats.user_data import CONFIG, TEMPLATE, is_served_whole, kind_of
from answerd.formats.yaml_read import Node
from answerd.validators import schema, talos
from answerd.validators.password_hashes import judge_hash
from answerd.validators.schema import NEAR, Path, Program
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks
from answerd.validators.yaml_values import line_of, value_of

HEADER = "#cloud-config"

CLOUD_INIT = Program("cloud-init")
UBUNTU = Program("Ubuntu's installer")

_USUAL_WORDS = frozenset(
    {
        *("apt", "fqdn", "groups", "hostname", "keyboard", "locale", "network", "output", "packages", "password"),
        *("reporting", "ssh", "swap", "timezone", "updates", "user", "users", "version"),
    }
)
"""Keys of cloud-config that other files have too: one of them alone does not tell what a file is."""


class _Document:
    """A mapping at the top of a text: its values, and where they are written."""

    def __init__(self, root: yaml_read.Mapping, remarks: Remarks) -> None:
        self.root, self.remarks = root, remarks
        self.values: dict[str, Any] = value_of(root)

    def judge(self, rules: str, value: Any, program: Program, above: Path = ()) -> None:
        """Judge the value at a path by rules."""
        schema.judge(
            rules,
            value,
            self.remarks,
            program,
            prefix="".join(f"{step}." for step in above),
            line=lambda path, is_key: line_of(self.root, (*above, *path), is_key),
        )

    def refuse(self, message: str, path: Path) -> None:
        self.remarks.refuse(message, ".".join(map(str, path)), line_of(self.root, path))

    def warn(self, message: str, path: Path) -> None:
        self.remarks.warn(message, ".".join(map(str, path)), line_of(self.root, path))

    def refuse_plain_password(self, password: Any, path: Path) -> None:
        if isinstance(password, str):
            judge_hash(password, self.remarks, ".".join(map(str, path)), line_of(self.root, path))

    def refuse_unknown_zone(self, zone: Any, path: Path) -> None:
        if isinstance(zone, str) and (wrong := unknown_zone(zone, self.remarks)):
            self.refuse(wrong, path)


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a YAML text; cloud-init is to judge one whose first line is ``#cloud-config`` too."""
    kind = kind_of(answer.text)
    if kind is not None and is_served_whole(answer.text):
        remarks.note(f"user-data that is {kind.described}: not judged")
        return None
    is_template = kind is TEMPLATE
    has_header = kind is CONFIG or (is_template and kind_of(answer.text.lstrip().partition("\n")[2]) is CONFIG)
    is_for_tool = answer.text.partition("\n")[0].rstrip() == HEADER  # it reads no file that begins otherwise
    request = ToolRequest("cloud-init", answer.text, answer.format) if is_for_tool else None
    try:
        roots = yaml_read.read(answer.text)
    except ParseError as error:
        if is_template:
            remarks.note(f"a template that is no YAML before cloud-init has filled it ({error}): not judged")
            return None
        remarks.refuse(f"not YAML that can be read: {error.reason}", line=error.line)
        remarks.judged_by("YAML syntax")
        return None
    remarks.judged_by("YAML syntax")
    if len(roots) > 1 and has_header:
        line = roots[1].line if roots[1] else None
        remarks.refuse("a cloud-config is one document: cloud-init reads no stream of several", line=line)
    root = roots[0] if len(roots) == 1 else None
    if not has_header and talos.judge(roots, remarks):
        return None
    if isinstance(root, yaml_read.Mapping):
        _judge_top(_Document(root, remarks), has_header)
    elif root is not None and has_header and not _is_null(root):
        remarks.refuse("a cloud-config must be a mapping at its top", line=root.line)
    return request


def _is_null(node: Node) -> bool:
    return isinstance(node, yaml_read.Scalar) and yaml_read.scalar_tag(node) == yaml_read.NULL


def _judge_top(document: _Document, has_header: bool) -> None:
    values, remarks = document.values, document.remarks
    if "autoinstall" in values:
        _judge_autoinstall(document)
    if has_header or _is_meant_as_cloud_config(values):
        if "autoinstall" not in values:
            remarks.judged_by("cloud-config rules")
        _judge_cloud_config(document, values, ())
    if has_header:
        return
    if "autoinstall" in values or _is_meant_as_cloud_config(values):
        asks = ", and Ubuntu's installer asks its questions" if "autoinstall" in values else ""
        message = f"the first line is not {HEADER!r}: without it cloud-init ignores user-data{asks}; put it there"
        remarks.refuse(message, line=1)
    elif misspelled := difflib.get_close_matches("autoinstall", [key[:100] for key in values], n=1, cutoff=NEAR):
        message = f"no key of user-data, and the first line is not {HEADER!r}; did you mean 'autoinstall'?"
        remarks.refuse(message, misspelled[0], line_of(document.root, (misspelled[0],), True))
    elif "instance-id" in values or "local-hostname" in values:
        _judge_metadata(document)
    elif place := _network_config(values):
        _judge_network(document, place[0])


def _is_meant_as_cloud_config(values: Mapping[str, Any]) -> bool:
    """Return whether a text without the header has keys of a cloud-config only, not just a usual word."""
    known = schema.rules("cloud-config")["properties"]
    return bool(values) and all(key in known for key in values) and not _USUAL_WORDS.issuperset(values)


def _judge_cloud_config(document: _Document, values: Mapping[str, Any], above: Path) -> None:
    known, of_installer = (schema.rules(name)["properties"] for name in ("cloud-config", "autoinstall"))
    judged = dict(values)
    for key in [key for key in values if key not in known]:
        if key in of_installer:
            document.refuse("a key of autoinstall, but not under 'autoinstall:'", (*above, key))
        elif "autoinstall" in values and schema.nearest(key, (*known,)) is None:
            document.warn("not a key that cloud-init knows here, and the installer passes over it", (*above, key))
        else:
            continue
        del judged[key]
    if "autoinstall" in values and "packages" in values:
        message = "installed on the system that runs the installer; for the new one put it below 'autoinstall:'"
        document.warn(message, (*above, "packages"))
    document.judge("cloud-config", judged, CLOUD_INIT, above)
    document.refuse_unknown_zone(values.get("timezone"), (*above, "timezone"))
    for user, path in _users(values):
        for key in ("passwd", "hashed_passwd"):
            document.refuse_plain_password(user.get(key), (*above, *path, key))


def _users(values: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Path]]:
    if isinstance(user := values.get("user"), dict):
        yield user, ("user",)
    for place, user in enumerate(users if isinstance(users := values.get("users"), list) else ()):
        if isinstance(user, dict):
            yield user, ("users", place)


def _judge_autoinstall(document: _Document) -> None:
    document.remarks.judged_by("Ubuntu autoinstall rules")
    where: Path = ("autoinstall",)
    values = document.values["autoinstall"]
    document.judge("autoinstall", values, UBUNTU, where)
    if not isinstance(values, dict):
        return
    identity = values.get("identity")
    if isinstance(identity, dict):
        document.refuse_plain_password(identity.get("password"), (*where, "identity", "password"))
    elif "identity" not in values and _needs_identity(values):
        document.refuse("is missing: the installer stops without it or user-data", (*where, "identity"))
    if values.get("timezone") not in ("", "geoip"):
        document.refuse_unknown_zone(values.get("timezone"), (*where, "timezone"))
    if isinstance(user_data := values.get("user-data"), dict):
        _judge_cloud_config(document, user_data, (*where, "user-data"))


def _needs_identity(values: Mapping[str, Any]) -> bool:
    """Return whether the installer of a server stops without ``identity``. It does not with ``user-data``, where it
    asks for it, and where it only writes the reset partition. Other variants than servers have a source of another
    name."""
    asked, source, storage = (values.get(key) for key in ("interactive-sections", "source", "storage"))
    if "user-data" in values or (isinstance(asked, list) and ("identity" in asked or "*" in asked)):
        return False
    if isinstance(source, dict) and not str(source.get("id", "ubuntu-server")).startswith("ubuntu-server"):
        return False
    layout = storage.get("layout") if isinstance(storage, dict) else None
    return not (isinstance(layout, dict) and layout.get("reset-partition-only") is True)


def _judge_metadata(document: _Document) -> None:
    """Judge NoCloud's meta-data: without an instance-id cloud-init does not use the datasource."""
    document.remarks.judged_by("NoCloud meta-data shape")
    if "instance-id" not in document.values:
        message = "is missing: cloud-init may take the machine for one it has already set up"
        document.remarks.warn(message, "instance-id")
    elif document.values["instance-id"] in (None, "") or isinstance(document.values["instance-id"], dict | list):
        document.refuse("must be a word that is not empty", ("instance-id",))


def _network_config(values: Mapping[str, Any]) -> tuple[Path] | None:
    """Return where the network configuration is, at the top or under ``network``; None where this is none."""
    inner = values.get("network")
    if isinstance(inner, dict) and inner and len(values) == 1:
        return (("network",),)
    marks = {"ethernets", "bonds", "bridges", "vlans", "wifis", "renderer", "config"}
    return ((),) if "version" in values and marks & set(values) else None


def _judge_network(document: _Document, above: Path) -> None:
    document.remarks.judged_by("NoCloud network-config shape")
    network = document.values["network"] if above else document.values
    if network == {"config": "disabled"}:
        return  # cloud-init leaves the network alone
    version = network.get("version")
    if isinstance(version, bool) or version not in (1, 2):
        document.refuse("a network-config states version 1 or 2", (*above, "version"))
    elif version == 1 and not isinstance(network.get("config"), list):
        document.refuse("a network-config of version 1 has a list of it", (*above, "config"))
