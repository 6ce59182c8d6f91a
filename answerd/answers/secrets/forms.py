"""Forms of secrets: what is one by its looks, whatever it is called.

A form is a regular expression, and its source. A group ``value`` is the secret, else all that it matches. Each
begins with a sign or a word that is looked for first; each takes time in proportion to the text.
"""

from __future__ import annotations

_VALUE = r"""(?P<value>'[^'\n\0]{1,400}'|\\?"[^"\n\0]{1,400}"|[^\s"'<>\0]{1,400})"""

# fmt: off
FORMS = (
    (r"\$(?:[0-9]|2[abxy]|y|gy|sm3|md5|sha1|apr1)\$[^\s\"'<>:\0]{8,}", "crypt(5)"),
    (r"\$(?:argon2\w*|scrypt|pbkdf2[\w-]*)\$[^\s\"'<>:\0]{8,}", "PHC strings"),
    (r"grub\.pbkdf2\.[^\s\"'<>\0]+", "GRUB manual"),
    (r"\{(?:SSHA|SSHA256|SSHA512|CRYPT|SMD5)\}[^\s\"'<>\0]{8,}", "slapd.conf(5) rootpw"),
    (r"AGE-SECRET-KEY-1\w+", "age"),
    (r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", "RFC 7519"),
    (r"\b(?:gh[opusr]_\w{20,}|github_pat_\w{20,})", "GitHub"),
    (r"\b(?:glpat|glrt|gldt|glptt)-[\w-]{16,}", "GitLab"),
    (r"\bxox[abprs]-[\w-]{10,}", "Slack"),
    (r"\bhv[sb]\.[\w-]{20,}", "HashiCorp Vault"),
    (r"\btskey-[a-z]+-[\w-]{10,}", "Tailscale"),
    (r"\b[sr]k_live_\w{16,}", "Stripe"),
    (r"\bdop_v1_\w{32,}", "DigitalOcean"),
    (r"\bnpm_\w{30,}", "npm"),
    (r"\bpypi-Ag\w{16,}", "PyPI"),
    (r"\bSG\.[\w-]{16,}\.[\w-]{16,}", "SendGrid"),
    (r"\bAIza[\w-]{35}", "Google"),
    (r"\bK10[0-9a-f]{40,}::\w+:\w+", "k3s: the token of a server"),
    (r"\b(?:pve|pbs|pmg)\d[a-z]-[0-9a-fA-F]{10}\b", "Proxmox: a subscription key"),
    (r"(?<![\w-])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![\w-])", "Windows: a product key"),
    (
        r"(?i)\bauthorization\\?[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?(?P<value>[^\s\"'<>\0]+)",
        "RFC 9110, Authorization and Proxy-Authorization",
    ),
    (r"(?i)\bbearer[ \t]+(?P<value>[\w.~+/=-]{8,})", "RFC 6750"),
    (r"(?:(?<![\w.-])pass:|,pass=)" + _VALUE, "openssl-passphrase-options(1), mount.cifs(8)"),
    (r"(?i)\b(?:identified[ \t]+by|password)[ \t]*(?P<value>'[^'\n\0]+')", "SQL: CREATE USER and ALTER ROLE"),
    (
        r"(?i:assword|assphrase)[^\n\0]{0,200}(?:\n[^\n\0]{0,80}?)?\bsend[ \t]+(?:--[ \t]+)?(?P<value>[^\n\0]+)",
        "expect(1)",
    ),
    (
        r"(?i)\b(?:password|passphrase|passwd)[ \t]+is[ \t]*:[ \t]*(?P<value>\S{1,200})",
        "English: a comment of a kickstart, password is: x",
    ),
    (r"(?<!\w)crypt\(\s{0,9}\\?[\"'](?P<value>[^\"'\n\0\\]{1,200})", "crypt() of Perl, PHP and Python"),
)
"""Passwords in URLs and private keys are found by functions (`answerd.answers.secret_forms`)."""
# fmt: on
