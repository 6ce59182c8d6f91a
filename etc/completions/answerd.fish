# Completion of answerd for fish. Made by scripts/manpage from the help texts of the commands: do not edit.
complete -c answerd -n __fish_use_subcommand -l help -s h -d 'The help text' -f
complete -c answerd -n __fish_use_subcommand -l version -d 'The version' -f
complete -c answerd -n __fish_use_subcommand -a serve -d 'Run the service (also without any command).' -f
complete -c answerd -n __fish_use_subcommand -a render -d 'The answer to a request; how it came about on stderr.' -f
complete -c answerd -n __fish_use_subcommand -a check -d 'Every problem of the answer set; every machine tried.' -f
complete -c answerd -n __fish_use_subcommand -a diff -d 'Whose answers would change if OTHER were in force, and how.' -f
complete -c answerd -n __fish_use_subcommand -a validate-answer -d 'Judge an answer, from FILE or standard input.' -f
complete -c answerd -n __fish_use_subcommand -a captures -d 'The recorded requests (SERVICE_CAPTURE_DIR), newest first.' -f
complete -c answerd -n __fish_use_subcommand -a inventory -d 'The rows of all inventories; rows from machines’ output.' -f
complete -c answerd -n __fish_use_subcommand -a adopt -d 'Rows for machines that asked and that nothing claims.' -f
complete -c answerd -n __fish_use_subcommand -a installs -d 'Which machines are installed, missing or failed.' -f
complete -c answerd -n __fish_use_subcommand -a install -d 'One machine’s install, with its history.' -f
complete -c answerd -n __fish_use_subcommand -a arm -d 'Let machines install again.' -f
complete -c answerd -n __fish_use_subcommand -a disarm -d 'Let machines install no more.' -f
complete -c answerd -n __fish_use_subcommand -a forget -d 'Forget machines, as if they had never asked.' -f
complete -c answerd -n __fish_use_subcommand -a wait -d 'Wait until machines are installed.' -f
complete -c answerd -n __fish_use_subcommand -a nodes -d 'The nodes that share a PostgreSQL database.' -f
complete -c answerd -n __fish_use_subcommand -a import -d 'Copy a directory of documents into the database.' -f
complete -c answerd -n __fish_use_subcommand -a export -d 'Write the database’s documents into a directory.' -f
complete -c answerd -n __fish_use_subcommand -a apply -d 'Make the documents those of a directory, as one change.' -f
complete -c answerd -n __fish_use_subcommand -a history -d 'Who changed which document, when and how.' -f
complete -c answerd -n __fish_use_subcommand -a restore-document -d 'Restore a document, or take back a change of many.' -f
complete -c answerd -n __fish_use_subcommand -a backup -d 'Write everything the service keeps to one file.' -f
complete -c answerd -n __fish_use_subcommand -a restore -d 'Put back what a backup holds.' -f
complete -c answerd -n __fish_use_subcommand -a token -d 'Make a named token for the admin API.' -f
complete -c answerd -n __fish_use_subcommand -a config -d 'Every setting, its value and where it came from.' -f
complete -c answerd -n __fish_use_subcommand -a boot-config -d 'Write a DHCP server’s configuration for network boot.' -f
complete -c answerd -n __fish_use_subcommand -a migrate -d 'Take over another service’s data.' -f
complete -c answerd -n '__fish_seen_subcommand_from serve' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l format -r -f -a 'toml yaml yml json ign xml autoyast unattend ks preseed seed cfg ipxe pxelinux grub erb jsonnet' -d 'The format that is asked for, as a URL segment would: an extension or an alias, such as ks or rhel.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l body -r -F -d 'The request’s body; "-" is standard input.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l query -r -f -d 'The request’s query; path= in it is the URL’s path: "path=/rhel/ks&serial=7ABC123".'
complete -c answerd -n '__fish_seen_subcommand_from render' -l header -r -f -d 'A header of the request, "X-System-Serial-Number: 7ABC123"; may be given several times.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l replay -r -F -d 'A recorded request, by its name in the list of answerd captures or the path of its file.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l dir -r -F -d 'The directory of documents, in place of the store of the settings.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l state -r -f -d 'The state that the machine’s install is assumed to have; without it, armed.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l why -d 'Tell on stderr each claim that was considered and why it won or lost.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l explain -d 'Tell for each key or line the document it came from.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l json -d 'With --explain: for programs. The same as --explain=json.'
complete -c answerd -n '__fish_seen_subcommand_from render' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from check' -l json -d 'For programs.'
complete -c answerd -n '__fish_seen_subcommand_from check' -l strict -d 'A row that nothing but a default or a boot loader’s script claims is a problem, not a note.'
complete -c answerd -n '__fish_seen_subcommand_from check' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from diff' -l summary -d 'Show who changes, and by how many lines; not the lines.'
complete -c answerd -n '__fish_seen_subcommand_from diff' -l show-secrets -d 'Show passwords, hashes and keys that differ.'
complete -c answerd -n '__fish_seen_subcommand_from diff' -l json -d 'For programs.'
complete -c answerd -n '__fish_seen_subcommand_from diff' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from validate-answer' -l format -r -f -a 'toml yaml yml json ign xml autoyast unattend ks preseed seed cfg ipxe pxelinux grub erb jsonnet' -d 'The format of the answer (toml, ks, yaml, ...); the extension of FILE when not given.'
complete -c answerd -n '__fish_seen_subcommand_from validate-answer' -l release -r -f -d 'The Proxmox installer’s release whose rules decide, "9.1"; the newest when not given.'
complete -c answerd -n '__fish_seen_subcommand_from validate-answer' -l product -r -f -d 'Its product: pve, pmg or pbs.'
complete -c answerd -n '__fish_seen_subcommand_from validate-answer' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from captures' -l machine -r -f -d 'Only requests that carry this identity: a MAC address, a serial number, a host name.'
complete -c answerd -n '__fish_seen_subcommand_from captures' -l json -d 'For programs.'
complete -c answerd -n '__fish_seen_subcommand_from captures' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from inventory' -l to -r -f -d 'The inventory that rows are added to, in place of "default" (inventory.csv).'
complete -c answerd -n '__fish_seen_subcommand_from inventory' -l dry-run -d 'Print the rows, and change nothing.'
complete -c answerd -n '__fish_seen_subcommand_from inventory' -l json -d 'For programs.'
complete -c answerd -n '__fish_seen_subcommand_from inventory' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l name -r -f -d 'The names of the rows, with {n} for a number: ’cn{n:04}’ is cn0001, cn0002 and so on, after the highest number that there is. Without it, and without --free, a row has no name.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l set -r -f -d 'A cell that all rows get: COLUMN=TEXT, role=gpu.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l said -r -f -d 'Only machines that said LABEL=PATTERN, ’product=R750*’; several of one label mean any of them, of different labels all.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l count -r -f -d 'At most so many machines.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l free -d 'Fill rows that have a name and no MAC address, serial number or UUID yet, in their order, in place of new rows.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l to -r -f -d 'The inventory, in place of "default" (inventory.csv).'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l dry-run -d 'Show the rows, and change nothing.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l yes -d 'Do not ask.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l json -d 'Print the result as JSON, and do not ask.'
complete -c answerd -n '__fish_seen_subcommand_from adopt' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l where -r -f -d 'The machines whose rows have COLUMN=PATTERN; several of one column mean any of them, of different columns all.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l group -r -f -d 'The machines of a group: its members, the machines that extend it, and the rows that it claims.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l state -r -f -d 'The machines in a state: new, armed, installing, copied, installed, failed, exhausted, conflict; or silent: those that install and have neither asked nor reported for SERVICE_INSTALL_SECS.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l summary -r -f -d 'How many machines are in each state, for each group where BY is "group", or for each value of the column BY; also of those that have no record.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l names -d 'Print nothing but the names of the machines, each on a line.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l waiting -d 'The machines that a gate refused and that an operator can let in (answerd arm), the one that asked last first.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l unknown -d 'The machines that asked and were claimed by nothing, the last first.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l from -r -f -d 'Ask the admin API of a service; several in one list, each with its site. The token is in SERVICE_ADMIN_TOKEN or SERVICE_ADMIN_TOKEN_FILE.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l ca -r -F -d 'Certificates (PEM) that are trusted for --from, in place of the system’s.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l json -d 'For programs; of one machine with all that is kept of each report’s body.'
complete -c answerd -n '__fish_seen_subcommand_from installs' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from install' -l show-secrets -d 'Do not mask secrets in what the machine reported.'
complete -c answerd -n '__fish_seen_subcommand_from install' -l json -d 'For programs; of one machine with all that is kept of each report’s body.'
complete -c answerd -n '__fish_seen_subcommand_from install' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from arm' -l where -r -f -d 'The machines whose rows have COLUMN=PATTERN; several of one column mean any of them, of different columns all.'
complete -c answerd -n '__fish_seen_subcommand_from arm' -l group -r -f -d 'The machines of a group: its members, the machines that extend it, and the rows that it claims.'
complete -c answerd -n '__fish_seen_subcommand_from arm' -l state -r -f -d 'The machines in a state: new, armed, installing, copied, installed, failed, exhausted, conflict; or those that are silent.'
complete -c answerd -n '__fish_seen_subcommand_from arm' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from disarm' -l where -r -f -d 'The machines whose rows have COLUMN=PATTERN; several of one column mean any of them, of different columns all.'
complete -c answerd -n '__fish_seen_subcommand_from disarm' -l group -r -f -d 'The machines of a group: its members, the machines that extend it, and the rows that it claims.'
complete -c answerd -n '__fish_seen_subcommand_from disarm' -l state -r -f -d 'The machines in a state: new, armed, installing, copied, installed, failed, exhausted, conflict; or those that are silent.'
complete -c answerd -n '__fish_seen_subcommand_from disarm' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from forget' -l where -r -f -d 'The machines whose rows have COLUMN=PATTERN; several of one column mean any of them, of different columns all.'
complete -c answerd -n '__fish_seen_subcommand_from forget' -l group -r -f -d 'The machines of a group: its members, the machines that extend it, and the rows that it claims.'
complete -c answerd -n '__fish_seen_subcommand_from forget' -l state -r -f -d 'The machines in a state: new, armed, installing, copied, installed, failed, exhausted, conflict; or those that are silent.'
complete -c answerd -n '__fish_seen_subcommand_from forget' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l where -r -f -d 'The machines whose rows have COLUMN=PATTERN; several of one column mean any of them, of different columns all.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l group -r -f -d 'The machines of a group.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l state -r -f -d 'The machines in a state, as for `installs`.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l timeout -r -f -d 'How long to wait: 90, 90s, 30m, 2h or 1d. Without it, for ever.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l grace -r -f -d 'How long a machine that has failed may take to begin again [default: 2m].'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l fail-fast -d 'End as soon as one has failed or is exhausted.'
complete -c answerd -n '__fish_seen_subcommand_from wait' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from nodes' -l json -d 'For programs.'
complete -c answerd -n '__fish_seen_subcommand_from nodes' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from import' -l prune -d 'Remove the documents of the database that DIR or FILE does not have.'
complete -c answerd -n '__fish_seen_subcommand_from import' -l follow-links -d 'Read what links lead to out of DIR; else such a document could not be taken.'
complete -c answerd -n '__fish_seen_subcommand_from import' -l from-db -r -F -d 'Take the documents of a database file in place of a directory.'
complete -c answerd -n '__fish_seen_subcommand_from import' -l states -r -F -d 'Take the states of installs of this file, which the service of DIR has as SERVICE_STATE_PATH.'
complete -c answerd -n '__fish_seen_subcommand_from import' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from export' -l force -d 'Export into a directory that is not empty; files of the same names are replaced.'
complete -c answerd -n '__fish_seen_subcommand_from export' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l to -r -f -d 'The admin API of a service; its token is in SERVICE_ADMIN_TOKEN or SERVICE_ADMIN_TOKEN_FILE.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l ca -r -F -d 'Certificates (PEM) that are trusted for --to, in place of the system’s.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l dry-run -d 'Change nothing; say what would change.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l prune -d 'Remove the documents that DIR does not have; inventories only where DIR has one.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l prune-inventories -d 'Remove inventories also where DIR has none.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l strict -d 'Refuse it too where an installer would refuse an answer that the change makes; the problems are those of answerd check.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l yes -d 'Do not ask.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l note -r -f -d 'A line about the change for the history.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l follow-links -d 'Read what links lead to out of DIR; else such a document is one that cannot be read.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l json -d 'Print the result as JSON.'
complete -c answerd -n '__fish_seen_subcommand_from apply' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from history' -l since -r -f -d 'Only changes since a time of UTC, such as 2026-11-21 or 2026-11-21T09:14.'
complete -c answerd -n '__fish_seen_subcommand_from history' -l limit -r -f -d 'At most so many changes [default: 50].'
complete -c answerd -n '__fish_seen_subcommand_from history' -l summary -d 'A line for each time that something was changed, with the number of documents, in place of the diffs.'
complete -c answerd -n '__fish_seen_subcommand_from history' -l show-secrets -d 'Do not mask secrets in the diffs.'
complete -c answerd -n '__fish_seen_subcommand_from history' -l json -d 'Print JSON.'
complete -c answerd -n '__fish_seen_subcommand_from history' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from restore-document' -l revision -r -f -d 'The revision to go back to.'
complete -c answerd -n '__fish_seen_subcommand_from restore-document' -l change -r -f -d 'The revision of one of the documents that changed together.'
complete -c answerd -n '__fish_seen_subcommand_from restore-document' -l note -r -f -d 'A line about the change for the history.'
complete -c answerd -n '__fish_seen_subcommand_from restore-document' -l yes -d 'Do not ask.'
complete -c answerd -n '__fish_seen_subcommand_from restore-document' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from backup' -l force -d 'Replace what is there: FILE; the documents of the database; in a directory, files of the same names.'
complete -c answerd -n '__fish_seen_subcommand_from backup' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from restore' -l force -d 'Replace what is there: FILE; the documents of the database; in a directory, files of the same names.'
complete -c answerd -n '__fish_seen_subcommand_from restore' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from token' -l role -r -f -d 'What it may do: read; plan (that, and dry runs); operate (plan, and arm and disarm); inventory (plan, and rows); or admin (everything, and secrets).'
complete -c answerd -n '__fish_seen_subcommand_from token' -l until -r -f -d 'The last day on which it is valid, by UTC: 2026-12-31.'
complete -c answerd -n '__fish_seen_subcommand_from token' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from config' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from boot-config' -l url -r -f -d 'Where machines reach this service, http://192.0.2.10:8000; SERVICE_URL or the listen address when not given.'
complete -c answerd -n '__fish_seen_subcommand_from boot-config' -l ipv6 -d 'For a network without IPv4: DHCPv6 and router advertisements; dnsmasq, isc-dhcp and kea.'
complete -c answerd -n '__fish_seen_subcommand_from boot-config' -l without-ipxe -d 'PXELINUX for BIOS, shim and GRUB for UEFI, which start with Secure Boot too; dnsmasq, isc-dhcp and kea.'
complete -c answerd -n '__fish_seen_subcommand_from boot-config' -l proxy-dhcp -d 'For a network in which another server hands out the addresses; dnsmasq only.'
complete -c answerd -n '__fish_seen_subcommand_from boot-config' -l help -d 'This text.'
complete -c answerd -n '__fish_seen_subcommand_from migrate' -l follow-links -d 'Read what links lead to out of PATH; else such a link is an error.'
complete -c answerd -n '__fish_seen_subcommand_from migrate' -l help -d 'This text.'
