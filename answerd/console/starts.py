"""Texts to start a new document from, one for each format: the least that its installer needs, to be filled in."""

from __future__ import annotations

from collections.abc import Mapping

from answerd.console.adopting import NEW_INVENTORY
from answerd.identity import Kind

_TOML = """\
# Proxmox VE. The places for values: docs/templates.md.
[global]
keyboard = "en-us"
country = "de"
timezone = "UTC"
fqdn = "host.example.com"
mailto = "admin@example.com"
root-password-hashed = "{{ secret.root-hash }}"

[network]
source = "from-dhcp"

[disk-setup]
filesystem = "ext4"
disk-list = ["sda"]
"""

_YAML = """\
#cloud-config
autoinstall:
  version: 1
  identity:
    hostname: host
    username: admin
    password: "{{ secret.admin-hash }}"
  ssh:
    install-server: true
"""

_IGNITION = """\
{
  "ignition": { "version": "3.4.0" },
  "passwd": {
    "users": [
      { "name": "core", "passwordHash": "{{ secret.core-hash }}" }
    ]
  }
}
"""

_AUTOYAST = """\
<?xml version="1.0" encoding="UTF-8"?>
<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns">
  <general>
    <mode>
      <confirm config:type="boolean">false</confirm>
    </mode>
  </general>
  <users config:type="list">
    <user>
      <username>root</username>
      <user_password>{{ secret.root-hash }}</user_password>
      <encrypted config:type="boolean">true</encrypted>
    </user>
  </users>
</profile>
"""

_UNATTEND = """\
<?xml version="1.0" encoding="utf-8"?>
<unattend xmlns="urn:schemas-microsoft-com:unattend">
  <settings pass="specialize">
    <component name="Microsoft-Windows-Shell-Setup" processorArchitecture="amd64"
        publicKeyToken="31bf3856ad364e35" language="neutral" versionScope="nonSxS">
      <ComputerName>PC-0001</ComputerName>
      <TimeZone>UTC</TimeZone>
    </component>
  </settings>
</unattend>
"""

_KICKSTART = """\
text
lang en_US.UTF-8
keyboard us
timezone Etc/UTC --utc
url --url=http://mirror.example.com/rocky/9/BaseOS/x86_64/os/
network --bootproto=dhcp --activate
rootpw --iscrypted {{ secret.root-hash }}
zerombr
clearpart --all --initlabel
autopart
reboot

%packages
@^minimal-environment
%end
"""

_PRESEED = """\
d-i debian-installer/locale string en_US.UTF-8
d-i keyboard-configuration/xkb-keymap select us
d-i passwd/make-user boolean false
d-i passwd/root-password-crypted password {{ secret.root-hash }}
d-i clock-setup/utc boolean true
d-i time/zone string Etc/UTC
d-i partman-auto/method string regular
d-i partman/confirm boolean true
d-i partman/confirm_nooverwrite boolean true
tasksel tasksel/first multiselect standard, ssh-server
d-i finish-install/reboot_in_progress note
"""

_OPENBSD = """\
System hostname = host
Password for root account = {{ secret.root-hash }}
Which disk is the root disk = sd0
"""

_IPXE = """\
#!ipxe
kernel http://boot.example.com/vmlinuz
initrd http://boot.example.com/initrd
boot
"""

STARTS: Mapping[str, str] = {
    "toml": _TOML,
    "yaml": _YAML,
    "yml": _YAML,
    "json": _IGNITION,
    "ign": _IGNITION,
    "xml": _AUTOYAST,
    "autoyast": _AUTOYAST,
    "unattend": _UNATTEND,
    "ks": _KICKSTART,
    "preseed": _PRESEED,
    "seed": _PRESEED,
    "cfg": _OPENBSD,
    "ipxe": _IPXE,
}
"""By extension."""


def start_of(kind: Kind, extension: str) -> str:
    """Return the text that a new document of a kind and format may start from."""
    return NEW_INVENTORY if kind is Kind.INVENTORY else STARTS[extension]
