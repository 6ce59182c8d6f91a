"""How long files and functions of the package may be (CONTRIBUTING.md): parts that a reader can take in at once.

An exception is named here, and its file says in its first docstring why.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "answerd"

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 50

LONG_FILES = {
    "config.py",
    "facts.py",
    "installs/states.py",
    "json_body.py",
    "server/connection.py",
}
LONG_FUNCTIONS = {("json_body.py", "_walk"), ("server/listener.py", "__init__")}


def source(path: str) -> str:
    return (PACKAGE / path).read_text(encoding="utf-8")


def functions_of(text: str) -> list[tuple[str, int]]:
    """The functions of a module with their lengths in lines, without decorators."""
    return [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_no_other_file_is_long() -> None:
    lengths = {path: len(source(path).splitlines()) for path in FILES if path not in LONG_FILES}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES_OF_A_FILE} == {}


def test_no_other_function_is_long() -> None:
    too_long = {
        (path, name): lines
        for path in FILES
        for name, lines in functions_of(source(path))
        if lines > MOST_LINES_OF_A_FUNCTION and (path, name) not in LONG_FUNCTIONS
    }
    assert too_long == {}


@pytest.mark.parametrize("path", sorted(LONG_FILES))
def test_a_long_file_says_why(path: str) -> None:
    assert f"More than {MOST_LINES_OF_A_FILE} lines, because" in (ast.get_docstring(ast.parse(source(path))) or "")


@pytest.mark.parametrize(("path", "name"), sorted(LONG_FUNCTIONS))
def test_the_file_of_a_long_function_says_why(path: str, name: str) -> None:
    head = " ".join((ast.get_docstring(ast.parse(source(path))) or "").split())
    assert f"{name}` has more than {MOST_LINES_OF_A_FUNCTION} lines:" in head


def test_every_module_with_annotations_postpones_them() -> None:
    """So that all annotations are written without quotes."""
    annotated = [path for path in FILES if any(isinstance(node, ast.arg) for node in ast.walk(ast.parse(source(path))))]
    missing = [path for path in annotated if "\nfrom __future__ import annotations\n" not in source(path)]
    assert missing == []
