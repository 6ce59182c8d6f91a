"""docs/limits.md and docs/http.md have the limits that the code has."""

from __future__ import annotations

import pytest

from answerd import captures, documents, errors, identity, write_guard
from answerd.answers import catalogue, compose, inventory_index
from answerd.formats import control, family, filters, jinja, jinja_words, template, xml_read, yaml_read
from answerd.inventory import meaning, records
from answerd.inventory import row as inventory_row
from answerd.server import answer_app, capture, request_log
from answerd.server.admin import changes, requests
from answerd.server.http import bodies, handler, parser, server
from answerd.store import secrets
from answerd.validators import tools, verdict
from tests.support.pages import page, rows

TABLE = {cells[0]: cells[1] for name in ("http", "limits") for cells in rows(page(name), 3)}


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("document, in every store", f"{documents.LARGEST_DOCUMENT:,} bytes"),
        ("inventory, in every store", f"{documents.LARGEST_INVENTORY:,} bytes"),
        ("document through the admin API", f"{requests.DOCUMENT_LIMIT:,} bytes"),
        ("inventory through the admin API", f"{requests.INVENTORY_LIMIT:,} bytes"),
        ("problems of one inventory's rows that are listed", f"{inventory_index.MOST_FAULTS} rows"),
        ("values of `shared` with `*` or `?` in one document", f"{meaning.MOST_PATTERNS} values"),
        ("a row of an inventory, or a comment in it", f"{records.LONGEST_ROW:,} characters"),
        ("columns of an inventory", f"{records.MOST_COLUMNS:,} columns"),
        ("addresses of one `mac` cell", f"{inventory_row.MOST_ADDRESSES:,} addresses"),
        ("body of `POST /apply`", f"{changes.BODY_LIMIT:,} bytes"),
        (
            "body of `POST /apply` from a role below `admin`, which may only try",
            f"{changes.DRY_RUN_LIMIT:,} bytes",
        ),
        ("documents of one `POST /apply`", f"{changes.MOST_DOCUMENTS:,}"),
        ("lines of the inventories of a dry run", f"{write_guard.MOST_ROWS_TRIED:,} lines"),
        ("the documents of one answer that a dry run compares, together", f"{compose.MOST_LOOKED_AT:,} characters"),
        ("the diffs in the response to a dry run, together", f"{changes.DIFF_CHARACTERS:,} characters"),
        ("identifier", f"{identity.IDENTIFIER_LENGTH} characters"),
        ("nesting (TOML, YAML, JSON, XML)", f"{family.DEEPEST} levels"),
        ("the expansion of all aliases of a YAML document together", f"{yaml_read.MOST_ALIASED:,} nodes"),
        ("`%TAG` directives of a YAML document", f"{yaml_read.MOST_TAG_DIRECTIVES} directives"),
        ("attributes that a doctype declares", f"{xml_read.MOST_DECLARED} attributes"),
        ("a namespace in XML", f"{xml_read.LONGEST_NAMESPACE} characters"),
        ("a label or a pattern of `match`", f"{control.LONGEST_PATTERN:,} characters"),
        (
            "groups of one answer: the group that applies and those that it extends",
            f"{catalogue.MOST_GROUPS} groups",
        ),
        ("filters of a placeholder", f"{template.MOST_FILTERS} filters"),
        ("a document that [Jinja](templates.md#jinja) fills", f"{jinja.LONGEST:,} characters"),
        ("tags of such a document: `{{` and `{%`", f"{jinja.MOST_TAGS:,} tags"),
        ("levels of an expression", f"{jinja.DEEPEST_EXPRESSION} levels"),
        ("statements within each other", f"{jinja.DEEPEST_STATEMENT} statements"),
        ("turns of loops and calls of macros of one text", f"{jinja_words.MOST_TURNS:,} turns"),
        ("what one operator or filter of it makes or looks through", f"{jinja_words.MOST_AT_ONCE:,} characters"),
        (
            "a value of a filter that placeholders have too, or of `float`, and a name that is looked for in a map",
            f"{filters.LONGEST_FILTERED:,} characters",
        ),
        ("numbers of a `range`, and items of a list", f"{jinja_words.MOST_ITEMS:,}"),
        ("an integer", f"{jinja_words.LARGEST_NUMBER} bits"),
        (
            "what one text makes and looks through; each part of an expression counts "
            f"{jinja_words.FOR_EACH_PART} characters each time, a call of a filter and what a tag writes "
            f"{jinja_words.FOR_EACH_CALL}, an item of a list {jinja_words.FOR_EACH_ITEM}",
            f"{jinja_words.MOST_WORK:,} characters",
        ),
        (
            "what filters make of a literal text, unless that is no more than "
            f"{template.MOST_TIMES_LONGER} times as long as it is written",
            f"{template.LONGEST_LITERAL:,} characters",
        ),
        ("a secret", f"{secrets.LARGEST_SECRET:,} bytes"),
        ("text that the filter `slug` makes", f"{len(filters.FILTERS['slug']('x' * 999))} characters"),
        ("text that the filters `replace` and `join` make", f"{filters.LONGEST_FILTERED:,} characters"),
        (
            "text that the filter `replace` makes of all values of a label together",
            f"{filters.MOST_REPLACED:,} characters",
        ),
        (
            "filters of a document; those of addresses, `replace`, `base64` and `urlencode` count for "
            f"{filters.COST['host']}, and each counts {filters.COST_OF_ALL_VALUES} times as much where its placeholder "
            f"takes all values of a label, and {filters.COST_OF_GROWN_VALUES} times as much after a `replace` by a "
            "longer text",
            f"{template.MOST_WORK:,} filters",
        ),
        ("values that the filter `split` makes", f"{filters.MOST_PIECES:,} values"),
        ("problems of one document that are listed", f"{errors.MOST_PROBLEMS} problems"),
        ("findings of one answer that are listed, and warnings", f"{verdict.MOST_REMARKS} findings"),
        ("one message of a validator", f"{verdict.MESSAGE_LIMIT} characters"),
        ("time of an installer's own program", f"{tools.TIMEOUT_SECONDS:g} seconds"),
        (
            "request targets and reasons in the log",
            f"{request_log.MAX_TARGET:,} and {request_log.MAX_OUTCOME} characters",
        ),
        ("captures in the directory", f"{captures.MOST_CAPTURES:,} captures"),
        ("captures that wait to be written", f"{capture.MOST_WAITING} captures"),
        ("bodies of captures that wait to be written", f"{capture.MOST_BYTES_WAITING:,} bytes"),
        ("request line, without its line end", f"{parser.MAX_REQUEST_LINE:,} bytes"),
        ("header lines with their line ends", f"{parser.MAX_HEADER_BLOCK:,} bytes"),
        ("body, without the framing of chunks", f"{answer_app.LARGEST_BODY:,} bytes"),
        (
            "chunked body with its framing, extensions and trailers",
            f"6 times the limit of the body, and {bodies.OVERHEAD_ALLOWED:,} bytes",
        ),
        (
            "what a client sends after its response",
            f"{server.LINGER_SECONDS:g} seconds or {handler.LINGER_BYTES:,} bytes",
        ),
    ],
)
def test_a_limit_is_that_of_the_code(what: str, limit: str) -> None:
    assert TABLE[what] == limit


def test_the_bounds_of_clients_that_are_still_sending_are_those_of_the_code() -> None:
    text = page("http")
    assert f"- for {server.LINGER_SECONDS:g} seconds or {handler.LINGER_BYTES:,} bytes" in text
    assert f"at most {server.Limits().max_lingering:,} connections" in text
