"""Names of keys, columns and labels whose values are secrets (docs/explain.md#secrets)."""

from __future__ import annotations

import re

SECRET = "(secret)"  # noqa: S105 - what is shown instead of a secret

NAMED_LIKE_A_SECRET = re.compile(
    r"passw(?:ord|d(?!/))|passphrase|passcode|passwort|kennwort|secret|token|private|credential|root_?pw|ssh_?pw"
    r"|(?:api|access|activation|auth|encryption|product|subscription|wep|wpa)[-_. ]?key|reg[-_]?code|account_?data"
    r"|psk(?![a-z])|[-_.]pass(?![a-z])|(?<![a-z])pwd?(?![a-z])"
)
PARTS_OF_SECRET_NAMES = (
    *("pass", "kennwort", "secret", "token", "private", "credential", "pw", "psk", "api", "access", "activation"),
    *("auth", "encryption", "product", "subscription", "wep", "wpa", "reg", "account"),
)
"""Each text in which `NAMED_LIKE_A_SECRET` finds something has one of these. To look for them takes a tenth of the
time."""

_NAMES_NO_SECRET = re.compile(
    r"public"
    r"|private[-_ ]?(?:net|ip|addr|subnet|dns|zone|v?lan|tmp|dev)"
    r"|[-_./](?i:file|path|dir|directory|type|name|ttl|age|policy|authentication|expir(?:y|es?)|length|quality)\Z"
    r"|(?:File|Path|Dir|Directory|Type|Name|Ttl|TTL|Age|Policy|Authentication|Expir(?:y|es?)|Length|Quality)\Z"
)
"""Names with such a word that hold no secret: ``publicKeyToken``, ``private_network``, ``secretName``."""

TELLS_NOTHING = re.compile(r"(?:true|false|yes|no|on|off|null|none|~|\d{1,2}|)\Z", re.IGNORECASE)
"""Values under such a name that are not secret: ``lock_passwd: true``."""


def redacted_cell(column: str, value: str, label: str = "") -> str:
    """Return the value of a cell of an inventory, or of a fact; ``(secret)`` where its column, or the ``label`` that
    the settings give to the column, is named like one."""
    is_secret = value and (is_secret_name(column) or is_secret_name(label)) and not TELLS_NOTHING.match(value)
    return SECRET if is_secret else value


def why_masked(text: str, what: str) -> str:
    """Return why a text must not be stored that someone read without its secrets; empty where it holds no `SECRET`."""
    at = text.find(SECRET)
    if at < 0:
        return ""
    return (
        f"{what}: line {text.count(chr(10), 0, at) + 1} holds {SECRET}, which stands for a value that was hidden from "
        "the reader: read it with a token of the role admin, and write that"
    )


def is_secret_name(name: str) -> bool:
    """Return whether values of this name are hidden."""
    return bool(NAMED_LIKE_A_SECRET.search(name.casefold())) and not _NAMES_NO_SECRET.search(name)
