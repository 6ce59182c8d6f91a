"""What tests share. Import helpers from here, never from another test.

| module | gives |
|---|---|
| `service` | `Service`: the real program on a free port; `run`: one command to its end; `write_tree` |
| `replies` | `Reply`; requests as bytes; `exchange`, `receive` |
| `fleet` | `Fleet`: an answer set in one store, asked in process; `STORES`; `key_of` |
| `admin` | `Admin`: the admin application, asked in process |
| `lookups` | `Said`: the values of labels, without a request |
| `stores` | stores that are empty, fixed or failing |
| `waiting` | `wait_until` |
| `deadline` | the pytest plugin that ends a test which hangs, and prints where it stood |
| `processes` | children, memory, signals and sockets of processes, as the kernel sees them |
| `probe` | `Probes`: clients in processes of their own that ask while something else happens; `ask` |
| `known_port` | `OnAKnownPort`: the real program where its log cannot be read |
| `shell` | `Shell`: the command line in this process |
| `pages` | the tables and blocks of docs/; `installer_pages`: the documents on those of the installers |
| `unprivileged` | `as_nobody`: a block without root's rights |
"""
