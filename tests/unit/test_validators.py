"""The built-in validators of every format but Proxmox's: what is valid, what is not, and what none of them may do.

Runs without any external tool (``Tools.none()``); those are in test_validator_tools.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerd.validators import Finding, Tools, Verdict, kickstart, proxmox, proxmox_values, validate
from answerd.validators.time_zones import canonical_zones, known_zones
from answerd.validators.tools import PROGRAMS
from tests.support.waiting import PATIENCE

EXTENSIONS = ("toml", "yaml", "yml", "json", "ign", "xml", "autoyast", "unattend", "ks", "preseed", "seed", "ipxe")
NEVER_JUDGED = ("cfg",)

USER_DATA = """\
#cloud-config
autoinstall:
  version: 1
  identity: {hostname: n1, username: ops, password: $6$x$y}
  storage: {layout: {name: lvm}}
  late-commands: ["true", [echo, done]]
  updates: security
"""
IGNITION: dict[str, Any] = {
    "ignition": {"version": "3.4.0"},
    "storage": {"files": [{"path": "/etc/hostname", "mode": 420, "contents": {"source": "data:,n1"}}]},
    "systemd": {"units": [{"name": "a.service", "enabled": True, "contents": "[Service]"}]},
    "passwd": {"users": [{"name": "core"}]},
}
YAST = 'xmlns="http://www.suse.com/1.0/yast2ns"'
KICKSTART = "cdrom\nrootpw --lock\nautopart\n%packages\n%end\n%post\necho done\n%end\n"

LAYOUT = KICKSTART.replace("autopart", "part / --size=9")


def judged(text: str, extension: str) -> Verdict:
    return validate(text, extension, tools=Tools.none())


def paths(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.path for finding in findings]


def ignition(**sections: Any) -> str:
    return json.dumps(IGNITION | sections)


def files(**keys: Any) -> str:
    return ignition(storage={"files": [{"path": "/a"} | keys]})


def autoinstall(text: str) -> str:
    who = "" if "identity" in text or "user-data" in text else "  user-data: {}\n"
    return f"#cloud-config\nautoinstall:\n  version: 1\n  {text}\n{who}"


def yast_user(password: str, encrypted: str = "true") -> str:
    return (
        f'<profile {YAST} xmlns:config="http://www.suse.com/1.0/configns"><users config:type="list"><user>'
        f'<username>a</username><user_password>{password}</user_password><encrypted config:type="boolean">'
        f"{encrypted}</encrypted></user></users></profile>"
    )


HASHES = (
    ("a hash", "$6$x$y"),
    ("a hash of yescrypt", "$y$j9T$x$y"),
    ("a hash of DES", "ab01234567890"),
    ("a hash of BSDi", "_J9..rasmBYk8r9AiWNc"),
    ("a locked password", "!!"),
    ("no password", "*"),
)


# fmt: off
VALID: list[tuple[str, str, str]] = [
    ("cloud-config", "yaml", "#cloud-config\nhostname: n1\n"),
    ("cloud-config of Windows line ends", "yaml", "#cloud-config\r\nhostname: n1\r\n"),
    ("cloud-config with nothing in it", "yaml", "#cloud-config\n"),
    ("cloud-config after a byte order mark", "yml", "\ufeff#cloud-config\nhostname: n1\n"),
    ("autoinstall", "yaml", USER_DATA),
    ("autoinstall below a template line", "yaml", "## template: jinja\n" + USER_DATA),
    ("NoCloud meta-data", "yaml", 'instance-id: "n1"\nlocal-hostname: n1\n'),
    ("NoCloud network-config 2", "yml", "version: 2\nethernets: {eth0: {dhcp4: true}}\n"),
    ("NoCloud network-config 1", "yml", "network:\n  version: 1\n  config: [{type: physical, name: eth0}]\n"),
    ("any other YAML", "yaml", "- 1\n- !own {a: b}\n"),
    ("YAML with nothing in it", "yaml", ""),
    ("a preseed", "preseed", "# comment\n\nd-i\tpasswd/root-login boolean false\nd-i mirror/country string manual\n"),
    ("a preseed without a value", "seed", "d-i preseed/late_command string\n"),
    ("a preseed with a flag", "seed", "d-i a/b seen false\n"),
    ("a preseed that goes on", "seed", "d-i preseed/late_command string \\\n  one ; \\\n  two\n"),
    ("Ignition", "ign", ignition()),
    ("Ignition 2", "ign", '{"ignition": {"version": "2.3.0"}, "networkd": {}}'),
    *[(f"an Ignition source {scheme}", "json", files(contents={"source": f"{scheme}://127.0.0.1/a"}))
      for scheme in ("http", "https", "s3", "tftp", "gs")],
    ("an Ignition source by ARN", "ign", files(contents={"source": "arn:aws:s3:::bucket/key"})),
    ("an Ignition file without a source", "ign", files(contents={"source": None})),
    ("an Ignition file with its sticky bit", "ign", files(mode=4095)),
    ("any other JSON", "json", "[1, {}]"),
    ("XML", "xml", "<profile><a/></profile>"),
    ("XML with a bare doctype", "autoyast", '<?xml version="1.0"?><!DOCTYPE profile><profile xmlns="http://www.suse.com/1.0/yast2ns"/>'),
    ("XML with a prefix", "xml", '<profile xmlns:config="urn:c"><a config:type="list"/></profile>'),
    ("XML with a character reference", "xml", "<a>&#228;&amp;</a>"),
    ("autoinstall with the older name of Ubuntu Pro", "yaml",
     autoinstall("ubuntu-advantage: {token: C1234567891ABCDEFGHJKLMN}")),
    ("autoinstall with the zone of its address", "yaml", autoinstall("timezone: geoip")),
    ("autoinstall of a disk image", "yaml", autoinstall("storage: {layout: {name: dd}}")),
    ("autoinstall with a locked password", "yaml",
     autoinstall("identity: {hostname: a, username: b, password: '!'}")),
    ("cloud-config with users", "yaml",
     "#cloud-config\nusers: [default, {name: a, hashed_passwd: $6$a$b, ssh_authorized_keys: [x]}]\n"),
    ("cloud-config with a zone", "yaml", "#cloud-config\ntimezone: Europe/Berlin\n"),
    ("a kickstart with a script that says timezone", "ks", KICKSTART.replace("echo done", "timezone x")),
    ("cloud-config with sources of its own names", "yaml",
     "#cloud-config\napt: {sources: {mine: {source: 'deb a b c', keyid: A}}}\nyum_repos: {epel: {baseurl: x}}\n"),
    ("a preseed with a zone", "preseed", "d-i time/zone string Europe/Berlin\n"),
    ("a kickstart", "ks", KICKSTART),
    ("a part of a kickstart", "ks", "lang C\n%post\nautopart\n%end\n"),
    ("a kickstart with parts elsewhere", "ks", "cdrom\n%include /tmp/disks\n%packages\n%end\n"),
    ("a kickstart that is to ask", "ks", "#version=RHEL6\ncdrom\ninteractive\n%packages\n%end\n"),
    ("a kickstart of an image", "ks", "ostreecontainer --url=a\nsshkey --username=root k\nmount /dev/sda1 /\n"),
    ("a certificate that is included", "ks", "%certificate --filename a.pem --dir /etc\n%include /tmp/a\n%end\n"),
    ("an AutoYaST profile with the doctype of its manual", "autoyast",
     '<?xml version="1.0"?><!DOCTYPE profile SYSTEM "/usr/share/autoinstall/dtd/profile.dtd">'
     '<profile xmlns="http://www.suse.com/1.0/yast2ns"/>'),
    ("a profile with a public doctype", "xml", '<!DOCTYPE profile PUBLIC "-//A" "http://127.0.0.1/a.dtd"><profile/>'),
    ("a kickstart for what is installed", "ks", "#version=RHEL9\n" + KICKSTART),
    ("a kickstart of RHEL only", "ks", KICKSTART + "rhsm --organization=1 --activation-key=2\n"),
    *[(f"a kickstart with {what}", "ks", KICKSTART.replace("--lock", f"--iscrypted {crypt}"))
      for what, crypt in HASHES],
    *[(f"a preseed with {what}", "preseed", f"d-i passwd/user-password-crypted password {crypt}\n")
      for what, crypt in HASHES],
    *[(f"an Ignition user with {what}", "ign", ignition(passwd={"users": [{"name": "a", "passwordHash": crypt}]}))
      for what, crypt in HASHES],
    *[(f"AutoYaST with {what}", "autoyast", yast_user(crypt)) for what, crypt in HASHES],
    *[(f"Agama with {what}", "json",
       json.dumps({"product": {"id": "a"}, "root": {"hashedPassword": True, "password": crypt}}))
      for what, crypt in HASHES],
    ("a preseed without a hash", "preseed", "d-i passwd/root-password-crypted password\n"),
    ("AutoYaST with a plain password", "autoyast", yast_user("secret", "false")),
    ("Agama with a plain password", "json", '{"product": {"id": "a"}, "root": {"password": "secret"}}'),
    ("a kickstart with a plain password", "ks", KICKSTART.replace("--lock", "--plaintext secret")),
    ("a kickstart with a hash in quotes", "ks", KICKSTART.replace("--lock", "'$6$x$y' --iscrypted")),
    ("a kickstart that locks what is no hash", "ks", KICKSTART.replace("--lock", "--lock --iscrypted locked")),
    ("a kickstart of an image for nobody", "ks",
     KICKSTART.replace("--lock", "--iscrypted thereisnopasswordanditislocked")),
    ("a kickstart with comments and signs in quotes", "ks",
     KICKSTART.replace("--lock", "--plaintext 'a#b' # c#d") + "user --name=a --gecos=\"b#c\" #\n"),
    ("a kickstart with addresses", "ks",
     KICKSTART + "network --ip=192.0.2.5 --netmask=255.255.255.0 --gateway=192.0.2.1\n"
     "network --device=a --ip=dhcp --nameserver=192.0.2.1,2001:db8::1\n"),
    ("a kickstart with a volume group", "ks",
     LAYOUT + "part pv.01 --size=9\nvolgroup a pv.01\nlogvol /a --vgname a --name=b --size=9\n"),
    ("a kickstart with an array in a volume group", "ks",
     LAYOUT + "part raid.01 --size=9\npart raid.02 --size=9\nraid pv.01 --level=1 --device=b raid.01 raid.02\n"
     "volgroup a pv.01\n"),
    ("a kickstart with an array whose options come first", "ks",
     LAYOUT + "part raid.01 --size=9\npart raid.02 --size=9\nraid --device=md0 --level=1 raid.21 raid.01 raid.02\n"),
    ("a kickstart that keeps a volume", "ks", LAYOUT + "logvol /a --vgname=a --name=b --noformat\n"),
    ("a kickstart whose group an included file may have", "ks",
     LAYOUT + "%include /tmp/a\nvolgroup a pv.01\nlogvol /a --vgname=b --name=c --size=9\n"),
    ("a kickstart whose group a script may make", "ks",
     "  %pre\na\n%end\n" + LAYOUT + "clearpart --all\nlogvol /a --vgname=b --name=c --size=9\n"),
    ("a kickstart with a user's hash as a word", "ks", KICKSTART + "user --name a --iscrypted --password $6$x$y\n"),
    ("iPXE", "ipxe", "#!ipxe\nboot http://127.0.0.1/\n"),
    ("iPXE of Windows line ends", "ipxe", "#!ipxe\r\nshell\r\n"),
    ("an extension in upper case", "IPXE", "#!ipxe\n"),
]

INVALID: list[tuple[str, str, str, str, int | None]] = [
    ("YAML with an open bracket", "yaml", "a:\n  b: [\n", "", 3),
    ("a YAML key twice", "yaml", "a:\n  b: 1\n  b: 2\n", "", 3),
    ("a YAML alias to nothing", "yaml", "a: *b\n", "", 1),
    ("YAML that is nested without end", "yaml", "[" * 200_000, "", 1),
    ("cloud-config that is a list", "yaml", "#cloud-config\n- a\n", "", 2),
    ("autoinstall without version", "yaml", "#cloud-config\nautoinstall:\n  locale: C\n  user-data: {}\n",
     "autoinstall.version", 3),
    ("autoinstall of version 2", "yaml", "#cloud-config\nautoinstall:\n  version: 2\n  user-data: {}\n",
     "autoinstall.version", 3),
    ("autoinstall of a quoted version", "yaml", "#cloud-config\nautoinstall: {version: '1', user-data: {}}\n",
     "autoinstall.version", 2),
    ("autoinstall that is a list", "yaml", "#cloud-config\nautoinstall: []\n", "autoinstall", 2),
    ("an unknown autoinstall key", "yaml", autoinstall("identitty: {}"), "autoinstall.identitty", 4),
    ("autoinstall's commands outside it", "yaml", "#cloud-config\nlate-commands: []\n", "late-commands", 2),
    ("a key that cloud-init does not know", "yaml", "#cloud-config\nfoo: 1\n", "foo", 2),
    ("a misspelled key of cloud-config", "yaml", "#cloud-config\npackage_updat: true\n", "package_updat", 2),
    ("a misspelled key of a user", "yaml", "#cloud-config\nusers: [{name: a, lock_password: true}]\n",
     "users.0.lock_password", 2),
    ("a plain password of a user", "yaml", "#cloud-config\nusers: [{name: a, passwd: Tiger-77}]\n",
     "users.0.passwd", 2),
    ("a plain password of root in a kickstart", "ks", KICKSTART.replace("--lock", "--iscrypted CHANGEME"), "rootpw", 2),
    ("a plain password of a user in a kickstart", "ks", KICKSTART + "user --name=a --iscrypted --password=secret\n",
     "user", 9),
    ("a plain password for the installer's sshd", "ks", KICKSTART + "sshpw --username a tiger --iscrypted\n",
     "sshpw", 9),
    ("a sentence in place of a preseed's hash", "preseed",
     "d-i passwd/root-password-crypted password [crypt(3) hash]\n", "passwd/root-password-crypted", 1),
    ("a plain password of a preseed's user", "seed", "d-i passwd/user-password-crypted password changeme\n",
     "passwd/user-password-crypted", 1),
    ("a plain password in Ignition", "ign", ignition(passwd={"users": [{"name": "core", "passwordHash": "secret"}]}),
     "passwd.users.0.passwordHash", 1),
    ("a plain password in Ignition 2", "ign",
     '{"ignition": {"version": "2.3.0"}, "passwd": {"users": [{"name": "a", "passwordHash": "b"}]}}',
     "passwd.users.0.passwordHash", 1),
    ("a plain password that AutoYaST takes for a hash", "autoyast", yast_user("secret"), "users.0.user_password", 1),
    ("a plain password that Agama takes for a hash", "json",
     '{"product": {"id": "a"}, "root": {"hashedPassword": true, "password": "secret"}}', "root.password", 1),
    ("a zone that there is not", "yaml", "#cloud-config\ntimezone: Europe/Berln\n", "timezone", 2),
    ("a layout as a word", "yaml", autoinstall("storage: {layout: direct}"), "autoinstall.storage.layout", 4),
    ("a misspelled layout", "yaml", autoinstall("storage: {layout: {name: LVM}}"),
     "autoinstall.storage.layout.name", 4),
    ("retries as a number", "yaml", autoinstall("reporting: {a: {type: webhook, retries: 5}}"),
     "autoinstall.reporting.a.retries", 4),
    ("a reporter without type", "yaml", autoinstall("reporting: {a: {endpoint: b}}"),
     "autoinstall.reporting.a.type", 4),
    ("a misspelled key of ssh", "yaml", autoinstall("ssh: {authorised-keys: []}"),
     "autoinstall.ssh.authorised-keys", 4),
    ("a misspelled key of the later system", "yaml", autoinstall("user-data: {runcdm: []}"),
     "autoinstall.user-data.runcdm", 4),
    ("a preseed with a zone that there is not", "preseed", "d-i time/zone string Europe/Berln\n", "time/zone", 1),
    ("a kickstart with a zone that there is not", "ks", KICKSTART + "timezone --utc Europe/Berln\n", "timezone", 9),
    ("autoinstall packages as a string", "yaml", autoinstall("packages: vim"), "autoinstall.packages", 4),
    ("autoinstall storage as a list", "yaml", autoinstall("storage: []"), "autoinstall.storage", 4),
    ("autoinstall updates of no kind", "yaml", autoinstall("updates: none"), "autoinstall.updates", 4),
    ("autoinstall shutdown of no kind", "yaml", autoinstall("shutdown: halt"), "autoinstall.shutdown", 4),
    ("an autoinstall command that is a boolean", "yaml", autoinstall("late-commands: [true]"),
     "autoinstall.late-commands.0", 4),
    ("an identity without password", "yaml", autoinstall("identity: {hostname: a, username: b}"),
     "autoinstall.identity.password", 4),
    ("an identity with more", "yaml", autoinstall("identity: {hostname: a, username: b, password: $6$c$d, shell: d}"),
     "autoinstall.identity.shell", 4),
    ("a keyboard without layout", "yaml", autoinstall("keyboard: {variant: ''}"), "autoinstall.keyboard.layout", 4),
    ("meta-data with an empty instance-id", "yaml", "instance-id: ''\nlocal-hostname: a\n", "instance-id", 1),
    ("network-config of version 3", "yaml", "version: 3\nethernets: {}\n", "version", 1),
    ("a preseed line of two words", "preseed", "# a\nd-i passwd/root-login\n", "", 2),
    ("a preseed line of one word, further down", "seed", "d-i a/b string \\\n  x\nd-i\n", "", 3),
    ("JSON with a comma too many", "json", '{\n"a": 1,\n}', "", 2),
    ("JSON with a key twice", "json", '{"a": {"b": 1, "b": 2}}', "", 1),
    ("JSON with NaN", "json", '{"a": NaN}', "", 1),
    ("JSON that is nested without end", "json", "[" * 100_000, "", 1),
    ("an ign without ignition", "ign", "{}", "ignition.version", None),
    ("Ignition without a version", "ign", '{"ignition": {}}', "ignition.version", None),
    ("Ignition that is a string", "json", '{"ignition": "3.4.0"}', "ignition.version", None),
    *[(f"Ignition {version!r}", "ign", json.dumps({"ignition": {"version": version}}), "ignition.version", None)
      for version in ("3.4", "v3.4.0", "4.0.0", "1.0.0", 3, None, "03.4.0")],
    ("an Ignition path that is relative", "ign", files(path="etc/hostname"), "storage.files.0.path", 1),
    ("an Ignition file without path", "ign", files(path=None), "storage.files.0.path", 1),
    *[(f"an Ignition mode {mode!r}", "ign", files(mode=mode), "storage.files.0.mode", 1)
      for mode in (4096, -1, "0644", 420.5, True)],
    ("an Ignition source of FTP", "ign", files(contents={"source": "ftp://127.0.0.1/"}),
     "storage.files.0.contents.source", 1),
    ("a source that only Ignition 2 has", "ign", files(contents={"source": "oem:///a"}),
     "storage.files.0.contents.source", 1),
    ("an Ignition source that is a path", "ign", files(contents={"source": "/etc/passwd"}),
     "storage.files.0.contents.source", 1),
    ("an Ignition fragment of no source", "ign", files(append=[{"source": 1}]),
     "storage.files.0.append.0.source", 1),
    ("Ignition contents as a string", "ign", files(contents="x"), "storage.files.0.contents", 1),
    ("Ignition overwrite as a string", "ign", files(overwrite="yes"), "storage.files.0.overwrite", 1),
    ("Ignition overwrite with nothing", "ign", files(overwrite=True), "storage.files.0.overwrite", 1),
    ("an Ignition path twice", "ign",
     ignition(storage={"files": [{"path": "/a"}], "links": [{"path": "/a", "target": "/b"}]}),
     "storage.links.0.path", 1),
    ("Ignition files as an object", "ign", ignition(storage={"files": {}}), "storage.files", 1),
    ("an Ignition section as a list", "ign", ignition(storage=[]), "storage", 1),
    ("an Ignition unit without name", "ign", ignition(systemd={"units": [{"enabled": True}]}),
     "systemd.units.0.name", 1),
    ("an Ignition unit of no type", "ign", ignition(systemd={"units": [{"name": "a"}]}), "systemd.units.0.name", 1),
    ("an Ignition unit enabled by a string", "ign",
     ignition(systemd={"units": [{"name": "a.service", "enabled": "1"}]}), "systemd.units.0.enabled", 1),
    ("an Ignition user without name", "ign", ignition(passwd={"users": [{}]}), "passwd.users.0.name", 1),
    ("an Ignition config to merge from a file", "ign",
     ignition(ignition={"version": "3.4.0", "config": {"merge": [{"source": "file:///etc/passwd"}]}}),
     "ignition.config.merge.0.source", 1),
    ("XML that is not closed", "xml", "<a>\n<b></a>\n", "", 2),
    ("XML with two roots", "unattend", "<a/>\n<b/>", "", 2),
    ("XML with an unknown entity", "xml", "<a>&nbsp;</a>", "", 1),
    ("XML with an external subset", "xml", '<!DOCTYPE a SYSTEM "a.dtd">\n<a/>', "", 1),
    ("XML with a public subset", "xml", '<!DOCTYPE a PUBLIC "-//A" "http://127.0.0.1/a.dtd">\n<a/>', "", 1),
    ("XML with an external entity", "xml", '<!DOCTYPE a [\n<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<a>&x;</a>',
     "", 2),
    ("XML with an entity", "xml", '<!DOCTYPE a [<!ENTITY x "y">]>\n<a>&x;</a>', "", 1),
    ("XML with a parameter entity", "xml", '<!DOCTYPE a [<!ENTITY % x SYSTEM "x.dtd"> %x;]>\n<a/>', "", 1),
    ("a volume group of a partition that there is not", "ks",
     LAYOUT + "part pv.01 --size=9\nvolgroup a pv.01 pv.02\n", "volgroup", 10),
    ("an array of a partition that there is not", "ks",
     LAYOUT + "part raid.01 --size=9\nraid /a --level=1 --device=b raid.01 raid.02\n", "raid", 10),
    ("a logical volume of a group that there is not", "ks",
     LAYOUT + "part pv.01 --size=9\nvolgroup a pv.01\nclearpart --all\nlogvol /a --vgname=b --name=c --size=9\n",
     "logvol", 12),
    ("an address that is none", "ks", KICKSTART + "network --bootproto=static --ip=10.0.0.300\n", "network", 9),
    ("a name server of too few numbers", "ks", KICKSTART + "network --nameserver 192.0.2.1,192.0.2\n", "network", 9),
    ("a kickstart with an unknown command", "ks", KICKSTART + "nonsense\n", "", 9),
    ("a kickstart with an unknown option", "ks", "lang en_US\nclearpart --everything\n", "", 2),
    ("a kickstart with a section left open", "ks", "lang en_US\n%post\necho\n", "", 3),
    ("a kickstart with a section of no kind", "ks", "lang en_US\n%nonsense\n%end\n", "", 2),
    ("a kickstart with a quote left open", "ks", "lang en_US\nrootpw 'x\n", "", None),
    ("a kickstart that fights itself", "ks", "autopart\npart / --size=1\n", "", 2),
    ("a zone that there is not behind a time server", "ks", "timezone --ntpservers a.example.org Europe/Berln\n",
     "timezone", 1),
    ("a kickstart of no syntax, with the version that Anaconda writes", "ks", "#version=DEVEL\nnonsense\n", "", 2),
    ("a certificate with nothing in it", "ks", "%certificate --filename a.pem --dir /etc\n%end\n", "", None),
    ("iPXE after a blank line", "ipxe", "\n#!ipxe\n", "", 1),
    ("iPXE after a byte order mark", "ipxe", "\ufeff#!ipxe\n", "", 1),
    ("iPXE with a longer word", "ipxe", "#!ipxescript\n", "", 1),
    ("iPXE without a line end", "ipxe", "#!ipxe", "", 1),
    *[(f"{extension} with nothing in it", extension, " \n", "", None)
      for extension in EXTENSIONS if extension not in ("yaml", "yml")],
]

DOUBTFUL: list[tuple[str, str, str, str]] = [
    ("a variable in place of a hash", "yaml", "#cloud-config\nusers: [{name: a, passwd: $ENCRYPTED_PASSWORD}]\n",
     "users.0.passwd"),
    ("a placeholder of another program in place of a hash", "ks",
     KICKSTART + "sshpw --username=a --iscrypted {{.Hash}}\n", "sshpw"),
    ("a mark in place of a hash", "preseed", "d-i passwd/user-password-crypted password @HASH@\n",
     "passwd/user-password-crypted"),
    ("a layout that there is not", "yaml", autoinstall("storage: {layout: {name: ext4}}"),
     "autoinstall.storage.layout.name"),
    ("meta-data without an instance-id", "yaml", "local-hostname: n1\n", "instance-id"),
    ("a preseed type that is none", "preseed", "d-i a/b strng x\n", ""),
    ("a preseed boolean that is none", "preseed", "d-i a/b boolean yes\n", "a/b"),
    ("a preseed value after two blanks", "preseed", "d-i a/b string  x\n", "a/b"),
    ("a preseed question without a slash", "preseed", "d-i ab string x\n", ""),
    ("a preseed comment that goes on with a question", "preseed", "# off \\\nd-i a/b string x\n", ""),
    ("a preseed backslash before a blank", "preseed", "d-i a/b string x \\ \n", ""),
    ("a preseed that ends in a backslash", "preseed", "d-i a/b string x \\", ""),
    ("an unknown Ignition section", "ign", ignition(networkd={}), "networkd"),
    ("an unknown key of an Ignition file", "ign", files(owner="root"), "storage.files.0.owner"),
    ("an Ignition to come", "ign", ignition(ignition={"version": "3.99.0"}), "ignition.version"),
    ("an experimental Ignition", "ign", ignition(ignition={"version": "3.5.0-experimental"}), "ignition.version"),
    ("autoinstall with an anchor", "yaml", "#cloud-config\nx: &x {version: 1, user-data: {}}\nautoinstall: {<<: *x}\n",
     "x"),
    ("a prefix without a namespace", "autoyast", '<a config:type="list"/>', ""),
    ("XML in another encoding", "xml", '<?xml version="1.0" encoding="utf-16"?><a/>', ""),
    ("a kickstart command to be dropped", "ks", "#version=RHEL8\ninstall\n", ""),
    ("a kickstart for an unknown syntax", "ks", "#version=SUSE99\nlang en_US\n", ""),
    ("a kickstart without a disk layout", "ks", KICKSTART.replace("autopart", "# autopart"), ""),
    ("a kickstart without a root", "ks", LAYOUT.replace("part / ", "part /a "), ""),
    ("a logical volume of a group that the disk may have", "ks", LAYOUT + "logvol /a --vgname=b --name=c --size=9\n",
     "logvol"),
    ("a password that is cut", "ks", KICKSTART.replace("--lock", "--plaintext abc#def"), "rootpw"),
    ("an option behind a name with a sign", "ks", KICKSTART + "network --hostname=node#2 --vlanid=7\n", "network"),
    ("a kickstart with packages alone", "ks", "lang C\n%packages\n@core\n%end\n", ""),
]
JUDGES: list[tuple[str, str, str, tuple[str, ...]]] = [
    ("cloud-config", "yaml", "#cloud-config\nhostname: n1\n", ("YAML syntax", "cloud-config rules")),
    ("autoinstall", "yaml", USER_DATA, ("YAML syntax", "Ubuntu autoinstall rules")),
    ("meta-data", "yaml", "instance-id: n1\n", ("YAML syntax", "NoCloud meta-data shape")),
    ("network-config", "yml", "version: 2\nethernets: {}\n", ("YAML syntax", "NoCloud network-config shape")),
    ("Talos", "yaml", "machine: {type: worker}\ncluster: {}\n", ("YAML syntax", "Talos rules")),
    ("other YAML", "yaml", "- 1\n", ("YAML syntax",)),
    ("Ignition", "ign", ignition(), ("JSON syntax", "Ignition rules")),
    ("Agama", "json", '{"product": {"id": "Tumbleweed"}}', ("JSON syntax", "Agama rules")),
    ("other JSON", "json", "[]", ("JSON syntax",)),
    ("AutoYaST", "xml", f"<profile {YAST}/>", ("XML syntax", "AutoYaST rules")),
    ("AutoYaST by its path", "autoyast", "<profile/>", ("XML syntax", "AutoYaST rules")),
    ("unattend", "xml", "<unattend/>", ("XML syntax", "Windows unattend")),
    ("unattend by its path", "unattend", "<a/>", ("XML syntax", "Windows unattend")),
    ("other XML", "xml", "<a/>", ("XML syntax",)),
    ("Proxmox", "toml", "[global]\n", ("TOML syntax", "Proxmox answer schema (rules of 9.2)")),
    ("other TOML", "toml", "a = 1\n", ("TOML syntax",)),
    ("a kickstart", "ks", KICKSTART, ("pykickstart (RHEL10 syntax)",)),
    ("a preseed", "seed", "d-i a/b string c\n", ("preseed line grammar",)),
    ("iPXE", "ipxe", "#!ipxe\nshell\n", ("iPXE first line",)),
    ("a text that is empty", "ign", " \n", ("emptiness",)),
    ("a text that is no UTF-8", "ks", "\ud800", ("encoding",)),
]
# fmt: on


@pytest.mark.parametrize(("extension", "text"), [case[1:] for case in VALID], ids=[case[0] for case in VALID])
def test_a_good_answer_is_valid(extension: str, text: str) -> None:
    verdict = judged(text, extension)
    assert verdict.findings == ()
    assert verdict.warnings == ()
    assert verdict.valid


@pytest.mark.parametrize(
    ("extension", "text", "path", "line"), [case[1:] for case in INVALID], ids=[case[0] for case in INVALID]
)
def test_a_bad_answer_is_refused_where_it_is_wrong(extension: str, text: str, path: str, line: int | None) -> None:
    verdict = judged(text, extension)
    assert [(finding.path, finding.line) for finding in verdict.findings] == [(path, line)]
    assert not verdict.valid
    assert verdict.judged


@pytest.mark.parametrize(
    ("extension", "text", "path"), [case[1:] for case in DOUBTFUL], ids=[case[0] for case in DOUBTFUL]
)
def test_what_is_doubtful_is_a_warning_and_refuses_nothing(extension: str, text: str, path: str) -> None:
    verdict = judged(text, extension)
    assert (paths(verdict.findings), paths(verdict.warnings)) == ([], [path])
    assert verdict.valid


@pytest.mark.parametrize(
    ("extension", "text", "judges"), [case[1:] for case in JUDGES], ids=[case[0] for case in JUDGES]
)
def test_a_verdict_names_what_judged(extension: str, text: str, judges: tuple[str, ...]) -> None:
    assert judged(text, extension).judged_by == judges


@pytest.mark.parametrize("extension", [*NEVER_JUDGED, "txt"])
def test_nothing_can_judge_it(extension: str) -> None:
    verdict = judged("anything", extension)
    assert not verdict.judged
    assert not verdict.valid
    assert verdict.findings == ()
    assert extension in verdict.notes[0]


def test_an_entity_whose_text_is_elsewhere_is_called_external() -> None:
    messages = [
        judged(f"<!DOCTYPE a [<!ENTITY x {value}>]>\n<a>&x;</a>", "xml").findings[0].message
        for value in ('"y"', 'SYSTEM "file:///etc/passwd"')
    ]
    assert ["external" in message for message in messages] == [False, True]


@pytest.mark.parametrize(
    ("text", "column"), [('{"ignition": {\n  "version" "3.4.0"}}', 13), ('{"ignition": {},\n "a": 1, "a": 2}', 10)]
)
def test_ignition_that_is_no_json_is_refused_with_line_and_column(text: str, column: int) -> None:
    (finding,) = judged(text, "ign").findings
    assert finding.line == 2
    assert f"(column {column})" in finding.message


def test_the_nearest_autoinstall_key_is_named() -> None:
    (finding,) = judged(autoinstall("late-command: []"), "yaml").findings
    assert "late-commands" in finding.message


def test_a_template_that_is_no_yaml_yet_is_not_judged() -> None:
    verdict = judged("## template: jinja\n#cloud-config\n{% if v1.region %}\na: 1\n{% endif %}\n", "yaml")
    assert (verdict.findings, verdict.judged_by) == ((), ())
    assert verdict.notes


def test_a_missing_parser_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pykickstart.version", None)
    verdict = judged(KICKSTART, "ks")
    assert not verdict.judged
    assert "pykickstart" in verdict.notes[0]


def test_a_kickstart_is_told_what_the_kindest_syntax_objects_to() -> None:
    verdict = judged("install\nauth --enableshadow\nnonsense\n", "ks")
    assert [finding.line for finding in verdict.findings] == [3]
    assert any("RHEL8" in judge for judge in verdict.judged_by)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("autopart --encrypted --pass{phrase sesame --type=lvm", "autopart: unrecognized arguments"),
        ("user --name=bob --passwrd='open -Sesame now'", "user: unrecognized arguments: --passwrd"),
        ("autopart --encrypted --passprase=sesame", "autopart: unrecognized arguments: --passprase"),
        ("zerombr yes", "zerombr: unrecognized arguments"),
        ("network --hostname web sesame", "network: unrecognized arguments"),
    ],
)
def test_of_arguments_that_kickstart_does_not_know_only_options_are_named(line: str, said: str) -> None:
    verdict = validate(f"#version=RHEL9\n{line}\n", "ks", tools=Tools.none())
    assert [finding.message for finding in verdict.findings] == [said]


def test_arguments_that_only_the_oldest_syntax_takes_are_no_findings() -> None:
    verdict = judged("zerombr yes\n%packages\n@core\n", "ks")
    assert verdict.findings == ()
    assert any("RHEL5" in judge for judge in verdict.judged_by)


def test_a_stated_syntax_is_the_only_one_that_counts() -> None:
    assert judged("#version=F46\ninstall\nlang en_US\n", "ks").valid is False
    assert judged("#version=RHEL7\ninstall\nlang en_US\n", "ks").valid is True


def test_kickstart_errors_are_neither_printed_nor_warned_of(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    before = list(sys.path)
    judged("#version=RHEL8\ninstall\nnonsense\nclearpart --x\n", "ks")
    assert capfd.readouterr() == ("", "")
    assert list(recwarn) == []
    assert sys.path == before


@pytest.mark.parametrize(
    "line",
    [
        "%include http://127.0.0.1/a",
        "  %include /etc/passwd",
        "%ksappend http://127.0.0.1/a",
        "\t%ksappend x",
        '"%include" /etc/passwd',
        '%inc"lude" /etc/passwd',
        "\\%include /etc/passwd",
        "\ufeff%ksappend x",
        "%includes-too /etc/passwd",
    ],
)
def test_a_line_that_names_another_file_is_emptied(line: str) -> None:
    assert kickstart.without_includes(f"lang C\n{line}\r\nrootpw x") == "lang C\n\r\nrootpw x"


@pytest.mark.parametrize("text", ["", "lang C", "a\n\nb\n", "echo %include\n", "# %include x\n", "a\x0cb\n"])
def test_every_other_line_is_left_as_it_is(text: str) -> None:
    assert kickstart.without_includes(text) == text


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_an_include_behind_an_odd_line_end_is_emptied_too(separator: str) -> None:
    assert kickstart.without_includes(f"lang C{separator}%ksappend x\nb") == f"lang C{separator}\nb"


def test_a_message_is_one_printable_line() -> None:
    verdict = judged('{"ignition": {"version": "3.0.0\\u001b[2J\\n\\ud800' + "x" * 10_000 + '"}}', "ign")
    (finding,) = verdict.findings
    assert finding.message.isprintable()
    assert len(finding.message) < 1_000


@given(text=st.text(st.characters(exclude_categories=()), max_size=200), extension=st.sampled_from(EXTENSIONS))
def test_no_text_makes_a_validator_fail(text: str, extension: str) -> None:
    """Including the surrogates that no UTF-8 text can hold."""
    assert isinstance(judged(text, extension), Verdict)


FORMATS_WORDS = "autoinstall version global network ignition %include string 1 true null << *a &a part raid"


@given(
    extension=st.sampled_from(EXTENSIONS),
    words=st.lists(
        st.sampled_from(
            [
                *"[]{}<>&;:,=\"'\\#%!- \n",
                *FORMATS_WORDS.split(),
                *("  ", "#cloud-config\n", "%post\n", "%end\n", "d-i a/b", "<!DOCTYPE a", "<!ENTITY", "---\n"),
            ]
        ),
        max_size=25,
    ),
)
def test_no_text_of_a_formats_own_words_makes_a_validator_fail(extension: str, words: list[str]) -> None:
    assert isinstance(judged("".join(words), extension), Verdict)


# What no validator may do: reach the network, open what the answer names.


class Trap:
    """A server that counts who connects, and a file nobody may open: it is a pipe, so that a reader would hang."""

    def __init__(self, folder: Path) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}/trap"
        self.canary = folder / "canary"
        os.mkfifo(self.canary)

    def connections(self) -> int:
        self.server.setblocking(False)
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self.server.accept()[0].close()
                count += 1
        return count

    def answers(self) -> list[tuple[str, str]]:
        """An answer of each format that names the server and the file wherever it can."""
        url, canary = self.url, self.canary
        return [
            (
                "ks",
                f"url --url={url}\nrepo --name=a --baseurl={url}\n%include {url}\n%include {canary}\n"
                f"%ksappend {url}\n%ksappend {canary}\n%pre\n%include {canary}\n%end\n",
            ),
            ("ks", f"lang C\u2028%ksappend {url}\x0b%ksappend {canary}\n'%include' {canary}\n"),
            (
                "toml",
                f'[global]\n[first-boot]\nsource = "from-url"\nurl = "{url}"\n'
                f'[post-installation-webhook]\nurl = "{url}"\n',
            ),
            ("yaml", f"#cloud-config\n#include {url}\nwrite_files: [{{path: {canary}, source: {{uri: '{url}'}}}}]\n"),
            ("yaml", f"#cloud-config\nautoinstall: {{version: 1, early-commands: ['cat {canary}'], proxy: '{url}'}}\n"),
            ("yaml", f"a: !!python/object/apply:os.system ['cat {canary}']\n"),
            ("preseed", f"d-i preseed/include string {url}\nd-i preseed/include string file://{canary}\n"),
            ("ign", files(contents={"source": url})),
            ("ign", ignition(ignition={"version": "3.4.0", "config": {"replace": {"source": url}}})),
            ("xml", f'<!DOCTYPE a SYSTEM "{url}"><a/>'),
            ("xml", f'<!DOCTYPE a [<!ENTITY x SYSTEM "file://{canary}"> <!ENTITY % y SYSTEM "{url}"> %y;]><a>&x;</a>'),
            (
                "autoyast",
                f'<a xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file://{canary}"/>'
                f'<xi:include href="{url}"/></a>',
            ),
            ("unattend", f'<?xml-stylesheet href="{url}"?><a xmlns="{url}"/>'),
            ("ipxe", f"#!ipxe\nchain {url}\n"),
        ]


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    trap = Trap(tmp_path)
    yield trap
    trap.server.close()


_watched = threading.local()


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Fails what this thread opens or connects while it is watched; an audit hook can never be taken away again."""
    log: list[str] | None = getattr(_watched, "log", None)
    if log is None:
        return
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"):
        log.append(event)
        raise PermissionError(event)
    if event == "open" and str(arguments[0]).endswith("canary"):
        log.append(event)
        raise PermissionError(event)


sys.addaudithook(_watch)


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    log: list[str] = []
    _watched.log = log
    try:
        yield log
    finally:
        _watched.log = None


def test_the_trap_catches_who_walks_into_it(trap: Trap) -> None:
    """Else the tests below would hold of anything."""
    with watched() as log:
        for walk_in in (
            trap.canary.open,
            lambda: socket.create_connection(trap.server.getsockname(), timeout=PATIENCE),
        ):
            with pytest.raises(PermissionError):
                walk_in()
    assert log == ["open", "socket.getaddrinfo"]
    socket.create_connection(trap.server.getsockname(), timeout=PATIENCE).close()
    assert trap.connections() == 1


def test_no_built_in_validator_reaches_the_network_or_a_file(trap: Trap) -> None:
    with watched() as log:
        for extension, text in trap.answers():
            judged(text, extension)
    assert log == []
    assert trap.connections() == 0


def test_no_tool_reaches_the_network_or_a_file(trap: Trap) -> None:
    """The tools that are installed here, one run each; a tool that opened the canary would hang until it is killed."""
    search_path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    tools = Tools.find(search_path, timeout=20)
    if not tools.paths:
        pytest.skip("no external validator is installed")
    for extension, text in trap.answers():
        verdict = validate(text, extension, tools=tools)
        assert not [warning for warning in verdict.warnings if "killed" in warning.message]
    assert trap.connections() == 0


def test_a_user_is_compared_with_those_before_it_in_a_file_of_many() -> None:
    users = "".join(f"user --name=u{number}\n" for number in range(1_000))
    assert judged(KICKSTART + users, "ks") == judged(KICKSTART, "ks")
    assert len(judged(f"{KICKSTART}{users}user --name=u998\n", "ks").warnings) == 1


@pytest.fixture
def zones(tmp_path: Path) -> Iterator[None]:
    """A zone database that has an alias in its source only, as Debian's package without the one of old names."""
    (tmp_path / "Europe").mkdir()
    (tmp_path / "Europe" / "Berlin").write_bytes(b"TZif")
    (tmp_path / "tzdata.zi").write_text("# version 1\nZ Europe/Berlin 1 E CE%sT\nL Europe/Berlin Mars/Berlin\n")
    (tmp_path / "zone.tab").write_text("DE\t+5230+01322\tEurope/Berlin\n")
    zoneinfo.reset_tzpath([tmp_path])
    known_zones.cache_clear()
    canonical_zones.cache_clear()
    yield
    zoneinfo.reset_tzpath()
    known_zones.cache_clear()
    canonical_zones.cache_clear()


@pytest.mark.usefixtures("zones")
def test_an_alias_that_only_the_source_of_the_zone_database_has_is_known() -> None:
    zone = "d-i time/zone string {}\n"
    assert judged(zone.format("Mars/Berlin"), "preseed").valid
    assert judged(zone.format("Mars/Berln"), "preseed").findings[0].path == "time/zone"


PAGE = (Path(__file__).parents[2] / "docs" / "validators.md").read_text(encoding="utf-8")


def test_the_page_names_every_format_program_and_key() -> None:
    keys = [key.name for table in proxmox.TABLES.values() for key in table if table is not proxmox.TABLES[""]]
    names = [*EXTENSIONS, *NEVER_JUDGED, *(f"{tool} " for tool in PROGRAMS), *keys, *proxmox_values.KEYBOARDS]
    tables = ("", "global.", "global.fqdn.", "network.", "disk-setup.")
    assert [name for name in names if not any(f"`{table}{name}" in PAGE for table in tables)] == []


@pytest.mark.parametrize("rest", ["#  root :: \\\n#   40 50 ext4 .", "  root :: \\\n  40 50 ext4 .", ""])
def test_a_preseed_comment_may_go_on_with_the_rest_of_its_value(rest: str) -> None:
    verdict = judged(f"#d-i partman-auto/expert_recipe string \\\n{rest}\nd-i time/zone string UTC\n", "preseed")
    assert (verdict.findings, verdict.warnings) == ((), ())


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("auth --enableshadow\n", "RHEL9"),
        ("unsupported_hardware\n", "RHEL7"),
        ("key --skip\n%packages\n", "RHEL5"),
        ("nonsense\n", None),
        ("lang C\n", None),
    ],
)
def test_the_syntax_that_takes_a_kickstart_is_named_with_how_to_state_it(text: str, dialect: str | None) -> None:
    said = [warning.message for warning in judged(text, "ks").warnings if "#version=" in warning.message]
    if dialect is None:
        assert said == []
    else:
        [sentence] = said
        assert f"'#version={dialect}'" in sentence
        assert judged(f"#version={dialect}\n{text}", "ks").valid


def test_a_kickstart_is_told_what_anaconda_will_ask_for() -> None:
    text = "rootpw --lock\nignoredisk --only-use=sda\nclearpart --all\n%packages\n%end\n%post\nurl\nautopart\n%end\n"
    assert [warning.message for warning in judged(text, "ks").warnings] == [
        "Anaconda will stop and ask: no installation source, such as url (unless inst.repo or the boot medium gives "
        "one), no disk layout, such as autopart"
    ]
    assert judged(f"autopart\n{text}", "ks").warnings == (), "inst.repo may give the source"


@pytest.mark.parametrize(
    "text",
    [
        "#version=DEVEL\nauth --enableshadow\n",
        "unsupported_hardware\n%packages --nobase\n@core\n%end\n",
        "lang C\nkey --skip\n%packages\n@core\n",
        "timezone --ntpservers a.example.org Europe/Berlin\n",
        "timezone --utc --ntpservers=a.example.org Europe/Berlin\n",
    ],
    ids=["the version that Anaconda writes", "RHEL 7", "RHEL 5", "a zone behind a server", "a zone behind an option"],
)
def test_a_kickstart_of_an_older_syntax_is_valid_without_a_version(text: str) -> None:
    assert judged(text, "ks").findings == ()
