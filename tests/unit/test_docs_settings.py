"""docs/configuration.md knows every setting, with its default and choices, and no setting that does not exist."""

import re
from pathlib import Path

import pytest

from answerd import config
from answerd.config import SETTINGS, EnvFile, Setting, read_config

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
ROWS = {
    name: (default.strip(), meaning)
    for name, default, meaning in re.findall(r"^\| `(SERVICE_\w+)` \| ([^|]+) \| (.+) \|$", PAGE, re.MULTILINE)
}


NEEDED = re.findall(r"^\| `(SERVICE_\w+)` \| [^|]+ \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
"""Each setting with those who need it."""


def by_name(setting: Setting) -> str:
    return setting.name


@pytest.mark.parametrize("setting", SETTINGS, ids=by_name)
def test_the_table_has_the_setting_with_its_default(setting: Setting) -> None:
    default, _ = ROWS[setting.name]
    assert default == (f"`{setting.default}`" if setting.default is not None else "unset")


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting.choices], ids=by_name)
def test_the_table_has_every_choice_of_the_setting(setting: Setting) -> None:
    _, meaning = ROWS[setting.name]
    assert [choice for choice in setting.choices if f"`{choice}`" not in meaning] == []


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [
        ("SERVICE_WORKERS", config.MOST_WORKERS),
        ("SERVICE_MAX_CONNECTIONS", config.MOST_CONNECTIONS),
        ("SERVICE_TIMEOUT_SECS", config.LONGEST_TIMEOUT),
        ("SERVICE_ADMIN_TIMEOUT_SECS", config.LONGEST_TIMEOUT),
        ("SERVICE_DRAIN_SECS", config.LONGEST_TIMEOUT),
    ],
)
def test_the_table_has_the_ceiling_of_the_number(name: str, ceiling: int) -> None:
    assert f"at most {ceiling:,}" in ROWS[name][1]
    assert read_config({name: str(ceiling)}).warnings == ()
    assert len(read_config({name: str(ceiling + 1)}).warnings) == 1


def test_the_page_names_no_setting_that_does_not_exist() -> None:
    known = {setting.name for setting in SETTINGS}
    assert set(ROWS) == known
    assert set(re.findall(r"\bSERVICE_[A-Z_]*[A-Z]", PAGE)) == known


def test_each_setting_is_in_one_group_with_those_who_need_it() -> None:
    assert sorted(name for name, _ in NEEDED) == sorted(setting.name for setting in SETTINGS)
    assert f"There are {len(SETTINGS)} settings" in PAGE


def test_the_example_of_an_environment_file_is_read_without_a_warning() -> None:
    [example] = re.findall(r"```sh\n(# /etc/answerd\.env.+?)```", PAGE, re.DOTALL)
    file = EnvFile(example.encode(), 0o100640)
    example_config = read_config({"SERVICE_ENV_FILE": "/etc/answerd.env"}, lambda path: file)
    assert example_config.warnings == ()
    assert example_config.store == "sqlite"
    assert example_config.db_path == "/var/lib/answerd/answers.db"
    assert str(example_config.admin) == "127.0.0.1:8001"
    assert example_config.admin_tokens == ("replace-me-with-a-long-random-text",)
