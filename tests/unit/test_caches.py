"""Every cache has a bound, and a row in the table of docs/architecture.md."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import answerd
from answerd.formats import family, template_reading, yaml_nodes
from answerd.formats.template import Placeholder
from answerd.memo import remembered
from answerd.server import header_block, wsgi
from answerd.server.http_parser import RequestReader

ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"
MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(answerd.__path__, "answerd.")
    if found.name != "answerd.__main__"
]
EMPTY = ("dict", "set", "list", "deque", "OrderedDict", "defaultdict", "Counter", "WeakKeyDictionary", "WeakSet",
         "WeakValueDictionary")  # fmt: skip
NO_CACHES = {
    "answerd.store.installs._STORES": "the states of this process, to be closed before a fork",
    "answerd.store.sqlite._STORES": "the stores of this process, to be closed before a fork",
    "answerd.server.answer_app._readers": "the one thread that reads large bodies",
    "answerd.formats.family.NO_BRANCHES": "what is taken out where nothing is: stays empty",
}
"""Containers of modules that are filled while the program runs, and hold nothing that could be dropped."""


def in_table() -> set[str]:
    """The names of the first column."""
    text = ARCHITECTURE.read_text("utf-8").partition("| cache | keeps | bound | dropped |")[2].partition("\n\n")[0]
    return {name for line in text.splitlines() for name in re.findall(r"`(answerd\.[\w.]+)`", line)}


def kept_by_functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The caches of functions that a module itself makes, by name."""
    for name, value in vars(module).items():
        cache = getattr(value, "cache", value)
        is_imported = value.__module__ != module.__name__ if hasattr(value, "__module__") else False
        is_assigned = re.search(rf"^{name}(: Final)? = ", source_of(module), re.MULTILINE)
        if hasattr(cache, "cache_parameters") and (is_assigned or not is_imported):
            yield f"{module.__name__}.{name}", cache


def source_of(module: ModuleType) -> str:
    assert module.__file__
    path = Path(module.__file__)  # a compiled module has its source beside it
    return (path.parent / f"{path.name.partition('.')[0]}.py").read_text("utf-8")


def filled_later(module: ModuleType) -> Iterator[str]:
    """Containers of a module that begin empty: they can only be there to be filled."""
    for statement in ast.parse(source_of(module)).body:
        if (
            isinstance(statement, ast.Assign | ast.AnnAssign)
            and statement.value is not None
            and is_empty(statement.value)
        ):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from (f"{module.__name__}.{target.id}" for target in targets if isinstance(target, ast.Name))


def is_empty(value: ast.expr) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.List | ast.Set):
        return not value.elts
    function = value.func if isinstance(value, ast.Call) and not value.args else None
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in EMPTY


CACHES = {name: cache for module in MODULES for name, cache in kept_by_functions(module)}


def test_the_caches_of_functions_are_found() -> None:
    assert {"answerd.facts._address_identity", "answerd.formats.family.slot_of"} <= CACHES.keys()
    assert len(CACHES) >= 10


@pytest.mark.parametrize("name", CACHES)
def test_the_cache_of_a_function_has_a_bound_and_a_row(name: str) -> None:
    assert CACHES[name].cache_parameters()["maxsize"] is not None
    assert name in in_table()


def test_every_container_of_a_module_that_is_filled_later_has_a_row() -> None:
    found = {name for module in MODULES for name in filled_later(module)}
    assert "answerd.server.header_block._known_names" in found
    assert found - in_table() - NO_CACHES.keys() == set()


def test_every_row_is_about_something_that_is_there() -> None:
    assert len(in_table()) > 20
    for name in in_table():
        module, _, attribute = name.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), attribute), name
        except ModuleNotFoundError:
            module, _, owner = module.rpartition(".")
            assert hasattr(importlib.import_module(module), owner), name
            assert re.search(rf"\b{attribute}\b", source_of(importlib.import_module(module))), name


# --- in size too ----------------------------------------------------------------------------------------------------


def test_a_call_with_a_large_argument_is_not_kept() -> None:
    calls = []

    @remembered(2, len, 3)
    def doubled(text: str) -> str:
        calls.append(text)
        return text * 2

    assert [doubled(text) for text in ("abc", "abc", "abcd", "abcd")] == ["abcabc", "abcabc", "abcdabcd", "abcdabcd"]
    assert calls == ["abc", "abcd", "abcd"]


LARGE = "x" * 5_000
FILLED: dict[str, tuple[Any, Callable[[], object]]] = {
    "a placeholder": (template_reading._read, lambda: template_reading._read(f'{{{{ a | default("{LARGE}") }}}}')),
    "a text with a placeholder": (
        template_reading._read_before,
        lambda: template_reading._read_before(LARGE + "{{ a }}", False, False),
    ),
    "a slot": (family.slot_of, lambda: family.slot_of(Placeholder("a", (("default", (LARGE,)),)), str)),
    "a typed slot": (
        family.typed_slot_of,
        lambda: family.typed_slot_of(Placeholder("a", (("default", (LARGE,)),)), str),
    ),
    "lengths at a large placeholder": (
        family._shared_layout,
        lambda: family._shared_layout((family.slot_of(Placeholder("a", (("default", (LARGE,)),)), str),), (1, 1)),
    ),
    "a scalar": (yaml_nodes._resolved, lambda: yaml_nodes._resolved(LARGE)),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_large_text_of_a_document_is_not_kept_for_others(name: str) -> None:
    function, call = FILLED[name]
    cache: Any = function.cache
    before = cache.cache_info().currsize
    call()
    assert cache.cache_info().currsize == before


def read_header(line: bytes) -> None:
    reader = RequestReader(1_000)
    reader.receive(b"GET / HTTP/1.1\r\nHost: s\r\n" + line + b"\r\n\r\n")
    assert reader.request
    wsgi.keys_of(reader.request.header)


def test_what_clients_send_fills_no_cache_beyond_its_bound() -> None:
    caches: list[dict[Any, Any]] = [
        header_block._known_names,
        header_block._validated_blocks,
        wsgi._known_heads,
        wsgi._keys_of_blocks,
    ]
    for cache in caches:
        cache.clear()
    for number in range(2_000):
        read_header(b"x-%d: %d" % (number, number))
        wsgi._head("200 OK", [("ETag", str(number))], 1, False)
    read_header(b"y" * 5_000 + b": 1")
    read_header(b"Final: 1")
    names, blocks = header_block._known_names, header_block._validated_blocks
    assert (len(names) <= 512, len(blocks) <= 512, len(wsgi._known_heads) <= 256) == (True, True, True)
    assert 0 < len(wsgi._keys_of_blocks) <= 512
    assert all(header.is_kept for header in wsgi._keys_of_blocks)
    assert max(map(len, names)) <= 64
    assert b"Final" in names  # a full table makes room
    assert max(len(block) for _, block in blocks) <= 1_024


def test_random_headers_are_read_the_same_from_a_full_table() -> None:
    rng = random.Random(3)
    for _ in range(1_500):
        name = "".join(rng.choices("aBcDe-", k=rng.randrange(1, 80)))
        assert header_block._name(name.encode()) == name.lower()
