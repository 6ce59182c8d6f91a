"""The worst answers of a size for each validator: a name, a format and a function from a size to a text of about it."""

from __future__ import annotations

from collections.abc import Callable

from tests.cost.worst_cases import again, counted

Shape = Callable[[int], str]

LINES: dict[str, Shape] = {
    "blank lines": lambda n: again("\n", n),
    "unknown words": lambda n: again("langg x\n", n),
    "different unknown words": lambda n: counted("k# x\n", n),
    "comments": lambda n: again("# a\n", n),
    "continued lines": lambda n: again("a \\\n", n),
    "continued lines of a comment": lambda n: again("# \\\n", n),
    "quotes that do not end": lambda n: again("a '\n", n),
    "a word": lambda n: again("a", n),
    "blanks": lambda n: again(" ", n, before="a", after="b"),
    "blanks and quotes": lambda n: again(' "', n, before="a"),
    "backslashes": lambda n: again("\\", n),
    "open braces": lambda n: again("{", n),
    "secrets": lambda n: counted("password=secret#\n", n),
    "passwords": lambda n: counted("rootpw secret#\n", n),
    "addresses with passwords": lambda n: again("http://u:p@", n),
    "addresses": lambda n: again("://", n),
}

KICKSTART: dict[str, Shape] = {
    "commands": lambda n: again("lang en_US\n", n),
    "partitions": lambda n: again("part / --size=1\n", n),
    "different partitions": lambda n: counted("part /m# --size=1\n", n),
    "volume groups": lambda n: counted("volgroup v# pv.#\n", n),
    "networks": lambda n: counted("network --device=eth#\n", n),
    "groups": lambda n: counted("group --name=g#\n", n),
    "keys": lambda n: counted('sshkey --username=u# "k"\n', n),
    "unknown options": lambda n: again("network --wrong#\n", n),
    "one command of many options": lambda n: counted("--k#=1 ", n, before="network "),
    "time zones": lambda n: again("timezone Europe/Berln\n", n),
    "sections": lambda n: again("%packages\n%end\n", n),
    "unknown sections": lambda n: again("%postt\n%end\n", n),
    "packages": lambda n: counted("p#\n", n, before="%packages\n", after="%end\n"),
    "a script": lambda n: again("echo a\n", n, before="%post\n", after="%end\n"),
    "sections that do not end": lambda n: again("%post\n", n),
    "includes": lambda n: again("%include x\n", n),
    "repositories": lambda n: counted("repo --name=r# --baseurl=http://a.example/\n", n),
    "users": lambda n: counted("user --name=u# --password=secret#\n", n),
    "logical volumes": lambda n: counted("logvol /m# --vgname=v --name=l# --size=1\n", n),
}

PRESEED: dict[str, Shape] = {
    "questions": lambda n: counted("d-i a/b# string x\n", n),
    "wrong types": lambda n: counted("d-i a/b# strng x\n", n),
    "time zones": lambda n: again("d-i time/zone string Europe/Berln\n", n),
    "booleans": lambda n: again("d-i a/b boolean maybe\n", n),
    "lines of two words": lambda n: again("d-i a\n", n),
    "one question over lines that begin with blanks": lambda n: again(" a \\\n", n, before=" d-i a/b string "),
    "one question over lines": lambda n: again("a \\\n", n, before="d-i a/b string "),
}

PVE = '[global]\nkeyboard="de"\ncountry="de"\nfqdn="a.example.org"\nmailto="a@example.org"\ntimezone="UTC"\n'

TOML: dict[str, Shape] = {
    "unknown keys": lambda n: counted("k#=1\n", n, before=PVE),
    "unknown sections": lambda n: counted("[k#]\na=1\n", n, before=PVE),
    "dotted keys": lambda n: counted("a.b.c.k#=1\n", n, before=PVE),
    "SSH keys": lambda n: counted('"k#",', n, before=f"{PVE}root-ssh-keys=[", after="]\n"),
    "disks": lambda n: counted('"sd#",', n, before=f'{PVE}[disk-setup]\nfilesystem="ext4"\ndisk-list=[', after="]\n"),
    "filters": lambda n: counted('k#="a"\n', n, before=f"{PVE}[disk-setup]\nfilter.a=1\n[disk-setup.filter.b]\n"),
    "a long name": lambda n: again("a.", n, before='[global]\nfqdn="', after='"\n'),
    "a long mail address": lambda n: again("a.", n, before='[global]\nmailto="a@', after='"\n'),
    "a long subscription key": lambda n: again("a-", n, before='[global]\nsubscription-key="', after='"\n'),
    "a long address": lambda n: again("1.", n, before='[network]\nsource="from-answer"\ncidr="', after='"\n'),
    "a long URL": lambda n: again("a.", n, before='[post-installation-webhook]\nurl="https://', after='"\n'),
    "brackets": lambda n: again("[", n, before="a="),
}

YAML: dict[str, Shape] = {
    "unknown keys": lambda n: counted("k#: 1\n", n, before="#cloud-config\n"),
    "keys that are nearly known": lambda n: counted("packages#: 1\n", n, before="#cloud-config\n"),
    "unknown autoinstall keys": lambda n: counted("  k#: 1\n", n, before="#cloud-config\nautoinstall:\n  version: 1\n"),
    "commands": lambda n: again("  - 1\n", n, before="#cloud-config\nautoinstall:\n  version: 1\n  late-commands:\n"),
    "right commands": lambda n: again("- a\n", n, before="#cloud-config\nruncmd:\n"),
    "different names": lambda n: counted("a#,", n, before="#cloud-config\nntp: {servers: [", after="]}\n"),
    "the same name": lambda n: again("a,", n, before="#cloud-config\nntp: {servers: [", after="]}\n"),
    "wrong packages": lambda n: again("- {a: 1}\n", n, before="#cloud-config\npackages:\n"),
    "users without names": lambda n: again("- {gecos: a}\n", n, before="#cloud-config\nusers:\n"),
    "wrong reporters": lambda n: counted(" k#: {type: webhok}\n", n, before="#cloud-config\nreporting:\n"),
    "passwords that are made up": lambda n: again(
        "{name: a, type: RANDOM, password: b},", n, before="#cloud-config\nchpasswd: {users: [", after="]}\n"
    ),
    "a long number": lambda n: again("9", n, before="#cloud-config\nruncmd: "),
    "a number of many parts": lambda n: again(":1", n, before="#cloud-config\nruncmd: 1"),
    "brackets in a rule": lambda n: again("[", 198, before="#cloud-config\nusers: ", after="]" * 198 + " " * n),
    "a word of many lines": lambda n: again(" a\n", n, before="#cloud-config\nruncmd:\n"),
    "reporters": lambda n: counted(
        "    k#: {retries: a}\n", n, before="#cloud-config\nautoinstall:\n  version: 1\n  reporting:\n"
    ),
    "users": lambda n: counted("- {name: u#, passwd: secret#}\n", n, before="#cloud-config\nusers:\n"),
    "users below many keys": lambda n: counted(
        "- {passwd: secret}\n", n // 4, before=counted("k#:\n", 3 * n // 4, before="#cloud-config\n") + "users:\n"
    ),
    "brackets": lambda n: again("[", n, before="#cloud-config\na: "),
    "a list": lambda n: again("a,", n, before="#cloud-config\na: [", after="]\n"),
    "anchors": lambda n: counted("- &a# x\n", n, before="#cloud-config\na:\n"),
    "documents": lambda n: again("---\na: 1\n", n, before="#cloud-config\n"),
    "a template": lambda n: again("{{ a }}\n", n, before="## template: jinja\n#cloud-config\n"),
}

IGN = '{"ignition": {"version": "3.4.0"}'

JSON: dict[str, Shape] = {
    "unknown keys": lambda n: counted(',"k#":1', n, before=IGN, after="}"),
    "users": lambda n: counted('{"name":"u#","passwordHash":"x"},', n, f'{IGN},"passwd":{{"users":[', '{"a":1}]}}'),
    "files": lambda n: counted('{"path":"/a#"},', n, f'{IGN},"storage":{{"files":[', '{"path":"/"}]}}'),
    "the same file": lambda n: again('{"path":"/a"},', n, f'{IGN},"storage":{{"files":[', '{"path":"/"}]}}'),
    "files in files": lambda n: again("/a", n, f'{IGN},"storage":{{"files":[{{"path":"', '"}]}}'),
    "units": lambda n: counted('{"name":"u#.service"},', n, f'{IGN},"systemd":{{"units":[', '{"name":"a"}]}}'),
    "disks": lambda n: counted('{"device":"/dev/a#"},', n, f'{IGN},"storage":{{"disks":[', '{"device":"a"}]}}'),
    "partitions": lambda n: counted(
        '{"number":#,"startMiB":#,"sizeMiB":2},',
        n,
        f'{IGN},"storage":{{"disks":[{{"device":"/a","partitions":[',
        "{}]}]}}",
    ),
    "a key twice": lambda n: again('"a":1,', n, before="{", after='"a":2}'),
    "brackets": lambda n: again("[", n),
    "data": lambda n: again(
        "%20", n, f'{IGN},"storage":{{"files":[{{"path":"/a","contents":{{"source":"data:,', '"}}]}}'
    ),
    "a long version": lambda n: again("1.", n, '{"ignition":{"version":"', '"}}'),
}

UNATTEND = '<unattend xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State">'
PASS = f'{UNATTEND}<settings pass="oobeSystem">'
SHELL = (
    '<component name="Microsoft-Windows-Shell-Setup" processorArchitecture="amd64" '
    'publicKeyToken="31bf3856ad364e35" language="neutral" versionScope="nonSxS">'
)
CLOSED = "</component></settings></unattend>"

XML: dict[str, Shape] = {
    "settings": lambda n: again('<settings pass="x"/>', n, UNATTEND, "</unattend>"),
    "components": lambda n: counted('<component name="c#"/>', n, PASS, "</settings></unattend>"),
    "the same component": lambda n: again(f"{SHELL}</component>", n, PASS, "</settings></unattend>"),
    "unknown elements": lambda n: counted("<k#/>", n, PASS + SHELL, CLOSED),
    "the same element": lambda n: again("<ComputerName>a</ComputerName>", n, PASS + SHELL, CLOSED),
    "accounts": lambda n: again(
        "<LocalAccount><Name>a</Name></LocalAccount>",
        n,
        f"{PASS}{SHELL}<UserAccounts><LocalAccounts>",
        f"</LocalAccounts></UserAccounts>{CLOSED}",
    ),
    "commands": lambda n: again(
        "<SynchronousCommand><Order>1</Order></SynchronousCommand>",
        n,
        f"{PASS}{SHELL}<FirstLogonCommands>",
        f"</FirstLogonCommands>{CLOSED}",
    ),
    "a long name": lambda n: again("a ", n, f"{PASS}{SHELL}<ComputerName>", f"</ComputerName>{CLOSED}"),
    "nested elements": lambda n: again("<a>", n),
    "attributes": lambda n: counted(' a#="1"', n, "<unattend", "/>"),
    "runs of text": lambda n: again("a<!---->", n, f"{PASS}{SHELL}<ComputerName>", f"</ComputerName>{CLOSED}"),
    "prefixes without a namespace": lambda n: again('<a wcm:action="add"/>', n, "<unattend>", "</unattend>"),
    "declared entities": lambda n: counted('<!ENTITY e# "x">', n, "<!DOCTYPE a [", "]><a/>"),
    "declared attributes": lambda n: counted("<!ATTLIST a b# CDATA #IMPLIED>", n, "<!DOCTYPE a [", "]><a/>"),
}

PROFILE = (
    '<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns">'
    '<users config:type="list">'
)
USERS_CLOSED = "</users></profile>"

AUTOYAST: dict[str, Shape] = {
    "unknown sections": lambda n: counted("<k#/>", n, f"{PROFILE}</users>", "</profile>"),
    "sections of one name": lambda n: again("<general/>", n, f"{PROFILE}</users>", "</profile>"),
    "items of another name": lambda n: counted("<k#/>", n, PROFILE, USERS_CLOSED),
    "unknown elements": lambda n: counted("<k#/>", n, f"{PROFILE}<user>", f"</user>{USERS_CLOSED}"),
    "texts that are no booleans": lambda n: again(
        '<encrypted config:type="boolean">1</encrypted>', n, f"{PROFILE}<user>", f"</user>{USERS_CLOSED}"
    ),
    "elements within each other": lambda n: again("<a>", n, PROFILE, again("</a>", n, after=USERS_CLOSED)),
    "a text in parts": lambda n: again(
        "a<!---->", n, f"{PROFILE}<user><username>", f"</username></user>{USERS_CLOSED}"
    ),
} | {name: XML[name] for name in ("attributes", "nested elements", "prefixes without a namespace")}

AGAMA: dict[str, Shape] = {
    "unknown keys": lambda n: counted(',"k#":1', n, before='{"product":{"id":"a"},"root":{"password":"a"}', after="}"),
    "partitions": lambda n: again(
        '{"size":"ten"},', n, before='{"product":{"id":"a"},"storage":{"drives":[{"partitions":[', after="{}]}]}}"
    ),
    "conditions": lambda n: again(
        '{"size":{"less":"x"}},',
        n,
        before='{"product":{"id":"a"},"storage":{"drives":[{"search":{"condition":{"and":[',
        after="{}]}}}]}}",
    ),
    "nested conditions": lambda n: again(
        '{"not":',
        60,
        before='{"product":{"id":"a"},"storage":{"drives":[{"search":{"condition":',
        after="1" + "}" * 60 + " " * n + "}}]}}",
    ),
}

ANSWERS: dict[str, tuple[str, Shape]] = {
    f"{extension}: {name}": (extension, shape)
    for extension, shapes in (
        ("ks", LINES | KICKSTART),
        ("preseed", LINES | PRESEED),
        ("ipxe", LINES),
        ("toml", TOML),
        ("yaml", YAML),
        ("ign", JSON),
        ("json", AGAMA),
        ("unattend", XML),
        ("autoyast", AUTOYAST),
    )
    for name, shape in shapes.items()
}
"""Every shape of every validator, by a name."""
