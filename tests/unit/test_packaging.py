"""What the package declares and ships agrees with what its code imports and its settings are."""

import ast
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import answerd
from answerd.config import SETTINGS, EnvFile, Setting, describe, read_config

CHECKOUT = Path(__file__).parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
DECLARED = {
    group: [Requirement(text) for text in texts]
    for group, texts in {"runtime": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}.items()
}
DISTRIBUTIONS = metadata.packages_distributions()


def names(*groups: str) -> set[str]:
    """Canonical names of what these groups of pyproject.toml declare."""
    return {canonicalize_name(requirement.name) for group in groups for requirement in DECLARED[group]}


def modules_of(node: ast.AST) -> list[str]:
    """The top-level modules that an import statement names; none for anything else and for relative imports."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.partition(".")[0]]
    return []


def distributions_of(module: str) -> set[str]:
    """Canonical names of the installed distributions that provide a top-level module; the module's own name where none
    does, as of the extra "loadtest", which the tests do without."""
    return {canonicalize_name(name) for name in DISTRIBUTIONS.get(module, [module])}


def test_nothing_of_an_extra_is_imported_at_the_top_of_a_module() -> None:
    """The service starts where no extra is installed."""
    optional = names("validators") - names("runtime")
    found = [
        (str(path.relative_to(CHECKOUT)), module)
        for path in (CHECKOUT / "answerd").rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        for module in modules_of(node)
        if distributions_of(module) & optional
    ]
    assert found == []


def test_the_version_is_semantic_and_readable_as_text() -> None:
    text = (CHECKOUT / "answerd" / "__init__.py").read_text("utf-8")
    assert re.findall(r'^__version__ = "([^"]+)"$', text, re.MULTILINE) == [answerd.__version__]
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", answerd.__version__)


ENV_FILE_TEXT = (CHECKOUT / "etc" / "answerd.env").read_text("utf-8")
ENV_FILE_LINES = dict(re.findall(r"^#(SERVICE_[A-Z_]+)=(.*)$", ENV_FILE_TEXT, re.MULTILINE))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_the_sample_environment_file_shows_the_setting_with_its_default(setting: Setting) -> None:
    assert setting.default in (None, ENV_FILE_LINES[setting.name])


def test_the_sample_environment_file_names_no_setting_that_does_not_exist() -> None:
    assert set(re.findall(r"\bSERVICE_[A-Z_]*[A-Z]", ENV_FILE_TEXT)) == {setting.name for setting in SETTINGS}


def test_the_sample_environment_file_changes_nothing_as_it_is() -> None:
    file = EnvFile(ENV_FILE_TEXT.encode(), 0o100640)
    config = read_config({"SERVICE_ENV_FILE": "/etc/answerd.env"}, lambda path: file)
    assert config.warnings == ()
    assert [row[:2] for row in describe(config)[:-1]] == [row[:2] for row in describe(read_config({}))[:-1]]
