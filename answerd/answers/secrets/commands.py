"""Commands and lines of settings, with the place of the secret in each.

A command is its words: the program, then words that follow among its arguments. ``^`` before it: it is the first word
of its line. Places, apart by blanks:

- ``-p``, ``--password``, ``/pass``, ``-Value``: the argument of an option, joined or by itself. ``-p+``: joined only.
  ``-k!``: by itself only.
- ``2``: the second argument that is no option. ``=2``: the same where there are exactly two. ``last``: the last one.
  ``all``: each.
- ``password``: the argument after that word. ``*``: the argument after each word that is named like a secret.
- ``<``: what it reads from a pipe, ``<<<`` or a here-document.
- ``/`` alone: arguments that begin with a slash are options.

``sign`` is the one within the argument before the secret: ``:`` in ``user:secret``. ``given``: the option whose
argument has to be named like a secret. ``options``: those whose argument is not counted. ``unless``: first arguments
with which the line is no such command.
"""

from __future__ import annotations

from typing import NamedTuple

from answerd.answers.secrets.innocent import PROSE


class Command(NamedTuple):
    """A command that takes a secret."""

    words: str
    places: str
    source: str
    sign: str = ""
    given: str = ""
    options: str = ""
    unless: str = ""


# fmt: off
COMMANDS = (
    # Kickstart, and configuration of one line each
    Command("^rootpw", "all", "ks(5)"),
    Command("^sshpw", "last", "ks(5)", options="--username"),
    Command("^menu", "passwd", "syslinux menu.txt: MENU PASSWD, MENU MASTER PASSWD"),
    Command(
        "^password", "=2", "GRUB manual: password user clear",
        unless="required requisite sufficient optional include substack",  # pam.conf(5)
    ),
    Command("^bindpw", "=1", "nslcd.conf(5)"),
    Command("^requirepass", "=1", "redis.conf"),
    Command("^masterauth", "=1", "redis.conf"),
    Command("^rocommunity", "1", "snmpd.conf(5)"),
    Command("^rwcommunity", "1", "snmpd.conf(5)"),
    Command("^createuser", "MD5 SHA SHA-224 SHA-256 SHA-384 SHA-512 DES AES", "snmpd.conf(5)"),
    Command("^user", "=2", "ftp(1)", unless=" ".join(PROSE)),
    Command("machine", "password account", "curl(1) --netrc, apt_auth.conf(5)"),
    # Users
    Command("useradd", "-p --password", "useradd(8)"),
    Command("usermod", "-p --password", "usermod(8)"),
    Command("groupmod", "-p --password", "groupmod(8)"),
    Command("adduser", "-p", "adduser(8)"),
    Command("chpasswd", "<", "chpasswd(8)", ":"),
    Command("chgpasswd", "<", "chgpasswd(8)", ":"),
    Command("passwd", "<", "passwd(1) --stdin"),
    Command("smbpasswd", "<", "smbpasswd(8) -s"),
    Command("pdbedit", "<", "pdbedit(8) -t"),
    Command("vncpasswd", "<", "vncpasswd(1) -f"),
    Command("x11vnc", "-storepasswd", "x11vnc(1)"),
    Command("mkpasswd", "last <", "mkpasswd(1)", options="-m --method -S --salt -R --rounds -P"),
    Command("openssl passwd", "last <", "openssl-passwd(1)", options="-salt -in"),
    Command("openssl", "-k! -K!", "openssl-enc(1)"),
    Command("openssl", "-pass! -passin! -passout!", "openssl-passphrase-options(1)", ":"),
    Command("htpasswd", "3 <", "htpasswd(1) -b", options="-C -r"),
    Command("htdigest", "<", "htdigest(1)"),
    Command("mosquitto_passwd", "3", "mosquitto_passwd(1) -b"),
    Command("slappasswd", "-s", "slappasswd(8)"),
    Command("ldappasswd", "-s -a -w", "ldappasswd(1)"),
    Command("ldapsearch", "-w", "ldapsearch(1)"),
    Command("ldapadd", "-w", "ldapadd(1)"),
    Command("ldapmodify", "-w", "ldapmodify(1)"),
    Command("ldapdelete", "-w", "ldapdelete(1)"),
    Command("ldapwhoami", "-w", "ldapwhoami(1)"),
    Command("sudo -s", "<", "sudo(8) -S"),
    Command("su", "<", "su(1)"),
    Command("grub2-setpassword", "<", "grub2-setpassword(8)"),
    Command("grub-mkpasswd-pbkdf2", "<", "grub-mkpasswd-pbkdf2(1)"),
    # Domains
    Command("kinit", "<", "kinit(1)"),
    Command("realm join", "<", "realm(8)"),
    Command("adcli", "<", "adcli(8) --stdin-password"),
    Command("net ads", "<", "net(8)"),
    Command("net ads", "-U --user", "net(8)", "%"),
    Command("net ads", "last", "net(8)", "%"),
    Command("net rpc", "-U --user", "net(8)", "%"),
    Command("smbclient", "-U --user", "smbclient(1)", "%"),
    Command("smbclient", "2", "smbclient(1)", options="-U --user -c -W -I -p -D -A"),
    Command("rpcclient", "-U --user", "rpcclient(1)", "%"),
    Command("wbinfo", "-a", "wbinfo(1)", "%"),
    Command("samba-tool", "-U --user", "samba-tool(8)", "%"),
    Command("ipa-client-install", "-w", "ipa-client-install(1)"),
    Command("ipa-server-install", "-p -a", "ipa-server-install(1)"),
    Command("ipa-replica-install", "-w", "ipa-replica-install(1)"),
    # Disks
    Command("cryptsetup luksformat", "<", "cryptsetup(8)"),
    Command("cryptsetup luksopen", "<", "cryptsetup(8)"),
    Command("cryptsetup luksaddkey", "<", "cryptsetup(8)"),
    Command("cryptsetup lukschangekey", "<", "cryptsetup(8)"),
    Command("cryptsetup luksremovekey", "<", "cryptsetup(8)"),
    Command("cryptsetup open", "<", "cryptsetup(8)"),
    Command("cryptsetup reencrypt", "<", "cryptsetup(8)"),
    Command("cryptsetup resize", "<", "cryptsetup(8)"),
    Command("cryptsetup plainopen", "<", "cryptsetup(8)"),
    Command("clevis", "<", "clevis-luks-bind(1) -k -"),
    Command("systemd-cryptenroll", "<", "systemd-cryptenroll(1)"),
    Command("zpool create", "<", "zpool-create(8) keylocation=prompt"),
    Command("zfs create", "<", "zfs-create(8) keylocation=prompt"),
    Command("zfs load-key", "<", "zfs-load-key(8)"),
    # Networks and transfers
    Command("curl", "-u --user -U --proxy-user", "curl(1)", ":"),
    Command("lftp", "-u --user", "lftp(1)", ","),
    Command("sshpass", "-p", "sshpass(1)"),
    Command("ssh-keygen", "-N -P", "ssh-keygen(1)"),
    Command("nmcli", "* 802-11-wireless-security.wep-key0", "nmcli(1)"),
    Command("wpa_cli", "*", "wpa_cli(8)"),
    Command("wpa_passphrase", "2", "wpa_passphrase(8)"),
    Command("openconnect", "<", "openconnect(8) --passwd-on-stdin"),
    Command("wg", "preshared-key", "wg(8)"),
    Command("gpg", "<", "gpg(1) --passphrase-fd 0"),
    Command("gpg2", "<", "gpg(1) --passphrase-fd 0"),
    Command("keytool", "-storepass! -keypass! -srcstorepass! -deststorepass!", "keytool(1)"),
    Command("keytool", "-srckeypass! -destkeypass! -new!", "keytool(1)"),
    # Registration
    Command("pro attach", "last", "pro(1)", options="--attach-config --format"),
    Command("ua attach", "last", "ubuntu-advantage(1)"),
    Command("ubuntu-advantage attach", "last", "ubuntu-advantage(1)"),
    Command("canonical-livepatch enable", "last", "canonical-livepatch"),
    Command("snap login", "<", "snap(8)"),
    Command("suseconnect", "-r --regcode", "SUSEConnect(8)"),
    Command("transactional-update register", "-r --regcode", "transactional-update(8)"),
    Command("falconctl", "--cid --provisioning-token", "CrowdStrike falconctl"),
    Command("cscli console enroll", "last", "CrowdSec cscli"),
    Command("nessuscli", "--key", "Tenable nessuscli"),
    Command("cloudflared service install", "last", "cloudflared"),
    Command("zerotier-cli join", "1", "zerotier-cli(1)"),
    # Services
    Command("docker login", "-p --password <", "docker login"),
    Command("podman login", "-p --password <", "podman-login(1)"),
    Command("buildah login", "-p --password <", "buildah-login(1)"),
    Command("skopeo login", "-p --password <", "skopeo-login(1)"),
    Command("helm registry login", "-p --password <", "helm registry login"),
    Command("oc login", "-p --password", "oc login"),
    Command("az login", "-p --password", "az login"),
    Command("vault login", "last <", "vault login", options="-method -path -address"),
    Command("consul acl set-agent-token", "2", "consul acl set-agent-token"),
    Command("aws configure set", "*", "aws configure set"),
    Command("mysql", "-p+", "mysql(1)"),
    Command("mysqldump", "-p+", "mysqldump(1)"),
    Command("mysqladmin", "-p+ password", "mysqladmin(1)"),
    Command("mysqlimport", "-p+", "mysqlimport(1)"),
    Command("mariadb", "-p+", "mariadb(1)"),
    Command("mariadb-dump", "-p+", "mariadb-dump(1)"),
    Command("mariadb-admin", "-p+ password", "mariadb-admin(1)"),
    Command("redis-cli", "-a --pass", "redis-cli"),
    Command("db2", "using", "db2 CONNECT"),
    Command("sqlplus", "1", "SQL*Plus", "/"),
    Command("sqlcmd", "-P", "sqlcmd"),
    Command("rabbitmqctl add_user", "2", "rabbitmqctl(8)"),
    Command("rabbitmqctl change_password", "2", "rabbitmqctl(8)"),
    Command("ipmitool", "-P", "ipmitool(1)"),
    Command("ipmitool user set password", "2", "ipmitool(1)"),
    Command("racadm", "* -p", "racadm"),
    Command("7z", "-p+", "7z -p"),
    Command("zip", "-P --password", "zip(1)"),
    Command("unzip", "-P", "unzip(1)"),
    # Windows
    Command("net user", "2 /", "net user"),
    Command("net1 user", "2 /", "net user"),
    Command("net use", "last /", "net use"),
    Command("net accounts", "/ /pass", "net accounts"),
    Command("netdom", "/passwordd /passwordo /pd /po", "netdom"),
    Command("cmdkey", "/pass", "cmdkey"),
    Command("psexec", "-p", "Sysinternals PsExec"),
    Command("psexec64", "-p", "Sysinternals PsExec"),
    Command("autologon", "3 /", "Sysinternals Autologon"),
    Command("schtasks", "/rp /p", "schtasks"),
    Command("slmgr", "/ipk", "slmgr.vbs"),
    Command("changepk", "/productkey", "changepk"),
    Command("dism", "/set-productkey", "DISM"),
    Command("manage-bde", "-pw! -password! -recoverypassword!", "manage-bde"),
    Command("reg add", "/d", "reg add", "", "/v"),
    Command("set-itemproperty", "-value", "PowerShell", "", "-name"),
    Command("new-itemproperty", "-value", "PowerShell", "", "-name"),
    Command("convertto-securestring", "1 -string <", "PowerShell"),
)
# fmt: on
"""Of the programs in a command, only the first of each name is read."""
