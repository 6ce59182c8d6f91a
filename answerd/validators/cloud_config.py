"""YAML answers: cloud-config, Ubuntu autoinstall and NoCloud's metadata; any other YAML is judged as well-formed only.

The text is composed to nodes: no Python object is built from it, and no alias is expanded. The autoinstall keys are
those of Ubuntu's autoinstall reference manual (subiquity, 2025): in version 1 the installer ignores a key that it does
not know, so a mistyped section is silently missing. Here it is a finding.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping

import yaml

from answerd.formats.yaml_read import fixed_sentence
from answerd.validators.time_zones import unknown_zone
from answerd.validators.tools import ToolRequest
from answerd.validators.verdict import JudgedAnswer, Remarks

HEADER = "#cloud-config"
TEMPLATE_HEADER = "## template:"
"""The first line of a text that cloud-init fills before it reads it; ``#cloud-config`` is then the second."""

_MAP, _LIST, _TEXT, _INT, _NULL = (f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "null"))
_TAG_NAMES = {_MAP: "a mapping", _LIST: "a list", _TEXT: "a string", _INT: "a whole number", _NULL: "null"}

AUTOINSTALL_KEYS: Mapping[str, tuple[str, ...]] = {
    "version": (_INT,),
    "interactive-sections": (_LIST,),
    "early-commands": (_LIST,),
    "locale": (_TEXT, _NULL),
    "refresh-installer": (_MAP,),
    "keyboard": (_MAP,),
    "source": (_MAP,),
    "network": (_MAP,),
    "proxy": (_TEXT, _NULL),
    "apt": (_MAP,),
    "storage": (_MAP,),
    "identity": (_MAP,),
    "active-directory": (_MAP,),
    "ubuntu-pro": (_MAP,),
    "ubuntu-advantage": (_MAP,),  # its older name, which the installer still reads
    "ssh": (_MAP,),
    "codecs": (_MAP,),
    "drivers": (_MAP,),
    "oem": (_MAP,),
    "snaps": (_LIST,),
    "debconf-selections": (_TEXT,),
    "packages": (_LIST,),
    "kernel": (_MAP,),
    "kernel-crash-dumps": (_MAP,),
    "timezone": (_TEXT,),
    "updates": (_TEXT,),
    "shutdown": (_TEXT,),
    "late-commands": (_LIST,),
    "error-commands": (_LIST,),
    "reporting": (_MAP,),
    "user-data": (_MAP,),
    "zdevs": (_LIST,),
}
"""Key to the YAML types its value may have."""

SECTION_KEYS: Mapping[str, Mapping[str, bool]] = {
    "refresh-installer": {"update": False, "channel": False},
    "keyboard": {"layout": True, "variant": False, "toggle": False},
    "identity": {"username": True, "hostname": True, "password": True, "realname": False, "groups": False},
    "kernel-crash-dumps": {"enabled": True},
    "active-directory": {"admin-name": False, "domain-name": False},
    "ubuntu-pro": {"token": False},
    "ubuntu-advantage": {"token": False},
    "ssh": {"install-server": False, "authorized-keys": False, "allow-pw": False},
    "codecs": {"install": False},
    "drivers": {"install": False},
    "oem": {"install": False},
    "source": {"id": False, "search_drivers": False},
}
"""Sections whose schema allows no other keys, to their keys and whether each is required."""

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


def _tables(text: str) -> dict[str, frozenset[str]]:
    """Return the dotted path of each mapping with its keys. Paths are a line that ends in a colon."""
    tables: dict[str, frozenset[str]] = {}
    paths: list[str] = []
    for line in text.strip().splitlines():
        if line.endswith(":"):
            paths = line[:-1].split()
        else:
            tables |= {path: tables.get(path, frozenset()) | {*line.split()} for path in paths}
    return tables


CLOUD_CONFIG_KEYS: Mapping[str, frozenset[str]] = {"": frozenset(_TOP.split()), **_tables(_BELOW)}
"""A mapping's dotted path (``users.*``, empty at the top) to the keys that it may have; ``*`` is any item of a list and
any key that the writer chooses. The names are those of cloud-init's published schema of cloud-config
(``schema-cloud-config-v1.json``, August 2026). Where the schema allows other keys, nothing is listed."""

_HASH = re.compile(r"\$[0-9a-z-]+\$.+|[!*].*|[./0-9A-Za-z]{13}")
"""What crypt(3) makes, or a locked account. The installer writes the text into /etc/shadow as it is."""

_NEAR = 0.8
"""How alike a key must be to a known one to count as a misspelling of it (difflib's ratio): ``autoinstal`` is 0.95."""

DEPTH_LIMIT = 100
"""Of nested collections. libyaml composes by recursion in C without a limit: 200,000 brackets end the process."""

Node = yaml.Node


def judge(answer: JudgedAnswer, remarks: Remarks) -> ToolRequest | None:
    """Judge a YAML text; cloud-init is to judge one whose first line is ``#cloud-config`` too."""
    is_cloud_config = _judge(answer.text, remarks)
    return ToolRequest("cloud-init", answer.text, answer.format) if is_cloud_config else None


def _judge(text: str, remarks: Remarks) -> bool:
    first, second = ([*text.splitlines(), "", ""])[:2]
    is_cloud_config, is_template = first.rstrip() == HEADER, first.startswith(TEMPLATE_HEADER)
    has_header = is_cloud_config or (is_template and second.rstrip() == HEADER)
    try:
        roots = _compose(text)
    except _Unreadable as unreadable:
        if is_template:
            remarks.note(f"a template that is no YAML before cloud-init has filled it ({unreadable}): not judged")
            return False
        remarks.refuse(f"not YAML that can be read: {unreadable}", line=unreadable.line)
        roots = []
    remarks.judged_by("YAML syntax")
    if not roots:
        return is_cloud_config and not remarks.refused
    for root in roots:
        _judge_duplicates(root, remarks)
    if len(roots) > 1:
        if has_header:
            remarks.refuse(
                "a cloud-config is one document: cloud-init reads no stream of several", line=_line(roots[1])
            )
        return is_cloud_config
    [root] = roots
    if has_header and not isinstance(root, yaml.MappingNode) and root.tag != _NULL:
        remarks.refuse("a cloud-config must be a mapping at its top", line=_line(root))
    if isinstance(root, yaml.MappingNode):
        _judge_top(dict(_items(root)), has_header, remarks)
    return is_cloud_config


class _Unreadable(Exception):
    """The text is not YAML; why. ``line`` counts from 1, where known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def _compose(text: str) -> list[Node]:
    """Return the roots of a text's documents; none for an empty text. Raise `_Unreadable`."""
    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = loader_class(text)
    try:
        if _depth(text, loader_class) > DEPTH_LIMIT:
            raise _Unreadable(f"nested deeper than {DEPTH_LIMIT}")
        roots: list[Node] = []
        while loader.check_node():
            node: Node = loader.get_node()  # type: ignore[assignment]  # None where there is no node to check
            roots.append(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Unreadable(fixed_sentence(error), mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, ValueError):
        raise _Unreadable("it holds a character that YAML does not allow") from None
    finally:
        loader.dispose()
    return roots


def _depth(text: str, loader_class: type[yaml.SafeLoader]) -> int:
    """Return how deep collections are nested, counted from the events, which need no recursion."""
    depth = deepest = 0
    for event in yaml.parse(text, Loader=loader_class):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            deepest = max(deepest, depth)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if deepest > DEPTH_LIMIT:
            break
    return deepest


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _items(node: yaml.MappingNode) -> Iterator[tuple[str, Node]]:
    """Yield the keys that are scalars, with their values."""
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            yield str(key.value), value


def _judge_duplicates(root: Node, remarks: Remarks) -> None:
    """Refuse a key twice in one mapping: PyYAML and cloud-init silently take the last."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        children: list[Node] = []
        if isinstance(node, yaml.MappingNode):
            names: set[tuple[str, str]] = set()
            for key, value in node.value:
                children += (key, value)
                if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                    if (key.tag, key.value) in names:
                        remarks.refuse("this key is already in its mapping", line=_line(key))
                    names.add((key.tag, key.value))
        elif isinstance(node, yaml.SequenceNode):
            children = list(node.value)
        for child in children:
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)


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
            _judge_keys(items, "", remarks)
    elif has_header:
        remarks.judged_by("cloud-config shape")
        _judge_keys(items, "", remarks)
    elif misspelled := difflib.get_close_matches("autoinstall", [key[:100] for key in items], n=1, cutoff=_NEAR):
        message = (
            f"{misspelled[0]}: no key of user-data, and the first line is not {HEADER!r}; did you mean 'autoinstall'?"
        )
        remarks.refuse(message, misspelled[0], _line(items[misspelled[0]]))
    elif "instance-id" in items or "local-hostname" in items:
        _judge_metadata(items, remarks)
    elif network := _network_config(items):
        _judge_network(network, remarks)


def _judge_autoinstall(node: Node, remarks: Remarks) -> None:
    where = "autoinstall"
    if not isinstance(node, yaml.MappingNode):
        remarks.refuse(f"{where}: must be a mapping", where, _line(node))
        return
    items = dict(_items(node))
    version = items.get("version")
    if version is None and "<<" not in items:
        remarks.refuse(f"{where}.version is missing: it must be 1", f"{where}.version", _line(node))
    elif version is not None and (version.tag != _INT or version.value != "1"):
        remarks.refuse(f"{where}.version: must be the number 1", f"{where}.version", _line(version))
    for key, value in items.items():
        if key not in AUTOINSTALL_KEYS and key != "<<":
            known = remarks.did_you_mean(key, AUTOINSTALL_KEYS)
            remarks.refuse(f"{where}.{key}: not an autoinstall key{known}", f"{where}.{key}", _line(value))
        elif key not in ("version", "<<"):
            _judge_section(key, value, f"{where}.{key}", remarks)


def _judge_section(key: str, node: Node, where: str, remarks: Remarks) -> None:
    types = AUTOINSTALL_KEYS[key]
    if node.tag not in types:
        remarks.refuse(f"{where}: must be {' or '.join(_TAG_NAMES[tag] for tag in types)}", where, _line(node))
        return
    if key in CHOICES and node.value not in CHOICES[key]:
        remarks.refuse(f"{where}: must be {' or '.join(CHOICES[key])}", where, _line(node))
    if key in SECTION_KEYS and isinstance(node, yaml.MappingNode):
        _judge_section_keys(node, SECTION_KEYS[key], where, remarks)
    if key == "identity":
        _judge_hash(dict(_items(node)).get("password"), f"{where}.password", remarks)  # type: ignore[arg-type]
    elif key == "storage":
        _judge_layout(dict(_items(node)).get("layout"), f"{where}.layout", remarks)  # type: ignore[arg-type]
    elif key == "reporting":
        _judge_reporting(node, where, remarks)
    elif key == "timezone" and node.value not in ("", "geoip"):
        _judge_zone(node, where, remarks)
    elif key == "user-data" and isinstance(node, yaml.MappingNode):
        _judge_keys(dict(_items(node)), "", remarks, f"{where}.")
    if key.endswith("-commands"):
        for item in node.value:
            if item.tag not in (_TEXT, _LIST):
                message = f"{where}: a command is a string or a list of strings; quote it"
                remarks.refuse(message, where, _line(item))


def _judge_section_keys(node: yaml.MappingNode, keys: Mapping[str, bool], where: str, remarks: Remarks) -> None:
    items = dict(_items(node))
    for name, value in items.items():
        if name not in keys and name != "<<":
            message = f"{where}.{name}: not a key of this section{remarks.did_you_mean(name, keys)}"
            remarks.refuse(message, f"{where}.{name}", _line(value))
    for name, required in keys.items():
        if required and name not in items and "<<" not in items:
            remarks.refuse(f"{where}.{name} is missing", f"{where}.{name}", _line(node))


def _judge_layout(layout: Node | None, where: str, remarks: Remarks) -> None:
    if layout is None:
        return
    if not isinstance(layout, yaml.MappingNode):
        remarks.refuse(f"{where}: must be a mapping, such as {{name: direct}}", where, _line(layout))
        return
    name = dict(_items(layout)).get("name")
    if name is None:
        remarks.refuse(f"{where}.name is missing: one of {', '.join(LAYOUTS)}", f"{where}.name", _line(layout))
    elif name.value not in LAYOUTS:
        known = remarks.did_you_mean(str(name.value), LAYOUTS) or f"; layouts are {', '.join(LAYOUTS)}"
        remarks.refuse(f"{where}.name: there is no such layout{known}", f"{where}.name", _line(name))


def _judge_reporting(node: Node, where: str, remarks: Remarks) -> None:
    """Judge the reporters: curtin, which sends, takes a list of seconds for ``retries``; a number ends every report."""
    for name, reporter in _items(node) if isinstance(node, yaml.MappingNode) else ():
        items = dict(_items(reporter)) if isinstance(reporter, yaml.MappingNode) else {}
        if "type" not in items:
            message = f"{where}.{name}.type is missing, such as webhook"
            remarks.refuse(message, f"{where}.{name}.type", _line(reporter))
        retries = items.get("retries")
        if retries is not None and retries.tag != _LIST:
            path = f"{where}.{name}.retries"
            remarks.refuse(f"{path}: must be a list of seconds, such as [1, 2, 5]", path, _line(retries))


def _judge_hash(password: Node | None, where: str, remarks: Remarks) -> None:
    if isinstance(password, yaml.ScalarNode) and not _HASH.fullmatch(password.value):
        message = f"{where}: must be a hash as `mkpasswd -m sha-512` prints it: nobody can log in with a plain password"
        remarks.refuse(message, where, _line(password))


def _judge_zone(node: Node, where: str, remarks: Remarks) -> None:
    if isinstance(node, yaml.ScalarNode) and (wrong := unknown_zone(str(node.value))):
        remarks.refuse(f"{where}: {wrong}", where, _line(node))


def _judge_keys(items: Mapping[str, Node], path: str, remarks: Remarks, prefix: str = "") -> None:
    """Judge the keys of a cloud-config and of the mappings in it that take no others.

    ``path`` is that of the mapping in `CLOUD_CONFIG_KEYS`, ``prefix`` what a remark writes before a key.
    """
    known = CLOUD_CONFIG_KEYS.get(path)
    for key, value in items.items():
        where = f"{prefix}{key}"
        if known is not None and key not in known and key not in _ALSO_AT_TOP and key != "<<":
            near = [] if remarks.is_full else difflib.get_close_matches(key[:100], known, n=1, cutoff=_NEAR)
            if not path and key in AUTOINSTALL_KEYS:
                remarks.warn(f"{where}: a key of autoinstall, but not under 'autoinstall:'", where, _line(value))
            elif near:
                remarks.refuse(f"{where}: cloud-init knows no such key; did you mean {near[0]!r}?", where, _line(value))
            else:
                remarks.warn(f"{where}: not a key that cloud-init documents here", where, _line(value))
            continue
        step = key if known is not None else "*"
        below = f"{path}.{step}" if path else step
        if below == "timezone":
            _judge_zone(value, where, remarks)
        elif below in ("user.passwd", "users.*.passwd", "users.*.hashed_passwd"):
            _judge_hash(value, where, remarks)
        elif below != "autoinstall" and below in _JUDGED_BELOW:
            _judge_value(value, below, where, remarks)


def _judge_value(node: Node, path: str, where: str, remarks: Remarks) -> None:
    if isinstance(node, yaml.MappingNode):
        _judge_keys(dict(_items(node)), path, remarks, f"{where}.")
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            if isinstance(item, yaml.MappingNode):
                _judge_keys(dict(_items(item)), f"{path}.*", remarks, f"{where}.{number}.")


_ALSO_AT_TOP = frozenset({"network", "datasource", "datasource_list", "warnings"})
"""Keys of cloud-init's own configuration that user-data may have as well."""

_JUDGED_BELOW = frozenset(
    ".".join(steps[:end])
    for steps in (path.split(".") for path in CLOUD_CONFIG_KEYS)
    for end in range(1, len(steps) + 1)
)
"""The paths on the way to a mapping whose keys are known."""


def _judge_metadata(items: Mapping[str, Node], remarks: Remarks) -> None:
    """Judge NoCloud's meta-data: without an instance-id cloud-init does not use the datasource."""
    remarks.judged_by("NoCloud meta-data shape")
    identifier = items.get("instance-id")
    if identifier is None:
        remarks.warn(
            "instance-id is missing: cloud-init may take the machine for one it has already set up", "instance-id"
        )
    elif not isinstance(identifier, yaml.ScalarNode) or not identifier.value:
        remarks.refuse("instance-id: must be a word that is not empty", "instance-id", _line(identifier))


def _network_config(items: Mapping[str, Node]) -> dict[str, Node] | None:
    """Return the mapping of a network configuration, at the top or under ``network``; None where this is none."""
    inner = items.get("network")
    if isinstance(inner, yaml.MappingNode) and len(items) == 1:
        return dict(_items(inner))
    marks = {"ethernets", "bonds", "bridges", "vlans", "wifis", "renderer", "config"}
    return dict(items) if "version" in items and marks & set(items) else None


def _judge_network(items: Mapping[str, Node], remarks: Remarks) -> None:
    remarks.judged_by("NoCloud network-config shape")
    version = items.get("version")
    if version is None or version.tag != _INT or version.value not in ("1", "2"):
        remarks.refuse(
            "version: a network-config states version 1 or 2", "version", _line(version) if version else None
        )
    elif version.value == "1" and not isinstance(items.get("config"), yaml.SequenceNode):
        remarks.refuse("config: a network-config of version 1 has a list of it", "config", _line(version))
