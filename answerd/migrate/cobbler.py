"""cobbler: distros, profiles and systems of `/var/lib/cobbler/collections`, and the templates beside it.

A system becomes a row of the inventory (its MAC addresses, addresses, host name and variables) and documents over
those of its profile; a profile a group of documents: an iPXE script that starts its distro, and its installation
template. The templates are Cheetah: variables are carried over as placeholders, loops and conditions as Jinja
(`answerd.migrate.logic`); a template with snippets or other logic is put aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerd.identity import Kind, identifier_fault
from answerd.migrate.logic import JINJA, NoCounterpart, judged, name_of, of_cheetah, quoted
from answerd.migrate.result import MigratedData, MigrationError, group_name, is_column
from answerd.migrate.source import Source
from answerd.migrate.texts import TEXT_FORMATS, recognised, text_of, with_control

INHERIT = "<<inherit>>"
FILES_HOST = "FILES.EXAMPLE.ORG"
FILES = f"http://{FILES_HOST}"
"""The placeholder in scripts for the web server that is to serve kernels and packages; this service serves no files."""

AUTOYAST = """\
<?xml version="1.0"?>
<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns">
  <answer-meta extends="{group}"/>
</profile>
"""

COLLECTIONS = "collections"
TEMPLATE_FOLDERS = ("templates", "autoinstall_templates", "kickstarts")
BREEDS = {
    "redhat": ("ks", "inst.ks={url}/ks inst.ks.sendmac inst.ks.sendsn"),
    "debian": ("preseed", "auto=true priority=critical url={url}/debian/preseed?mac=${{netX/mac}}"),
    "ubuntu": ("preseed", "auto=true priority=critical url={url}/debian/preseed?mac=${{netX/mac}}"),
    "suse": ("autoyast", "autoyast={url}/autoyast?mac=${{netX/mac}}"),
}
"""Of each breed: the extension of its documents, and the kernel's arguments that name the answer."""

PASSWORD_VARIABLE = "default_password_crypted"  # noqa: S105 - a name
"""cobbler's variable for the hash in its settings, which are no part of its collections."""

HTTP_SERVER = "http_server"
"""cobbler's variable for its own host, which "cobbler import" writes into each distro's tree as ``@@http_server@@``."""

_VARIABLE = re.compile(r"(?<![\\$])\$(?:\{(?P<braced>\w+)\}|(?P<plain>[A-Za-z_]\w*)(?![\w(.\[]))|@@(?P<late>\w+)@@")
_LOGIC = re.compile(
    r"^[ \t]*#(?:if|elif|else|end|for|set|raw|include|import|def|from|attr|silent|slurp)\b.*$"
    r"|(?<!\\)\$(?:yum_\w+_stanza|[A-Za-z_]\w*[(.\[]|[(\[]|\{(?!\w+\})).*$",
    re.MULTILINE,
)

_DIRECTIVE = re.compile(r"^[ \t]*#(?:if|for|set)\b", re.MULTILINE)
_OTHER_LOGIC = re.compile(
    r"^(?![ \t]*#(?:if|elif|else|elseif|end|for|set)\b)"
    r"(?:[ \t]*#(?:raw|include|import|def|from|attr|silent|slurp)\b.*$"
    r"|.*?(?<!\\)\$(?:yum_\w+_stanza|[A-Za-z_]\w*[(.\[]|[(\[]|\{(?!\w+\})).*$)",
    re.MULTILINE,
)
"""Logic in a template whose directives are carried over: what is in none of their lines."""

_WITHOUT_COUNTERPART = (
    "boot_files", "dhcp_tag", "fetchable_files", "ipv6_autoconfiguration", "ipv6_default_device", "kernel_options_post",
    "kopts_post", "mgmt_classes", "mgmt_parameters", "name_servers_search", "proxy", "redhat_management_key",
    "remote_boot_initrd", "remote_boot_kernel", "repos", "template_files",
)  # fmt: skip
"""Fields of an object that change what a machine gets, and that nothing here has the place of. Not among them:
bookkeeping, what concerns virtual hosts and power switches, and cobbler's own boot loaders."""

_OF_A_CARD = (
    "bonding_opts", "bridge_opts", "cnames", "dhcp_tag", "dns_name", "interface_master", "ipv6_address",
    "ipv6_default_gateway", "ipv6_mtu", "ipv6_prefix", "ipv6_secondaries", "ipv6_static_routes", "mtu", "static",
    "static_routes",
)  # fmt: skip
"""The same of a network card."""

_READ = ("distros", "profiles", "systems")
"""The collections that are read; those beside them are listed."""


def read(source: Source) -> MigratedData:
    path = source.path
    root = path / COLLECTIONS if (path / COLLECTIONS).is_dir() else path
    distros, profiles, systems = (_collection(source, root, kind) for kind in _READ)
    if not profiles and not systems:
        raise MigrationError(f"{path} holds no collections of cobbler with profiles or systems")
    data = MigratedData()
    for kind, items in zip(_READ, (distros, profiles, systems), strict=True):
        for name, item in items.items():
            fields = _WITHOUT_COUNTERPART if kind == "systems" else (*_WITHOUT_COUNTERPART, "name_servers")
            _list_fields(f"{kind.removesuffix('s')} {name}", item, fields, data)
    _list_other_collections(root, data)
    cobbler = _Cobbler(source, distros, profiles, data)
    made = {name: cobbler.profile(name) for name in profiles}
    for name, system in systems.items():
        cobbler.system(name, system, made.get(str(system.get("profile", "")), _Made()))
    if any(re.search(r"@@\w+@@", text) for text in [*data.documents.values(), *map(str, data.rows)]):
        data.add_task(
            'Values name other variables of cobbler, as @@name@@: look for "@@" in the documents and the table.'
        )
    data.add_task(
        f"Kernels and packages were served by cobbler. Serve them by any web server, and put it in place of {FILES}."
    )
    data.add_task("Put the address of this service in place of URL in the .ipxe documents.")
    return data


def _list_fields(origin: str, stored: Mapping[str, Any], names: tuple[str, ...], data: MigratedData) -> None:
    """Note the fields of these names that have a value."""
    if given := [name for name in names if stored.get(name) not in (None, "", INHERIT, [], {}, False)]:
        data.leave_out(f"{origin}: {', '.join(given)}", "no counterpart here")


def _list_other_collections(root: Path, data: MigratedData) -> None:
    for folder in sorted(path for path in root.iterdir() if path.is_dir()):
        kind = folder.name.removesuffix(".d")
        names = sorted(file.stem for file in folder.glob("*.json"))
        if kind not in _READ and names:
            data.leave_out(f"{kind} {', '.join(names)}", "objects of this kind have no counterpart")


def _collection(source: Source, root: Path, kind: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a collection by name; old releases put ``.d`` behind its directory's name."""
    found = {}
    for file in sorted([*root.glob(f"{kind}/*.json"), *root.glob(f"{kind}.d/*.json")]):
        try:
            value = json.loads(source.content(file))
        except ValueError as error:
            raise MigrationError(f"{file} is no JSON: {error}") from None
        if not isinstance(value, dict) or "name" not in value:
            raise MigrationError(f"{file} is no object of cobbler: it has no name")
        found[str(value["name"])] = {key: item for key, item in value.items() if item not in (INHERIT, "", None)}
    return found


@dataclass(frozen=True)
class _Made:
    """The documents of a profile: their extensions, that of the answer, and the objects that give values, nearest
    first. ``answer`` is None where its distribution has no counterpart."""

    extensions: tuple[str, ...] = ()
    answer: str | None = None
    levels: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class _Cobbler:
    """The directory with its distros and profiles, and what is made of them."""

    source: Source
    distros: Mapping[str, Mapping[str, Any]]
    profiles: Mapping[str, Mapping[str, Any]]
    data: MigratedData

    def profile(self, name: str) -> _Made:
        """Make the group of a profile."""
        origin, stored = f"profile {name}", self.profiles[name]
        lineage = list(_lineage(stored, self.profiles))
        whole: dict[str, Any] = {}
        for ancestor in reversed(lineage):
            whole |= ancestor
        distro = self.distros.get(str(whole.get("distro")))
        if distro is None:
            self.data.leave_out(origin, "its distro is not there", json.dumps(stored, indent=2))
            return _Made()
        breed = BREEDS.get(str(distro.get("breed")))
        if breed is None:
            why = f"distributions of the breed {distro.get('breed')} have no counterpart"
            self.data.leave_out(origin, why, json.dumps(stored))
            return _Made()
        extension, arguments = breed
        levels = (*lineage, distro)
        texts = {"ipxe": _script(name, distro, [distro, *reversed(lineage)], arguments)}
        texts |= self._answer(whole, origin, extension, levels)
        for suffix, text in texts.items():
            self.data.add(f"groups/{group_name(name)}.{suffix}", text, origin)
        return _Made(tuple(texts), extension, levels)

    def system(self, name: str, stored: Mapping[str, Any], made: _Made) -> None:
        """Make the row of a system, and documents over those of its profile."""
        origin, data = f"system {name}", self.data
        identifier = name if identifier_fault(Kind.MACHINE, name) is None else group_name(name)
        data.rows.append(_row(identifier, stored, origin, data))
        if options := _options(stored, "kernel_options", "kopts"):
            data.leave_out(f"{origin}: kernel options", f"put them into {identifier}.ipxe: {' '.join(options)}")
        profile = str(stored.get("profile", ""))
        extensions, own = made.extensions, dict[str, str]()
        if made.answer and (stored.get("autoinstall") or stored.get("kickstart")):
            extensions, own = ("ipxe",), self._answer(stored, origin, made.answer, made.levels)
        if not extensions:
            data.leave_out(origin, f"its profile {profile} has no documents; the row of the inventory is there")
        for extension in extensions:
            text = with_control("", extension, {"extends": group_name(profile)})
            if text is None:
                text = AUTOYAST.format(group=group_name(profile))
            data.add(f"{identifier}.{extension}", text, origin)
        for extension, text in own.items():
            data.add(f"{identifier}.{extension}", text, origin)
        if not stored.get("netboot_enabled", True):
            data.add_task(
                f"{name} was not to be installed: run `answerd disarm {identifier}` before it boots from the network."
            )

    def _answer(
        self, stored: Mapping[str, Any], origin: str, extension: str, levels: Sequence[Mapping[str, Any]]
    ) -> dict[str, str]:
        """Return the installation template that an object names, by its extension; nothing where it names none, or none
        that can be carried over."""
        template = stored.get("autoinstall") or stored.get("kickstart")
        if not template:
            return {}
        places = [self.source.path / folder / Path(str(template)).name for folder in TEMPLATE_FOLDERS]
        file = next((place for place in places if place.is_file()), None)
        if file is None:
            why = f"the file is in none of {', '.join(TEMPLATE_FOLDERS)}"
            self.data.leave_out(f"{origin}: template {template}", why)
            return {}
        found = text_of(self.source, file, f"{origin}: template {template}", self.data)
        variables: dict[str, str] = {}
        for level in reversed(levels):
            variables |= _options(level, "autoinstall_meta", "ks_meta")
        if found is None:
            return {}
        extension = "yaml" if recognised(found) == "yaml" else extension
        text = _template(found, origin, variables, self.data, extension)
        return {} if text is None else {extension: text}


def _lineage(stored: Mapping[str, Any], profiles: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield a profile and then those that it inherits from; a cycle ends the iteration."""
    seen: set[str] = set()
    while True:
        yield stored
        parent = str(stored.get("parent", ""))
        if not parent or parent in seen or parent not in profiles:
            return
        seen.add(parent)
        stored = profiles[parent]


def _options(stored: Mapping[str, Any], *names: str) -> dict[str, str]:
    """Return options that are kept as an object or as ``a=b c``."""
    found: dict[str, str] = {}
    for name in names:
        value = stored.get(name)
        if isinstance(value, dict):
            found |= {str(key): _text(item) for key, item in value.items()}
        elif isinstance(value, str):
            found |= {key: _text(item) for key, _, item in (part.partition("=") for part in value.split())}
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_text, value))
    return "" if value in (None, "~") else str(value).replace(f"@@{HTTP_SERVER}@@", FILES_HOST)


def _script(name: str, distro: Mapping[str, Any], levels: list[Mapping[str, Any]], arguments: str) -> str:
    options: dict[str, str] = {}
    for level in levels:
        options |= _options(level, "kernel_options", "kopts")
    words = [f"{key}={value}" if value else key for key, value in options.items()]
    kernel, initrd = (str(distro.get(key, "")).lstrip("/") for key in ("kernel", "initrd"))
    return "\n".join(
        [
            "#!ipxe",
            f"# From the profile {name} of cobbler.",
            "set url http://URL:8000",
            f"set files {FILES}",
            " ".join(
                [
                    f"kernel ${{files}}/{kernel} initrd={initrd.rpartition('/')[2]}",
                    arguments.format(url="${url}"),
                    *words,
                ]
            ),
            f"initrd ${{files}}/{initrd}",
            "boot",
            "",
        ]
    )


def _template(text: str, origin: str, variables: Mapping[str, str], data: MigratedData, extension: str) -> str | None:
    """Return a template with its variables as placeholders, or with its loops and conditions as Jinja; None, noted,
    where something in it has no counterpart."""
    is_program = _DIRECTIVE.search(text) is not None and extension in TEXT_FORMATS
    if logic := (_OTHER_LOGIC if is_program else _LOGIC).search(text):
        line = text.count("\n", 0, logic.start()) + 1
        part = quoted(logic[0], text, extension)
        data.leave_out(f"{origin}: template", f"line {line} has logic of Cheetah: {part}", text)
        return None

    def expression(label: str) -> str:
        known = variables.get(label)
        name = name_of(label) if is_program else label
        if known is None:
            return name
        quote = "'" if '"' in known else '"'
        written = json.dumps(known, ensure_ascii=False) if is_program else f"{quote}{known}{quote}"
        return f"{name} | default({written})"

    local: set[str] = set()

    def value(found: re.Match[str]) -> str:
        label = found["braced"] or found["plain"] or found["late"]
        if label == HTTP_SERVER:
            return FILES_HOST
        if label == PASSWORD_VARIABLE:
            data.add_task("Write the default_password_crypted of cobbler's settings into secrets/root-password-hash.")
            return '{{ secret["root-password-hash"] }}' if is_program else "{{ secret.root-password-hash }}"
        return f"{{{{ {label if label in local else expression(label)} }}}}"

    if "{{" in text or "{%" in text or any('"' in known for known in variables.values()):
        data.leave_out(f"{origin}: template", "it holds {{, or a variable with a quote in it", text)
        return None
    if not is_program:
        return _VARIABLE.sub(value, text).replace("\\$", "$")
    try:
        with_tags, local = of_cheetah(text, lambda label: f"({expression(label)})")
        filled = "".join(
            line if line.lstrip().startswith("{%") else _VARIABLE.sub(value, line).replace("\\$", "$")
            for line in with_tags.splitlines(keepends=True)
        )
        return judged(JINJA + filled, extension)
    except NoCounterpart as error:
        part = quoted(error.part, text, extension)
        data.leave_out(f"{origin}: template", f"line {error.line} has logic of Cheetah: {part}", text)
        return None


def _row(identifier: str, stored: Mapping[str, Any], origin: str, data: MigratedData) -> dict[str, str]:
    """Return the row of a system; notes what a row has no place for."""
    cards = {key: item for key, item in (stored.get("interfaces") or {}).items() if item.get("interface_type") != "bmc"}
    addresses = [
        str(card["mac_address"]) for card in cards.values() if card.get("mac_address") not in (None, "", "random")
    ]
    row = {"id": identifier, "mac": " ".join(addresses)}
    first: Mapping[str, Any] = next(iter(cards.values()), {})
    known = {
        "hostname": stored.get("hostname"),
        "ip": first.get("ip_address"),
        "netmask": first.get("netmask"),
        "gateway": stored.get("gateway") or first.get("if_gateway"),
        "dns": _text(stored.get("name_servers") or []),
        **_options(stored, "autoinstall_meta", "ks_meta"),
    }
    for label, value in known.items():
        if value and is_column(label) and label not in row:
            row[label] = str(value)
        elif value:
            data.leave_out(f"{origin}: {label}", "no label can have this name here")
    if len(cards) > 1:
        data.leave_out(
            f"{origin}: {len(cards) - 1} more interfaces", "only the MAC addresses of all and the address of the first"
        )
    for card, fields in cards.items():
        _list_fields(f"{origin}, interface {card}", fields, _OF_A_CARD, data)
    return {label: value for label, value in row.items() if value}
