"""``answerd render``: the answer to a request, and on demand where each line came from and how it came about."""

from __future__ import annotations

import sys
from pathlib import Path

from answerd import captures
from answerd.answers.near_misses import with_hints
from answerd.answers.provenance import Placing, explained, explanation, origins
from answerd.answers.reasoning import reasoning
from answerd.answers.resolve import Answer, resolve
from answerd.commands import Arguments, CommandError
from answerd.commands.common import configured_store, read_bytes
from answerd.commands.terminal import plain, print_json
from answerd.errors import AnswerError
from answerd.facts import Facts, Request
from answerd.store.loader import loaded
from answerd.validators import Tools, validate


def render(arguments: Arguments) -> int:
    """Print the answer to a request that is described by the arguments."""
    if arguments["--json"] and not arguments["--explain"]:
        raise CommandError("--json goes with --explain: the answer itself is printed as it is")
    replayed = arguments["--replay"]
    facts = Facts(captures.read(Path(replayed)).request if replayed else request_of(arguments))
    catalogue = loaded(configured_store())
    if arguments["--why"]:
        for line in reasoning(catalogue, facts).lines():
            print(plain(line), file=sys.stderr)
    try:
        answer = resolve(catalogue, facts)
    except AnswerError as error:
        raise CommandError(with_hints(error, facts)) from None
    print(f"# {plain(answer.composition)}", file=sys.stderr)
    if arguments["--explain"] or arguments["--why"]:
        _judge(answer, facts)
    if not arguments["--explain"]:
        sys.stdout.buffer.write(answer.body)
    elif arguments["--json"]:
        print_json(explanation(answer))
    else:
        sys.stdout.buffer.write(explained(answer).encode())
    return 0


def _judge(answer: Answer, facts: Facts) -> None:
    """Tell what the built-in rules find in the answer, by the release of the installer that asks where it says so."""
    if answer.side_file:
        return
    release, product = facts.first("iso.release"), facts.first("product.product")
    text = answer.body.decode()
    verdict = validate(text, answer.format.extension, release=release, product=product, tools=Tools.none())
    found = origins(answer) if verdict.findings or verdict.warnings else ()
    placing = Placing(answer, found)
    for kind, findings in (("invalid", verdict.findings), ("warning", verdict.warnings)):
        for finding in findings:
            where = placing.placed(finding.message, finding.path, finding.line)
            print(f"# {kind}: {plain(where)}", file=sys.stderr)


def request_of(arguments: Arguments) -> Request:
    """The request that ``render``'s arguments describe. Raises `CommandError`."""
    pieces = [piece for piece in _native(arguments["--query"] or "").split("&") if piece]
    paths = [piece.partition("=")[2] for piece in pieces if piece.partition("=")[0] == "path"]
    headers = []
    for header in arguments["--header"]:
        name, colon, value = _native(header).partition(":")
        if not colon or not name.strip():
            raise CommandError(f"--header {header!r} is not 'Name: value'")
        headers.append((name.strip().lower(), value.strip()))
    return Request(
        path=paths[0] if paths else "/",
        query="&".join(piece for piece in pieces if piece.partition("=")[0] != "path"),
        headers=headers,
        body=read_bytes(arguments["--body"]) if arguments["--body"] else b"",
        identities=[arguments["<id>"]] if arguments["<id>"] else [],
    )


def _native(text: str) -> str:
    """Text of the command line as requests bring it: UTF-8 bytes as Latin-1 characters."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
