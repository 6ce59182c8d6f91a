"""Forms of secrets: what is one by its looks, whatever it is called.

A form is a regular expression, its source, and signs, case-folded: each text that it matches has one of them. They are
looked for first, because most texts have none and a search for a part takes a tenth of the time. A sign of a form in
any case has no ``i``: Python takes two other letters for it, which are folded otherwise. A group ``value`` is the
secret, else all that is matched. Each form takes time in proportion to the text.
"""

from __future__ import annotations

_VALUE = r"""(?P<value>'[^'\n\0]{1,400}'|\\?"[^"\n\0]{1,400}"|[^\s"'<>\0]{1,400})"""

# fmt: off
FORMS = (
    (r"\$(?:[0-9]|2[abxy]|y|gy|sm3|md5|sha1|apr1)\$[^\s\"'<>:\0]{8,}", "crypt(5)", "$"),
    (r"\$(?:argon2\w*|scrypt|pbkdf2[\w-]*)\$[^\s\"'<>:\0]{8,}", "PHC strings", "$"),
    (r"grub\.pbkdf2\.[^\s\"'<>\0]+", "GRUB manual", "grub.pbkdf2."),
    (r"\{(?:SSHA|SSHA256|SSHA512|CRYPT|SMD5)\}[^\s\"'<>\0]{8,}", "slapd.conf(5) rootpw", "{ssha {crypt} {smd5}"),
    (r"AGE-SECRET-KEY-1\w+", "age", "age-secret-key-1"),
    (r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}", "RFC 7519", "eyj"),
    (r"\b(?:gh[opusr]_\w{20,}|github_pat_\w{20,})", "GitHub", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    (r"\b(?:glpat|glrt|gldt|glptt)-[\w-]{16,}", "GitLab", "glpat- glrt- gldt- glptt-"),
    (r"\bxox[abprs]-[\w-]{10,}", "Slack", "xox"),
    (r"\bhv[sb]\.[\w-]{20,}", "HashiCorp Vault", "hvs. hvb."),
    (r"\btskey-[a-z]+-[\w-]{10,}", "Tailscale", "tskey-"),
    (r"\b[sr]k_live_\w{16,}", "Stripe", "k_live_"),
    (r"\bdop_v1_\w{32,}", "DigitalOcean", "dop_v1_"),
    (r"\bnpm_\w{30,}", "npm", "npm_"),
    (r"\bpypi-Ag\w{16,}", "PyPI", "pypi-ag"),
    (r"\bSG\.[\w-]{16,}\.[\w-]{16,}", "SendGrid", "sg."),
    (r"\bAIza[\w-]{35}", "Google", "aiza"),
    (r"\bK10[0-9a-f]{40,}::\w+:\w+", "k3s: the token of a server", "k10"),
    (r"\b(?:pve|pbs|pmg)\d[a-z]-[0-9a-fA-F]{10}\b", "Proxmox: a subscription key", "pve pbs pmg"),
    (r"(?<![\w-])[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![\w-])", "Windows: a product key", "-"),
    (
        r"(?i)\bauthorization\\?[\"']?[ \t]*[:=][ \t]*[\"']?(?:\w+[ \t]+)?(?P<value>[^\s\"'<>\0]+)",
        "RFC 9110, Authorization and Proxy-Authorization",
        "author",
    ),
    (r"(?i)\bbearer[ \t]+(?P<value>[\w.~+/=-]{8,})", "RFC 6750", "bearer"),
    (r"(?:(?<![\w.-])pass:|,pass=)" + _VALUE, "openssl-passphrase-options(1), mount.cifs(8)", "pass: pass="),
    (
        r"(?i)\b(?:identified[ \t]+by|password)[ \t]*(?P<value>'[^'\n\0]+')",
        "SQL: CREATE USER and ALTER ROLE",
        "dent password",
    ),
    (
        r"(?i:assword|assphrase)[^\n\0]{0,200}(?:\n[^\n\0]{0,80}?)?\bsend[ \t]+(?:--[ \t]+)?(?P<value>[^\n\0]+)",
        "expect(1)",
        "send",
    ),
    (
        r"(?i)\b(?:password|passphrase|passwd)[ \t]+is[ \t]*:[ \t]*(?P<value>\S{1,200})",
        "English: a comment of a kickstart, password is: x",
        "pass",
    ),
    (r"(?<!\w)crypt\(\s{0,9}\\?[\"'](?P<value>[^\"'\n\0\\]{1,200})", "crypt() of Perl, PHP and Python", "crypt("),
)
"""Passwords in URLs and private keys are found by functions (`answerd.answers.secret_forms`)."""
# fmt: on
