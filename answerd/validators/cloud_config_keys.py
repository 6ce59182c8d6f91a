"""The keys that cloud-init knows, where it takes no others.

The names are those of cloud-init's published schema of cloud-config (``schema-cloud-config-v1.json``, August 2026).
Where the schema allows other keys, nothing is listed. ``*`` is any item of a list and any key that the writer chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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


CLOUD_CONFIG_KEYS: Final[Mapping[str, frozenset[str]]] = {"": frozenset(_TOP.split()), **_tables(_BELOW)}
"""A mapping's dotted path (``users.*``, empty at the top) to the keys that it may have."""
