# RouterOS 7 that leads machines to answerd: paste into a terminal, or /import
#
# Written by: answerd boot-config mikrotik --url @url@
# dhcp1 is the DHCP server, pool1 its address pool, 192.0.2.0/24 the machines' network: put in your own names. The files
# of Debian's package ipxe are on a TFTP server at next-server (/ip tftp add serves them from the router itself). UEFI's
# HTTP boot fetches the same files from a web server, below @loaders@/
#
# Only a client that says that it is iPXE (option 77) gets the URL. The first matcher that holds counts, so its matcher is
# the first. iPXE fills in ${...} itself; the backslash keeps RouterOS from doing so.

/ip dhcp-server option
add name=answerd-script code=67 value="s'@escaped_script@'"
add name=answerd-http-client code=60 value="s'HTTPClient'"
add name=answerd-proxmox code=250 value="s'@url@/proxmox'"
@options@

/ip dhcp-server option sets
add name=answerd-ipxe options="answerd-script,answerd-proxmox"
@sets@

/ip dhcp-server matcher
add name=answerd-ipxe server=dhcp1 address-pool=pool1 code=77 matching-type=substring value="iPXE" option-set=answerd-ipxe
@matchers@

/ip dhcp-server network
set [find address=192.0.2.0/24] next-server=@next_server@ dhcp-option=answerd-proxmox
