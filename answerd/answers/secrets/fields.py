"""Fields that formats define, whose names alone do not tell that their values are secrets.

A field is the end of a path: names apart by slashes, positions of lists left out, ``*`` for any one name. ``where``: a
key beside it and its value, at the top of the document where the key begins with ``/``. ``sign``: what is before the
secret on each line of the value.
"""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """A field whose value is a secret."""

    path: str
    source: str
    where: tuple[str, str] = ("", "")
    sign: str = ""


# fmt: off
FIELDS = (
    Field("chpasswd/list", "cloud-init chpasswd", sign=":"),
    Field("random_seed/data", "cloud-init random_seed"),
    Field("custom_attributes/1.2.840.113549.1.9.7", "cloud-init puppet: challengePassword"),
    Field("key", "curtin storage: dm_crypt", ("type", "dm_crypt")),
    Field("tunnels/*/key", "netplan: WireGuard"),
    Field("keys/shared", "netplan: WireGuard peers"),
    Field("ca/key", "Talos machine.ca, cluster.ca, cluster.etcd.ca"),
    Field("acceptedCAs/key", "Talos machine.acceptedCAs"),
    Field("aggregatorCA/key", "Talos cluster.aggregatorCA"),
    Field("serviceAccount/key", "Talos cluster.serviceAccount"),
    Field("auth/auth", "Talos machine.registries: base64 of user:password"),
    Field("auths/*/auth", "docker config.json: base64 of user:password"),
    Field("luks/keyFile/source", "Ignition storage.luks: a data URL", sign=","),
    Field("data/*", "Kubernetes Secret", ("/kind", "Secret")),
    Field("stringData/*", "Kubernetes Secret", ("/kind", "Secret")),
    Field("sharedKey/keyMaterial", "WLANProfile of Windows"),
    Field("global/password", "AutoYaST bootloader"),
)
# fmt: on

LAST_NAMES = ("key", "shared", "auth")
"""Last names of fields that tell a secret in a text that does not parse: those that have few other uses."""

NAMED_BY = ("name", "key", "id", "option", "variable", "label", "field", "setting")
"""Keys whose value names the value of a key beside it: ``{"name": "DB_PASSWORD", "value": …}``."""

IS_NAMED = ("value", "content", "contents", "string", "default", "val", "text", "data")
"""Keys of the value that is named so."""

IPXE_SETTINGS = (("key", "iPXE net0/key: of a wireless network"),)
"""Last parts of settings of iPXE's ``set``."""
