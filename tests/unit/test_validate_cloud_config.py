"""Cloud-config and autoinstall: what cloud-init and Ubuntu's installer refuse is found, and what they take is not."""

from __future__ import annotations

import pytest

from answerd.validators import Tools, Verdict, validate

HASH = "$6$rounds$ofahash"
WHO = f"identity: {{hostname: a, username: ops, password: {HASH}}}"


def judged(text: str) -> Verdict:
    return validate(text, "yaml", tools=Tools.none())


def config(text: str) -> str:
    return f"#cloud-config\n{text}\n"


def autoinstall(text: str) -> str:
    return f"#cloud-config\nautoinstall:\n  version: 1\n  {text}\n"


# fmt: off
TAKEN = {
    "a host name with a domain": autoinstall(WHO.replace("hostname: a", "hostname: PC-101-01.example.org")),
    "a host name that is not filled": autoinstall(WHO.replace("hostname: a", "hostname: 'pc-{{ id }}'")),
    "a host name that another program fills": autoinstall(WHO.replace("hostname: a", "hostname: '$HOST-01'")),
    "a blank line before the header": f"\n\n{autoinstall(WHO)}",
    "a comment behind the header": f"#cloud-config  of all web servers\nautoinstall: {{version: 1, {WHO}}}\n",
    "a header in other letters": "#Cloud-Config\nruncmd: [a]\n",
    "a repository with yum's own options":
        config("yum_repos: {epel: {baseurl: 'http://a/', gpgcheck: false, cost: 5}}"),
    "a repository with a list of mirrors only": config("yum_repos: {epel: {mirrorlist: 'http://a/'}}"),
    "MCollective's own options": config("mcollective: {conf: {direct_addressing: 1, securityprovider: psk}}"),
    "a network that is left alone": "network: {config: disabled}\n",
    "a network that is left alone, at the top": config("network: {config: disabled}"),
    "commands as strings and lists": config("runcmd: [a b, [c, d], null]\nbootcmd: [[e]]"),
    "packages of each form": config("packages: [vim, [curl, '8.0'], {snap: [etcd, [lxd, stable]]}]"),
    "users of each form": config("users: [default, [a, b], {name: c, sudo: false, uid: 5}, {snapuser: a@example.org}]"),
    "a mode in quotes": config("write_files: [{path: /a, permissions: '0644', content: x}]"),
    "a delay as a number and a word": config("power_state: {mode: reboot, delay: now, timeout: 5}"),
    "a random password": config("chpasswd: {users: [{name: a, type: RANDOM}, {name: b, password: x}]}"),
    "a reporter": config("reporting: {mine: {type: webhook, endpoint: 'http://a/', retries: 3}}"),
    "keys with either sign": config("users: [{name: a, lock-passwd: true, ssh_import_id: [b]}]"),
    "an anchor above autoinstall": config(f"x-hosts: &h {{a: 1}}\nautoinstall: {{version: 1, {WHO}}}"),
    "keys of curtin in apt": autoinstall(f"{WHO}\n  apt: {{sources_list_entries: x, conf: y}}"),
    "no identity, but user-data": autoinstall("user-data: {users: [default]}"),
    "no identity, which is asked for": autoinstall("interactive-sections: [identity]"),
    "no identity, as all is asked for": autoinstall("interactive-sections: ['*']"),
    "no identity of a desktop": autoinstall("source: {id: ubuntu-desktop-minimal}"),
    "no identity of a reset partition": autoinstall("storage: {layout: {name: direct, reset-partition-only: true}}"),
    "a network in a network": autoinstall(f"{WHO}\n  network: {{network: {{version: 2, ethernets: {{}}}}}}"),
    "a driver of several":
        autoinstall(f"{WHO}\n  network: {{version: 2, ethernets: {{a: {{match: {{driver: [b, c]}}}}}}}}"),
    "other YAML": "hostname: a\n",
    "an inventory of others": "users: [a]\ngroups: [b]\n",
}

REFUSED: dict[str, tuple[str, str, str]] = {
    "packages as a word": (config("packages: vim"), "packages", "a list of names"),
    "commands as a word": (config("runcmd: reboot"), "runcmd", "a list of commands"),
    "files as a mapping": (config("write_files: {path: /a}"), "write_files", "a list of files"),
    "a file without path": (config("write_files: [{content: a}]"), "write_files.0.path", "is missing"),
    "a mode as a number": (config("write_files: [{path: /a, permissions: 0644}]"), "write_files.0.permissions",
                           "an octal mode in quotes"),
    "a user without name": (config("users: [{gecos: a}]"), "users.0", "needs 'name' or 'snapuser'"),
    "a user's flag as a word": (config("users: [{name: a, lock_passwd: 'no'}]"), "users.0.lock_passwd",
                                "must be true or false"),
    "no mode of power_state": (config("power_state: {delay: 5}"), "power_state.mode", "is missing"),
    "another mode of power_state": (config("power_state: {mode: restart}"), "power_state.mode", "must be 'poweroff'"),
    "a key of a section": (config("ntp: {server: [a]}"), "ntp.server", "did you mean 'servers'?"),
    "a reporter's own key": (config("reporting: {a: {type: log, endpoint: b}}"), "reporting.a.endpoint", "not a key"),
    "a repository without address": (config("yum_repos: {epel: {name: a}}"), "yum_repos.epel", "needs 'baseurl'"),
    "a random password with a value": (config("chpasswd: {users: [{name: a, type: RANDOM, password: b}]}"),
                                       "chpasswd.users.0", "without 'password'"),
    "a name twice": (config("ntp: {servers: [a, a]}"), "ntp.servers.1", "occurs twice"),
    "no header": ("timezone: UTC\nruncmd: [a]\n", "", "the first line is not '#cloud-config'"),
    "a section outside autoinstall": (config("late-commands: [a]"), "late-commands", "not under 'autoinstall:'"),
    "a reserved user": (autoinstall(WHO.replace("ops", "admin")), "autoinstall.identity.username",
                        "does not use itself"),
    "a host name with a blank": (autoinstall(WHO.replace("hostname: a", "hostname: PC 101-01")),
        "autoinstall.identity.hostname", "must be a host name"),
    "a host name with other letters": (autoinstall(WHO.replace("hostname: a", "hostname: PC_ä!")),
        "autoinstall.identity.hostname", "must be a host name"),
    "a host name with signs of the shell": (autoinstall(WHO.replace("hostname: a", "hostname: 'node9$!\"#{&//a'")),
        "autoinstall.identity.hostname", "must be a host name"),
    "a long host name": (autoinstall(WHO.replace("hostname: a", f"hostname: {'a' * 65}")),
        "autoinstall.identity.hostname", "at most 64"),
    "root": (autoinstall(WHO.replace("ops", "root")), "autoinstall.identity.username", "does not use itself"),
    "a user's name in capitals": (autoinstall(WHO.replace("ops", "Ops")), "autoinstall.identity.username",
                                  "small letters"),
    "a long user's name": (autoinstall(WHO.replace("ops", "o" * 33)), "autoinstall.identity.username", "32 characters"),
    "no identity": (autoinstall("locale: C"), "autoinstall.identity", "stops without it"),
    "no identity, with another section asked for": (autoinstall("interactive-sections: [network]"),
                                                    "autoinstall.identity", "stops without it"),
    "keys as a word": (autoinstall(f"{WHO}\n  ssh: {{authorized-keys: ssh-ed25519 A}}"),
                       "autoinstall.ssh.authorized-keys", "a list of strings"),
    "a package as a mapping": (autoinstall(f"{WHO}\n  packages: [{{name: a}}]"), "autoinstall.packages.0",
                               "must be a string"),
    "a network without version": (autoinstall(f"{WHO}\n  network: {{ethernets: {{}}}}"),
                                  "autoinstall.network.version", "is missing: it must be 2"),
    "a network of version 1": (autoinstall(f"{WHO}\n  network: {{version: 1, config: []}}"),
                               "autoinstall.network.version", "must be 2"),
    "a snap without name": (autoinstall(f"{WHO}\n  snaps: [{{channel: a}}]"), "autoinstall.snaps.0.name", "is missing"),
    "both kernels": (autoinstall(f"{WHO}\n  kernel: {{package: a, flavor: b}}"), "autoinstall.kernel",
                     "one of package and flavor"),
}
# fmt: on


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_no_finding(text: str) -> None:
    assert judged(text).findings == ()


@pytest.mark.parametrize(("text", "path", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named_with_its_place_and_what_is_expected(text: str, path: str, sentence: str) -> None:
    [finding] = judged(text).findings
    assert finding.path == path
    assert sentence in finding.message
    assert finding.line is not None


def test_a_key_that_the_installer_passes_over_is_a_warning_and_a_misspelled_one_a_finding() -> None:
    verdict = judged(autoinstall(f"{WHO}\n  ssh: {{banner: a, authorised-keys: []}}\n  colour: red"))
    assert [warning.path for warning in verdict.warnings] == ["autoinstall.ssh.banner", "autoinstall.colour"]
    assert [finding.path for finding in verdict.findings] == ["autoinstall.ssh.authorised-keys"]


def test_packages_beside_autoinstall_are_said_to_be_those_of_the_live_system() -> None:
    beside = judged(autoinstall(WHO) + "packages: [vim]\n").warnings
    assert [(warning.path, "for the new one" in warning.message, warning.line) for warning in beside] == [
        ("packages", True, 5)
    ]
    assert judged(autoinstall(f"{WHO}\n  packages: [vim]")).warnings == ()
    assert judged(autoinstall("user-data: {packages: [vim]}")).warnings == ()
    assert judged(config("packages: [vim]")).warnings == ()


def test_the_line_of_a_key_that_is_wrong_is_its_own() -> None:
    [finding] = judged(config("ntp:\n  servers:\n  - a\n  ntp-clent:\n\n    chrony")).findings
    assert (finding.path, finding.line) == ("ntp.ntp-clent", 5)

    [finding] = judged("# no header\nautoinstal:\n  version: 1\n").findings
    assert (finding.path, finding.line) == ("autoinstal", 2)
