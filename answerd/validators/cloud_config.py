"""YAML answers: cloud-config, Ubuntu autoinstall and NoCloud's metadata; any other YAML is judged as well-formed only.

The text is read to nodes, as documents are: no Python object is built from it. The autoinstall keys are those of
Ubuntu's autoinstall reference manual (subiquity, 2025): in version 1 the installer ignores a key that it does not know,
so a mistyped section is silently missing. Here it is a finding.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from answerd.formats import yaml_read
from answerd.formats.family import ParseError
from answerd.formats.user_data import CONFIG, TEMPLATE, is_served_whole, kind_of
from answerd.formats.yaml_read import NULL, STANDARD, STRING, Node, Scalar, Sequence, scalar_tag
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

HEADER = "#cloud-config"

_TYPE_NAMES = {
    STANDARD + "map": "a mapping",
    STANDARD + "seq": "a list",
    STRING: "a string",
    STANDARD + "int": "a whole number",
    NULL: "null",
}


def _tables(text: str) -> dict[str, frozenset[str]]:
    """Return each name with its words. Names are a line that ends in a colon."""
    tables: dict[str, frozenset[str]] = {}
    names: list[str] = []
    for line in text.strip().splitlines():
        if line.endswith(":"):
            names = line[:-1].split()
        else:
            tables |= {name: tables.get(name, frozenset()) | {*line.split()} for name in names}
    return tables


_KEYS_BY_TYPE = {
    "int": "version",
    "str": "debconf-selections shutdown timezone updates",
    "str null": "locale proxy",
    "seq": "early-commands error-commands interactive-sections late-commands packages snaps zdevs",
    # ubuntu-advantage is the older name of ubuntu-pro, which the installer still reads
    "map": "active-directory apt codecs drivers identity kernel kernel-crash-dumps keyboard network oem "
    "refresh-installer reporting source ssh storage ubuntu-advantage ubuntu-pro user-data",
}
AUTOINSTALL_KEYS: Mapping[str, tuple[str, ...]] = {
    key: tuple(STANDARD + type_ for type_ in types.split())
    for types, keys in _KEYS_BY_TYPE.items()
    for key in keys.split()
}
"""Key to the YAML types its value may have."""

SECTION_KEYS: Mapping[str, frozenset[str]] = _tables("""
refresh-installer:
    update channel
keyboard:
    layout variant toggle
identity:
    username hostname password realname groups
kernel-crash-dumps:
    enabled
active-directory:
    admin-name domain-name
ubuntu-pro ubuntu-advantage:
    token
ssh:
    install-server authorized-keys allow-pw
codecs drivers oem:
    install
source:
    id search_drivers
""")
"""Sections whose schema allows no other keys, to their keys."""

REQUIRED: Mapping[str, tuple[str, ...]] = {
    "keyboard": ("layout",),
    "identity": ("username", "hostname", "password"),
    "kernel-crash-dumps": ("enabled",),
}

CHOICES: Mapping[str, tuple[str, ...]] = {"updates": ("security", "all"), "shutdown": ("reboot", "poweroff")}

LAYOUTS = ("direct", "lvm", "zfs", "hybrid")
"""Guided layouts of ``storage: layout: name``. The installer stops at another, with the disk still untouched."""

_TOP = """
allow_public_ssh_keys ansible apk_repos apt apt_pipelining apt_reboot_if_required apt_update apt_upgrade
authkey_hash autoinstall bootcmd byobu_by_default ca-certs ca_certs chef chpasswd cloud_config_modules
cloud_final_modules cloud_init_modules create_hostname_file device_aliases disable_ec2_metadata disable_root
disable_root_opts disk_setup drivers fan final_message fqdn fs_setup groups growpart grub-dpkg grub_dpkg
hostname keyboard landscape launch-index locale locale_configfile lxd manage_etc_hosts manage_resolv_conf
mcollective merge_how merge_type migrate mount_default_fields mounts no_ssh_fingerprints ntp output
package_reboot_if_required package_update package_upgrade packages password phone_home power_state
prefer_fqdn_over_hostname preserve_hostname puppet random_seed reporting resize_rootfs resolv_conf
rh_subscription rpi rsyslog runcmd salt_minion snap spacewalk ssh ssh_authorized_keys ssh_deletekeys
ssh_fp_console_blacklist ssh_genkeytypes ssh_import_id ssh_key_console_blacklist ssh_keys ssh_publish_hostkeys
ssh_pwauth ssh_quiet_keygen swap system_info timezone ubuntu_advantage ubuntu_pro updates user users vendor_data
version wireguard write_files yum_repo_dir yum_repos zypper
"""

_BELOW = """
ansible:
    ansible_config galaxy install_method package_name pull run_user setup_controller
ansible.galaxy:
    actions
ansible.pull ansible.pull.*:
    accept_host_key checkout clean connection diff full inventory module_name module_path playbook_name
    playbook_names private_key scp_extra_args sftp_extra_args skip_tags sleep ssh_common_args tags timeout url
    vault_id vault_password_file verify_commit
ansible.setup_controller:
    repositories run_ansible
ansible.setup_controller.repositories.*:
    path source
apk_repos:
    alpine_repo local_repo_base_url preserve_repositories
apk_repos.alpine_repo:
    base_url community_enabled testing_enabled version
apt:
    add_apt_repo_match conf debconf_selections disable_suites ftp_proxy http_proxy https_proxy
    preserve_sources_list primary proxy security sources sources_list
apt.primary.* apt.security.*:
    arches key keyid keyserver search search_dns uri
apt.sources.*:
    append filename key keyid keyserver source
ca-certs ca_certs:
    remove-defaults remove_defaults trusted
chef:
    chef_license client_key config_path directories encrypted_data_bag_secret environment exec file_backup_path
    file_cache_path firstboot_path force_install initial_attributes install_type json_attribs log_level
    log_location node_name omnibus_url omnibus_url_retries omnibus_version pid_file run_list server_url
    show_time ssl_verify_mode validation_cert validation_key validation_name
chpasswd:
    expire list users
chpasswd.users.*:
    name password type
disk_setup.*:
    layout overwrite table_type
drivers:
    nvidia
drivers.nvidia:
    license-accepted version
fan:
    config config_path
fs_setup.*:
    cmd device extra_opts filesystem label overwrite partition replace_fs
growpart:
    devices ignore_growroot_disabled mode
grub_dpkg:
    enabled grub-efi/install_devices grub-pc/install_devices grub-pc/install_devices_empty
keyboard:
    layout model options variant
landscape:
    client
lxd:
    bridge init preseed
lxd.bridge:
    domain ipv4_address ipv4_dhcp_first ipv4_dhcp_last ipv4_dhcp_leases ipv4_nat ipv4_netmask ipv6_address
    ipv6_nat ipv6_netmask mode mtu name
lxd.init:
    network_address network_port storage_backend storage_create_device storage_create_loop storage_pool
    trust_password
mcollective:
    conf
mcollective.conf:
    private-cert public-cert
ntp:
    allow config enabled ntp_client peers pools servers
ntp.config:
    check_exe confpath packages service_name template
output:
    all config final init
output.all output.config output.final output.init:
    error output
packages.*:
    apt snap
phone_home:
    post tries url
power_state:
    condition delay message mode timeout
puppet:
    aio_install_url cleanup collection conf conf_file csr_attributes csr_attributes_path exec exec_args install
    install_type package_name ssl_dir start_service version
puppet.conf:
    agent ca_cert main server user
puppet.csr_attributes:
    custom_attributes extension_requests
random_seed:
    command command_required data encoding file
reporting.*:
    consumer_key consumer_secret endpoint event_types kvp_file_path level retries timeout token_key token_secret
    type
resolv_conf:
    domain nameservers options searchdomains sortlist
rh_subscription:
    activation-key activation_key add-pool add_pool auto-attach auto_attach disable-repo disable_repo
    enable-repo enable_repo org password release_version rhsm-baseurl rhsm_baseurl server-hostname
    server_hostname service-level service_level username
rsyslog:
    check_exe config_dir config_filename configs install_rsyslog packages remotes service_reload_command
rsyslog.configs.*:
    content filename
salt_minion:
    conf config_dir grains pkg_name pki_dir private_key public_key service_name
snap:
    assertions commands
spacewalk:
    activation_key proxy server
ssh:
    emit_keys_to_console
ssh_publish_hostkeys:
    blacklist enabled
swap:
    filename maxsize size
ubuntu_advantage ubuntu_pro:
    config enable enable_beta features token
ubuntu_advantage.features ubuntu_pro.features:
    disable_auto_attach
updates:
    network
updates.network:
    when
user users.*:
    create-groups create_groups doas expiredate gecos groups hashed-passwd hashed_passwd homedir inactive
    lock-passwd lock_passwd name no-create-home no-log-init no-user-group no_create_home no_log_init
    no_user_group passwd plain-text-passwd plain_text_passwd primary-group primary_group selinux-user
    selinux_user shell snapuser ssh-authorized-keys ssh-import-id ssh-redirect-user ssh_authorized_keys
    ssh_import_id ssh_redirect_user sudo system uid
vendor_data:
    enabled prefix
wireguard:
    interfaces readinessprobe
wireguard.interfaces.*:
    config_path content name
write_files.*:
    append content defer encoding owner path permissions source
write_files.*.source:
    headers uri
yum_repos.*:
    baseurl enabled metalink mirrorlist name
"""

CLOUD_CONFIG_KEYS: Mapping[str, frozenset[str]] = {"": frozenset(_TOP.split()), **_tables(_BELOW)}
"""A mapping's dotted path (``users.*``, empty at the top) to the keys that it may have; ``*`` is any item of a list and
any key that the writer chooses. The names are those of cloud-init's published schema of cloud-config
(``schema-cloud-config-v1.json``, August 2026). Where the schema allows other keys, nothing is listed."""

_HASH = re.compile(r"\$[0-9a-z-]+\$.+|[!*].*|[./0-9A-Za-z]{13}")
"""What crypt(3) makes, or a locked account. The installer writes the text into /etc/shadow as it is."""

_NEAR = 0.8
"""How alike a key must be to a known one to count as a misspelling of it (difflib's ratio): ``autoinstal`` is 0.95."""


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a YAML text; cloud-init is to judge one that begins with ``#cloud-config`` too."""
    kind = kind_of(answer.text)
    if kind is not None and is_served_whole(answer.text):
        remarks.note(f"user-data that is {kind.described}: not judged")
        return None
    is_template = kind is TEMPLATE
    has_header = kind is CONFIG or (is_template and kind_of(answer.text.lstrip().partition("\n")[2]) is CONFIG)
    request = ToolRequest("cloud-init", answer.text, answer.format) if kind is CONFIG else None
    try:
        roots = yaml_read.read(answer.text)
    except ParseError as error:
        if is_template:
            remarks.note(f"a template that is no YAML before cloud-init has filled it ({error}): not judged")
            return None
        remarks.refuse(f"not YAML that can be read: {error.reason}", line=error.line)
        remarks.judged_by("YAML syntax")
        return None
    remarks.judged_by("YAML syntax")
    if len(roots) > 1 and has_header:
        line = roots[1].line if roots[1] else None
        remarks.refuse("a cloud-config is one document: cloud-init reads no stream of several", line=line)
    root = roots[0] if len(roots) == 1 else None
    if isinstance(root, yaml_read.Mapping):
        _judge_top(_items(root), has_header, remarks)
    elif root is not None and has_header and _type(root) != NULL:
        remarks.refuse("a cloud-config must be a mapping at its top", line=root.line)
    return request


def _type(node: Node) -> str:
    """Return the tag of a node."""
    if isinstance(node, Scalar):
        return scalar_tag(node)
    return node.tag or STANDARD + ("seq" if isinstance(node, Sequence) else "map")


def _items(node: Node | None) -> dict[str, Node]:
    """Return the keys of a mapping that are scalars, with their values; none of any other node."""
    pairs = node.pairs.values() if isinstance(node, yaml_read.Mapping) else ()
    return {str(key.text): value for key, value in pairs if isinstance(key, Scalar)}


def _judge_top(items: dict[str, Node], has_header: bool, remarks: Remarks) -> None:
    if "autoinstall" in items:
        _judge_autoinstall(items["autoinstall"], remarks)
        remarks.judged_by("Ubuntu autoinstall keys")
        if not has_header:
            remarks.refuse(
                f"the first line is not {HEADER!r}: without it cloud-init ignores user-data, and Ubuntu's "
                "installer asks its questions; put it there",
                line=1,
            )
    if has_header:
        if "autoinstall" not in items:
            remarks.judged_by("cloud-config shape")
        _judge_keys(items, "", remarks)
    elif "autoinstall" in items:
        return
    elif misspelled := difflib.get_close_matches("autoinstall", [key[:100] for key in items], n=1, cutoff=_NEAR):
        message = f"no key of user-data, and the first line is not {HEADER!r}; did you mean 'autoinstall'?"
        remarks.refuse(message, misspelled[0], items[misspelled[0]].line)
    elif "instance-id" in items or "local-hostname" in items:
        _judge_metadata(items.get("instance-id"), remarks)
    elif network := _network_config(items):
        _judge_network(network, remarks)


def _judge_autoinstall(node: Node, remarks: Remarks) -> None:
    where = "autoinstall"
    if not isinstance(node, yaml_read.Mapping):
        remarks.refuse("must be a mapping", where, node.line)
        return
    items = _items(node)
    version = items.get("version")
    if version is None:
        remarks.refuse("is missing: it must be 1", f"{where}.version", node.line)
    elif not _is_number(version, "1"):
        remarks.refuse("must be the number 1", f"{where}.version", version.line)
    for key, value in items.items():
        if key not in AUTOINSTALL_KEYS:
            known = remarks.did_you_mean(key, AUTOINSTALL_KEYS)
            remarks.refuse(f"not an autoinstall key{known}", f"{where}.{key}", value.line)
        elif key != "version":
            _judge_section(key, value, f"{where}.{key}", remarks)


def _is_number(node: Node, *texts: str) -> bool:
    return isinstance(node, Scalar) and scalar_tag(node) == STANDARD + "int" and node.text in texts


def _judge_section(key: str, node: Node, where: str, remarks: Remarks) -> None:
    types, items = AUTOINSTALL_KEYS[key], _items(node)
    if _type(node) not in types:
        remarks.refuse(f"must be {' or '.join(_TYPE_NAMES[tag] for tag in types)}", where, node.line)
        return
    if key in CHOICES and isinstance(node, Scalar) and node.text not in CHOICES[key]:
        remarks.refuse(f"must be {' or '.join(CHOICES[key])}", where, node.line)
    for name, value in items.items() if key in SECTION_KEYS else ():
        if name not in SECTION_KEYS[key]:
            known = remarks.did_you_mean(name, SECTION_KEYS[key])
            remarks.refuse(f"not a key of this section{known}", f"{where}.{name}", value.line)
    for name in REQUIRED.get(key, ()):
        if name not in items:
            remarks.refuse("is missing", f"{where}.{name}", node.line)
    _judge_content(key, node, items, where, remarks)


def _judge_content(key: str, node: Node, items: Mapping[str, Node], where: str, remarks: Remarks) -> None:
    if key == "identity":
        _judge_hash(items.get("password"), f"{where}.password", remarks)
    elif key == "storage":
        _judge_layout(items.get("layout"), f"{where}.layout", remarks)
    elif key == "reporting":
        _judge_reporting(items, where, remarks)
    elif key == "timezone" and isinstance(node, Scalar) and node.text not in ("", "geoip"):
        _judge_zone(node, where, remarks)
    elif key == "user-data":
        _judge_keys(items, "", remarks, f"{where}.")
    elif key.endswith("-commands") and isinstance(node, Sequence):
        for item in node.items:
            if _type(item) not in (STRING, STANDARD + "seq"):
                remarks.refuse("a command is a string or a list of strings; quote it", where, item.line)


def _judge_layout(layout: Node | None, where: str, remarks: Remarks) -> None:
    if layout is None:
        return
    if not isinstance(layout, yaml_read.Mapping):
        remarks.refuse("must be a mapping, such as {name: direct}", where, layout.line)
        return
    name = _items(layout).get("name")
    text = str(name.text) if isinstance(name, Scalar) else ""
    if name is None:
        remarks.refuse(f"is missing: one of {', '.join(LAYOUTS)}", f"{where}.name", layout.line)
    elif text not in LAYOUTS:
        known = remarks.did_you_mean(text, LAYOUTS) or f"; layouts are {', '.join(LAYOUTS)}"
        remarks.refuse(f"there is no such layout{known}", f"{where}.name", name.line)


def _judge_reporting(reporters: Mapping[str, Node], where: str, remarks: Remarks) -> None:
    """Judge the reporters: curtin, which sends, takes a list of seconds for ``retries``; a number ends every report."""
    for name, reporter in reporters.items():
        items = _items(reporter)
        if "type" not in items:
            remarks.refuse("is missing, such as webhook", f"{where}.{name}.type", reporter.line)
        retries = items.get("retries")
        if retries is not None and not isinstance(retries, Sequence):
            remarks.refuse("must be a list of seconds, such as [1, 2, 5]", f"{where}.{name}.retries", retries.line)


def _judge_hash(password: Node | None, where: str, remarks: Remarks) -> None:
    if isinstance(password, Scalar) and not _HASH.fullmatch(str(password.text)):
        message = "must be a hash as `mkpasswd -m sha-512` prints it: nobody can log in with a plain password"
        remarks.refuse(message, where, password.line)


def _judge_zone(node: Node, where: str, remarks: Remarks) -> None:
    if isinstance(node, Scalar) and (wrong := unknown_zone(str(node.text), remarks)):
        remarks.refuse(wrong, where, node.line)


def _judge_keys(items: Mapping[str, Node], path: str, remarks: Remarks, prefix: str = "") -> None:
    """Judge the keys of a cloud-config and of the mappings in it that take no others.

    ``path`` is that of the mapping in `CLOUD_CONFIG_KEYS`, ``prefix`` what a remark writes before a key.
    """
    known = CLOUD_CONFIG_KEYS.get(path)
    for key, value in items.items():
        where = f"{prefix}{key}"
        if known is not None and key not in known and key not in _ALSO_AT_TOP:
            near = [] if remarks.is_full else difflib.get_close_matches(key[:100], known, n=1, cutoff=_NEAR)
            if not path and key in AUTOINSTALL_KEYS:
                remarks.warn("a key of autoinstall, but not under 'autoinstall:'", where, value.line)
            elif near:
                remarks.refuse(f"cloud-init knows no such key; did you mean {near[0]!r}?", where, value.line)
            else:
                remarks.warn("not a key that cloud-init documents here", where, value.line)
            continue
        step = key if known is not None else "*"
        below = f"{path}.{step}" if path else step
        if below == "timezone":
            _judge_zone(value, where, remarks)
        elif below in ("user.passwd", "users.*.passwd", "users.*.hashed_passwd"):
            _judge_hash(value, where, remarks)
        elif below in _JUDGED_BELOW:
            _judge_keys(_items(value), below, remarks, f"{where}.")
            for number, item in enumerate(value.items if isinstance(value, Sequence) else ()):
                _judge_keys(_items(item), f"{below}.*", remarks, f"{where}.{number}.")


_ALSO_AT_TOP = frozenset({"network", "datasource", "datasource_list", "warnings"})
"""Keys of cloud-init's own configuration that user-data may have as well."""

_JUDGED_BELOW = frozenset(
    ".".join(steps[:end])
    for steps in (path.split(".") for path in CLOUD_CONFIG_KEYS)
    for end in range(1, len(steps) + 1)
)
"""The paths on the way to a mapping whose keys are known."""


def _judge_metadata(identifier: Node | None, remarks: Remarks) -> None:
    """Judge NoCloud's meta-data: without an instance-id cloud-init does not use the datasource."""
    remarks.judged_by("NoCloud meta-data shape")
    if identifier is None:
        remarks.warn("is missing: cloud-init may take the machine for one it has already set up", "instance-id")
    elif not isinstance(identifier, Scalar) or not identifier.text:
        remarks.refuse("must be a word that is not empty", "instance-id", identifier.line)


def _network_config(items: Mapping[str, Node]) -> Mapping[str, Node] | None:
    """Return the mapping of a network configuration, at the top or under ``network``; None where this is none."""
    inner = _items(items.get("network"))
    if inner and len(items) == 1:
        return inner
    marks = {"ethernets", "bonds", "bridges", "vlans", "wifis", "renderer", "config"}
    return items if "version" in items and marks & set(items) else None


def _judge_network(items: Mapping[str, Node], remarks: Remarks) -> None:
    remarks.judged_by("NoCloud network-config shape")
    version = items.get("version")
    if version is None or not _is_number(version, "1", "2"):
        message = "a network-config states version 1 or 2"
        remarks.refuse(message, "version", version.line if version else None)
    elif _is_number(version, "1") and not isinstance(items.get("config"), Sequence):
        remarks.refuse("a network-config of version 1 has a list of it", "config", version.line)
