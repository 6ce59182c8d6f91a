"""Names of keys, attributes, elements, columns, labels, variables and options whose values are secrets.

Names are compared without case and without what is between their words: ``api-key``, ``API_KEY`` and ``apiKey`` are
one.
"""

from __future__ import annotations

# fmt: off
WITHIN = (
    ("password", "ks(5) rootpw, cloud-init users, answer files of Windows"),
    ("passwd", "cloud-init users.passwd"),
    ("passphrase", "kickstart part --passphrase"),
    ("passcode", "devices of Apple and Cisco"),
    ("passwort", "German"),
    ("kennwort", "German"),
    ("contraseña", "Spanish"),
    ("motdepasse", "French"),
    ("secret", "cloud-init reporting token_secret, OAuth"),
    ("token", "cloud-init ubuntu_pro.token, Talos machine.token"),
    ("credential", "systemd LoadCredential, curtin"),
    ("privatekey", "WireGuard, Salt, Talos WireguardConfig"),
    ("privatecert", "cloud-init mcollective.conf"),
    ("apikey", "X-Api-Key, DD_API_KEY"),
    ("authkey", "tailscale up --auth-key, X-Auth-Key"),
    ("accesskey", "AWS_SECRET_ACCESS_KEY"),
    ("activationkey", "subscription-manager register --activationkey, cloud-init spacewalk"),
    ("registrationkey", "cloud-init landscape.client.registration_key"),
    ("registrationcode", "Agama product.registrationCode"),
    ("regcode", "AutoYaST suse_register.reg_code"),
    ("subscriptionkey", "Proxmox VE subscription-key"),
    ("licensekey", "New Relic NEW_RELIC_LICENSE_KEY"),
    ("productkey", "Windows unattend ProductKey"),
    ("setupkey", "netbird up --setup-key"),
    ("joinkey", "Artifactory JF_SHARED_SECURITY_JOINKEY"),
    ("validationkey", "cloud-init chef.validation_key"),
    ("encryptionkey", "Talos systemDiskEncryption, etcd"),
    ("cryptkey", "AutoYaST partition crypt_key"),
    ("lukskey", "AutoYaST, Agama"),
    ("presharedkey", "wg(8) PresharedKey, Talos WireguardConfig"),
    ("sharedkey", "wpa_supplicant, ipsec.secrets"),
    ("keymaterial", "WLANProfile of Windows: sharedKey.keyMaterial"),
    ("wirelesskey", "AutoYaST wireless_key"),
    ("wepkey", "kickstart network --wepkey, openbsd hostname.if"),
    ("wpakey", "kickstart network --wpakey, openbsd hostname.if"),
    ("wirelesswep", "netcfg/wireless_wep of debian-installer"),
    ("wirelesswpa", "netcfg/wireless_wpa of debian-installer"),
    ("clientkeydata", "kubeconfig users.user.client-key-data"),
    ("authtok", "sssd.conf(5) ldap_default_authtok"),
    ("accountdata", "unattend UnattendedJoin Provisioning AccountData"),
    ("authorization", "RFC 9110"),
    ("rootpw", "ks(5), slapd.conf(5)"),
    ("sshpw", "ks(5) sshpw"),
    ("bindpw", "nslcd.conf(5)"),
)
"""Parts of names: a name that has one of them names a secret, unless `answerd.answers.secrets.innocent` knows it."""

LAST_WORDS = (
    ("pass", "cifs mount.cifs(8) pass=, AutoYaST OutgoingPass, PASS= in scripts"),
    ("psk", "wpa_supplicant.conf(5), NetworkManager 802-11-wireless-security.psk"),
)
"""Ends of the last word of a name: ``DBPASS``, ``OutgoingPass``, ``wifi-sec.psk``."""

WORDS = (
    ("pw", "AutoYaST bind_pw, iscsi-pw of iPXE"),
    ("pwd", "shells and connection strings: PWD=, sqlcmd"),
    ("psk", "wpa_supplicant.conf(5)"),
    ("cookie", "RFC 6265: a session"),
)
"""Whole words of names."""

ENDS_WITH_PRIVATE = ("private", "cloud-init ssh_keys.rsa_private, netplan tunnels.keys.private")
"""The last word of a name that is another's private half."""

IN_QUERIES = (
    ("key", "web services: ?key="),
    ("sig", "Azure shared access signatures: ?sig="),
    ("signature", "X-Amz-Signature of S3, signed URLs of GCS"),
    ("code", "Azure Functions: ?code="),
)
"""Last words of names that are secrets in the query of a URL only."""

QUESTIONS = (
    ("password", "OpenBSD autoinstall(8): Password for root account?"),
    ("passphrase", "OpenBSD autoinstall(8): WPA passphrase?, passphrase of softraid(4)"),
    ("wep key", "OpenBSD autoinstall(8)"),
)
"""Parts of questions of several words that are answered in one line, ``Password for root = x``."""

SECRET_FILES = (
    (".vault_pass", "ansible-playbook --vault-password-file"),
    (".netrc", "curl(1) --netrc"),
    (".pgpass", "PostgreSQL, the password file"),
    (".htpasswd", "Apache htpasswd"),
    (".git-credentials", "git-credential-store(1)"),
    ("id_rsa", "ssh-keygen(1)"),
    ("id_ed25519", "ssh-keygen(1)"),
    ("id_ecdsa", "ssh-keygen(1)"),
    ("key", "LUKS key files"),
    ("keyfile", "LUKS key files"),
    (".key", "private keys of TLS, Zabbix psk.key"),
    (".psk", "Zabbix TLSPSKFile, iwd network files"),
    (".keyfile", "LUKS key files"),
)
"""Files whose whole content is a secret: a name, or its end."""
# fmt: on
