"""What looks like the name or the value of a secret and is none: the neighbours of secrets in real files."""

from __future__ import annotations

# fmt: off
NAMES = (
    ("nopasswd", "sudoers(5): the tag NOPASSWD:"),
    ("passwdtries", "sudoers(5)"),
    ("passwdtimeout", "sudoers(5)"),
    ("passwdencryption", "AutoYaST security"),
    ("pampassword", "ldap.conf(5) of pam_ldap: the protocol of password changes"),
    ("sshpwauth", "cloud-init"),
    ("backuppassphrase", "ks(5): an option without an argument"),
    ("testpassphrase", "cryptsetup(8): an option without an argument"),
    ("nopassword", "samba-tool, VNC: an option without an argument"),
    ("initialpwd", "sssd: a rule"),
    ("useprivateenv", "pam_env"),
    ("oldpwd", "POSIX: a directory"),
    ("matchtoken", "blkid(8)"),
    ("newauthtokreqd", "pam.conf(5)"),
    ("tokenring", "a network"),
    ("tokengroups", "Active Directory: an attribute's name"),
    ("secretservice", "freedesktop.org: a bus name"),
)
"""Whole names, without case and signs."""

ATTRIBUTES = (("pass", "unattend settings pass"),)
"""Names that are innocent as attributes of XML."""

WITHIN = (
    ("public", "assemblyIdentity publicKeyToken, netplan keys.public"),
    ("passwordless", "sudo, SSH"),
    ("passwdqc", "pam_passwdqc"),
    ("pwquality", "pwquality.conf(5)"),
    ("tokenize", "text search"),
    ("secretary", "English"),
    ("vergabe", "German: Passwortvergabe, to choose a password"),
)
"""Parts of names."""

FIRST_WORDS = (
    ("lock", "cloud-init users.lock_passwd"),
    ("no", "options without an argument"),
    ("ask", "ansible --ask-pass"),
    ("allow", "debconf user-setup/allow-password-weak, kickstart pwpolicy"),
    ("disable", "unattend DisablePasswordChange"),
    ("disabled", "adduser(8) --disabled-password"),
    ("expire", "chpasswd.expire and users.expire_password"),
    ("require", "policies"),
    ("requires", "policies"),
    ("permit", "sshd_config(5) PermitEmptyPasswords"),
    ("enable", "switches"),
    ("use", "switches"),
    ("force", "switches"),
    ("prompt", "switches"),
    ("min", "policies"),
    ("max", "policies"),
)
"""First words of names of switches and rules."""

LAST_WORDS = (
    ("file", "TOKEN_FILE"), ("files", "nsswitch.conf(5)"), ("path", "places"), ("dir", "places"),
    ("directory", "places"),
    ("srcdir", "AutoYaST pwd_srcdir"), ("url", "places"), ("uri", "places"), ("endpoint", "places"),
    ("type", "kinds"), ("name", "Kubernetes secretName"), ("ref", "Kubernetes secretRef"), ("class", "kinds"),
    ("ttl", "times"), ("age", "login.defs(5) PASS_MAX_AGE"), ("days", "login.defs(5) PASS_MIN_DAYS, PASS_MAX_DAYS"),
    ("expiry", "times"), ("expire", "times"), ("expires", "times"),
    ("expiration", "auth_token_expiration of OpenStack"),
    ("lifetime", "times"), ("timeout", "times"), ("interval", "times"), ("rounds", "SHA_CRYPT_MIN_ROUNDS"),
    ("policy", "rules"), ("quality", "rules"), ("length", "rules"), ("len", "login.defs(5) PASS_MIN_LEN"),
    ("complexity", "rules"), ("history", "rules"), ("retry", "rules"), ("retries", "rules"), ("tries", "rules"),
    ("authentication", "sshd_config(5) PasswordAuthentication"), ("auth", "switches"), ("encryption", "algorithms"),
    ("algorithm", "algorithms"), ("alg", "algorithms"), ("method", "algorithms"), ("format", "algorithms"),
    ("scheme", "algorithms"), ("mode", "algorithms"), ("provider", "programs"), ("helper", "git credential.helper"),
    ("manager", "programs"), ("backend", "programs"), ("service", "programs"), ("command", "programs"),
    ("stdin", "docker login --password-stdin"), ("fd", "gpg --passphrase-fd"), ("prompt", "questions"),
    ("hint", "questions"), ("required", "switches"), ("enabled", "switches"), ("disabled", "switches"),
    ("settings", "AutoYaST password_settings"), ("version", "kinds"), ("os", "kinds"),
    ("change", "switches"), ("reset", "switches"), ("weak", "user-setup/allow-password-weak"), ("empty", "switches"),
    ("warn", "switches"), ("count", "numbers"), ("size", "numbers"), ("limit", "numbers"), ("bits", "numbers"),
    ("group", "users"), ("owner", "users"), ("user", "users"), ("username", "users"), ("usage", "JWT"),
    ("network", "private_network"), ("networks", "private networks"), ("net", "private networks"),
    ("ip", "addresses"), ("address", "addresses"), ("subnet", "networks"), ("zone", "networks"), ("vlan", "networks"),
    ("dns", "networks"), ("interface", "networks"), ("tmp", "systemd.exec(5) PrivateTmp"),
    ("devices", "systemd.exec(5) PrivateDevices"), ("users", "systemd.exec(5) PrivateUsers"),
)
"""Last words of names of what a secret has beside itself."""

BELOW = (
    ("action", "unattend wcm:action"), ("description", "any"), ("domain", "unattend Credentials"),
    ("encrypted", "AutoYaST users"), ("expire", "cloud-init"), ("group", "any"), ("groups", "any"), ("host", "any"),
    ("hostname", "any"), ("keytype", "WLANProfile"), ("keyvalue", "unattend wcm:keyValue"), ("language", "any"),
    ("login", "any"), ("mode", "any"), ("name", "any"), ("order", "unattend"), ("owner", "any"), ("path", "any"),
    ("permissions", "any"), ("plaintext", "unattend PlainText"), ("realm", "any"),
    ("role", "any"), ("server", "any"), ("t", "AutoYaST"), ("type", "any"), ("user", "any"), ("username", "any"),
    ("willshowui", "unattend ProductKey"), ("xmlns", "XML"), ("url", "any"), ("enabled", "any"),
)
"""Names of values below a name like ``Credentials`` or ``ProductKey`` that are no secrets themselves."""

VALUES = (
    ("windowspe", "unattend settings pass"), ("offlineservicing", "unattend settings pass"),
    ("generalize", "unattend settings pass"), ("specialize", "unattend settings pass"),
    ("auditsystem", "unattend settings pass"), ("audituser", "unattend settings pass"),
    ("oobesystem", "unattend settings pass"),
    ("files", "nsswitch.conf(5) passwd:"), ("compat", "nsswitch.conf(5) passwd:"), ("sss", "nsswitch.conf(5) passwd:"),
    ("ldap", "nsswitch.conf(5) passwd:"), ("systemd", "nsswitch.conf(5) passwd:"), ("nis", "nsswitch.conf(5) passwd:"),
    ("winbind", "nsswitch.conf(5) passwd:"), ("db", "nsswitch.conf(5) passwd:"), ("cache", "nsswitch.conf(5) passwd:"),
    ("[notfound=return]", "nsswitch.conf(5)"), ("[success=return]", "nsswitch.conf(5)"),
    ("cache_credentials", "sssd.conf(5)"),
    ("true", "any"), ("false", "any"), ("yes", "any"), ("no", "any"), ("on", "any"), ("off", "any"), ("null", "any"),
    ("x", "passwd(5): the hash is in another file"),
    ("md5", "algorithms"), ("sha1", "algorithms"), ("sha256", "cloud-init authkey_hash"), ("sha512", "algorithms"),
    ("none", "any"), ("nil", "AutoYaST release_type"), ("~", "YAML"), ("enabled", "any"), ("disabled", "any"),
)
"""Words that are no secrets: a value is none where all its words are among these."""

ROOTS = (
    "bin", "boot", "cdrom", "data", "dev", "etc", "home", "lib", "media", "mnt", "opt", "proc", "root", "run", "sbin",
    "srv", "sys", "target", "tmp", "usr", "var",
)
"""First directories of a path that is given in place of a secret (hier(7)): ``private_key: /etc/ssl/private/x.key``."""

WORDS_THAT_END_IN_PASS = ("bypass", "compass", "encompass", "multipass", "overpass", "surpass", "trespass", "underpass")
"""English, and Canonical's Multipass."""

PROSE = (
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "if", "in", "is", "it", "must",
    "not", "of", "on", "or", "see", "should", "that", "the", "then", "this", "to", "use", "when", "will", "with", "you",
    "your",
)
"""Words of English: a comment of three words or more with one of these is a sentence, and no value."""

NAME_OTHERS = (
    "[", "addgroup", "apk", "apt", "apt-get", "aptitude", "awk", "brew", "cat", "chgrp", "chmod", "chown",
    "command", "cp", "cut", "debconf-set-selections", "dnf", "dpkg", "egrep", "find", "getent", "grep", "head",
    "install", "ln",
    "ls", "man", "microdnf", "mv", "pacman", "pip", "pip3", "pkg", "rm", "rpm", "systemctl", "tail", "test",
    "tdnf", "touch", "type", "whatis", "which", "yum", "zypper",
)
"""Programs whose arguments name other programs and files, and run none (POSIX, and the managers of packages)."""

QUESTIONS_OF_NAMES = ("pkgsel/include", "tasksel/first", "anna/choose_modules")
"""Questions of debian-installer whose answers are lists of packages."""

PACKAGE_LISTS = ("packages", "package", "pkgs", "apk", "snaps", "software", "patterns", "products", "groups")
"""Names above lists of packages in cloud-init, autoinstall, AutoYaST and Agama: what is in them is no command."""
# fmt: on
