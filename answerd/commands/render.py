"""The answer to a request; how it came about on stderr.

Usage:
  answerd render [<id>] [--format EXT] [--body FILE] [--query QUERY]
                 [--header HEADER]... [--dir DIR] [--state S] [--why]
                 [--explain] [--json]
  answerd render --replay META [--dir DIR] [--state S] [--why] [--explain]
                 [--json]

Resolves a request exactly as the server would. <id> is an identifier of the
machine that asks; beside a query or body it is one more. Alone it comes with
what the machine last said to the service, and stderr says when that was
(docs/check.md#what-machines-last-said). Nothing at all is an empty request: the
default answers, if there is one.

The answer goes to standard output, byte for byte. For what --why and --explain
print, see docs/explain.md.

Options:
  --format EXT     The format that is asked for, as a URL segment would: an
                   extension or an alias, such as ks or rhel. It is put before
                   the path of a query.
  --body FILE      The request's body; "-" is standard input. A form needs
                   the header Content-Type.
  --query QUERY    The request's query; path= in it is the URL's path:
                   "path=/rhel/ks&serial=7ABC123". Without a path no
                   format is asked for, unless --format is given.
  --header HEADER  A header of the request, "X-System-Serial-Number: 7ABC123";
                   may be given several times.
  --replay META    A recorded request, by its name in the list of answerd
                   captures or the path of its .meta file.
  --dir DIR        The directory of documents, in place of the store of the
                   settings.
  --state S        The state that the machine's install is assumed to have;
                   without it, armed
                   (docs/install-once.md#answers-that-are-only-tried).
  --why            Tell on stderr each claim that was considered and why it won
                   or lost.
  --explain        Tell for each key or line the document it came from.
  --json           With --explain: for programs. The same as --explain=json.
  -h --help        This text.

Exit status:
  0  there is an answer
  1  nothing applies or the answer cannot be made; the reason is on stderr
  2  the command line is wrong, or a file on it is not there

Examples:
  # Show the kickstart of a machine.
  answerd render 98:fa:9b:50:d8:10 --format ks
  # Show what a URL gets, and why that document won.
  answerd render --query 'path=/pve/answer&mac=98:fa:9b:50:d8:10' --why
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from answerd import captures
from answerd.answers.answer_secrets import known_values, redacted_answer
from answerd.answers.catalogue import Catalogue
from answerd.answers.explain import Placing, explained, explanation, origins
from answerd.answers.last_words import last_contact, words_of
from answerd.answers.near_misses import with_hints
from answerd.answers.resolve import Answer, resolve
from answerd.answers.sources import Sources
from answerd.answers.why import reasoning
from answerd.commands import WRONG_USAGE, Arguments, CommandError
from answerd.commands.captures import capture_named
from answerd.commands.documents import configured_sources, last_words, read_documents
from answerd.commands.terminal import print_json, say
from answerd.commands.values import read_bytes, state_named
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.formats import ALIASES, FORMATS, GRUB, GRUB_FILE, PXELINUX, PXELINUX_DIRECTORY
from answerd.installs.sentences import moment, shown_name
from answerd.installs.states import State
from answerd.store import Store
from answerd.suggestion import did_you_mean
from answerd.validators import Tools, validate


def run(arguments: Arguments) -> int:
    if arguments["--json"] and not arguments["--explain"]:
        raise CommandError("--json goes with --explain: the answer itself is printed as it is", WRONG_USAGE)
    replayed = arguments["--replay"]
    request = captures.read(capture_named(replayed)).request if replayed else request_of(arguments)
    state = state_named(arguments["--state"]) if arguments["--state"] is not None else State.ARMED
    store, catalogue = read_documents(arguments["--dir"])
    request = _with_last_words(request, arguments, store, catalogue)
    facts = Facts(request)
    sources = configured_sources(state, by_directory=bool(arguments["--dir"]))
    if arguments["--why"]:
        for line in reasoning(catalogue, facts, sources=sources).lines():
            say(line)
    try:
        answer = resolve(catalogue, facts, sources=sources)
    except AnswerError as error:
        raise CommandError(with_hints(error, facts.knowing(catalogue.shared))) from None
    say(f"# {answer.composition}")
    if arguments["--explain"] or arguments["--why"]:
        _judge(answer, facts, catalogue, sources)
    if not arguments["--explain"] or answer.refusal:
        sys.stdout.buffer.write(answer.body)
        return 0
    shown = redacted_answer(catalogue, answer, facts, sources)
    if arguments["--json"]:
        print_json(explanation(answer, catalogue.inventory, shown))
    else:
        sys.stdout.buffer.write(explained(answer, catalogue.inventory, shown).encode())
    return 0


def _with_last_words(request: Request, arguments: Arguments, store: Store, catalogue: Catalogue) -> Request:
    """Return a request with what its machine last said, where only its name is given. Prints when that was."""
    name = arguments["<id>"]
    if not name or any(arguments[option] for option in ("--body", "--query", "--header", "--replay", "--dir")):
        return request
    contact = last_contact(catalogue, Facts(request), name, partial(last_words, store))
    if contact is None:
        return request
    say(f"# with what {shown_name(contact.machine)} last said on {moment(contact.at)}")
    return replace(request, told=words_of(contact))


def _judge(answer: Answer, facts: Facts, catalogue: Catalogue, sources: Sources) -> None:
    """Print what the built-in rules find in the answer, by the release of the installer that asks where it says so."""
    if answer.side_file or answer.refusal:
        return
    release, product = facts.first("iso.release"), facts.first("product.product")
    text = answer.body.decode()
    verdict = validate(
        text,
        answer.format.extension,
        release=release,
        product=product,
        tools=Tools.none(),
        secrets=lambda: known_values(catalogue, answer, facts, sources),
    )
    placing = Placing(answer, origins(answer, catalogue.inventory) if verdict.findings or verdict.warnings else ())
    for kind, findings in (("invalid", verdict.findings), ("warning", verdict.warnings)):
        for finding in findings:
            say(f"# {kind}: {placing.placed(finding.message, finding.path, finding.line)}")


def request_of(arguments: Arguments) -> Request:
    """Return the request that ``render``'s arguments describe. Raises `CommandError`."""
    pieces = [piece for piece in _native(arguments["--query"] or "").split("&") if piece]
    paths = [piece.partition("=")[2] for piece in pieces if piece.partition("=")[0] == "path"]
    headers = []
    for header in arguments["--header"]:
        name, colon, value = _native(header).partition(":")
        if not colon or not name.strip():
            raise CommandError(f"--header {header!r} is not 'Name: value'", WRONG_USAGE)
        headers.append((name.strip().lower(), value.strip()))
    path = paths[0] if paths else "/"
    if arguments["--format"]:
        path = _path_of(arguments["--format"], path if paths else "")
    return Request(
        path=path,
        query="&".join(piece for piece in pieces if piece.partition("=")[0] != "path"),
        headers=headers,
        body=read_bytes(arguments["--body"]) if arguments["--body"] else b"",
        identities=[arguments["<id>"]] if arguments["<id>"] else [],
    )


_FILES = {PXELINUX: f"{PXELINUX_DIRECTORY}/default", GRUB: GRUB_FILE}
"""The file that a loader asks for last. No word asks for its format."""


def _path_of(name: str, path: str) -> str:
    """Return a path that asks for a format. Raises `CommandError`."""
    asked = name.lower().lstrip(".")
    if asked in _FILES:
        return f"{path.rstrip('/')}/{_FILES[asked]}"
    alias = "preseed" if asked == "seed" else asked  # an extension that is no segment
    if alias not in ALIASES:
        near = did_you_mean(asked, [*FORMATS, *ALIASES], shown=str)
        raise CommandError(f"--format {name!r} is no format{near}; there are {', '.join(FORMATS)}", WRONG_USAGE)
    return f"/{alias}{path}"


def _native(text: str) -> str:
    """Return a text of the command line in the form of a request: UTF-8 bytes as Latin-1 characters."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
