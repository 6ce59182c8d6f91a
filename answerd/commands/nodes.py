"""The nodes that share a PostgreSQL database.

Usage:
  answerd nodes [--json]

A line for each node that has followed the database within the last seven days:
its version, when it spoke last, how many changes of documents it does not have
yet, and how many events of installs it has not delivered. A node speaks every
five seconds. Only services with SERVICE_STORE=postgres are nodes.

Below the list is what decides answers and is not the same at all nodes: a
setting, or the secrets. Nodes compare digests, so no value is shown. See
docs/many-nodes.md#the-list-of-nodes.

Options:
  --json     For programs.
  -h --help  This text.

Exit status:
  0  it worked
  1  nodes differ in what decides their answers, or the states of installs
     cannot be read; the reason of that is on standard error
  2  the command line is wrong

Examples:
  # Show which nodes have not spoken for long.
  answerd nodes
"""

from __future__ import annotations

from answerd.commands import FAILED, Arguments
from answerd.commands.documents import settings
from answerd.commands.terminal import counted, print_json, print_table
from answerd.store.nodes import differences_of
from answerd.store.opening import open_existing_states

_HEADER = ("NODE", "VERSION", "SEEN", "SILENT", "BEHIND", "WAITING")


def run(arguments: Arguments) -> int:
    config = settings()
    store = open_existing_states(config) if config.store == "postgres" else None
    found = store.nodes() if store is not None else ()
    nodes, differences = [node.as_json() for node in found], differences_of(found)
    status = FAILED if differences else 0
    if arguments["--json"]:
        print_json({"nodes": nodes, "differences": differences} if store is not None else {"nodes": nodes})
        return status
    if store is None:
        print(f"SERVICE_STORE={config.store} has no nodes: nodes are services with SERVICE_STORE=postgres")
        return 0
    rows = [
        (
            node["node"],
            node["version"],
            node["seen"],
            f"{node['silent_seconds']:.0f} s",
            counted(node["behind"], "change"),
            counted(node["waiting"], "event"),
        )
        for node in nodes
    ]
    print_table([_HEADER, *rows])
    print(counted(len(rows), "node"))
    for difference in differences:
        print(f"problem: {difference}")
    return status
