"""What answerd is called, what it needs and what it installs. Settings of the tools stand in pyproject.toml.

A range begins at the oldest release that the test command has been run with and ends before the next major one;
requirements.txt pins the exact releases of the last run. RUNTIME and EXTRAS stay literals: a test reads them without
running this file.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup

RUNTIME = [
    "gevent>=26.9,<27",  # the server's loop; the listener builds on its WSGIServer
    "greenlet>=3.5,<4",  # what gevent's loop switches between; the listener names its types
    "httptools>=0.9,<0.10",  # llhttp, which parses requests
    "bottle>=0.13.4,<0.14",  # the two apps
    "orjson>=3.13,<4",  # request bodies
    "peewee>=4.5,<5",  # the SQLite store
    "inotify_simple>=2.0.1,<3",  # change notification of the file store
    "tomli>=2.3.2,<2.4",  # TOML 1.0, compiled; later ones read TOML 1.1, which installers do not
    "PyYAML>=6.0.3,<7",  # YAML at node level, through libyaml
    "docopt-ng>=0.9,<0.10",  # the command line
    "prometheus_client>=0.22,<1",  # the text of /metrics
    "xmltodict>=1.0.4,<2",  # what lshw and virsh print
    "tomlkit>=0.15.2,<0.16",  # writes TOML that people go on editing: keeps comments and layout
    "tqdm>=4.70,<5",  # progress of long checks and imports on a terminal
]

EXTRAS = {
    "validators": [
        "pykickstart>=3.78,<4",
    ],
    "postgres": [
        "psycopg[binary]>=3.3.6,<4",  # the PostgreSQL store; its waits can be bounded since 3.3.6
    ],
    "test": [
        "hypothesis>=6.170,<7",
        "import-linter>=2.16,<3",
        "locust>=2.47,<3",
        "mypy>=2.4,<3",
        "openapi-python-client>=0.29,<0.30",  # generates a client from the admin API's description
        "packaging>=26",
        "psutil>=7.2,<8",
        "psycopg[binary]>=3.3.6,<4",
        "pykickstart>=3.78,<4",
        "pytest>=9.2,<10",
        "pytest-xdist>=3.8,<4",  # three tests at a time, by scripts/test
        "ruamel.yaml>=0.19,<0.20",
        "ruff>=0.17.5,<0.18",
        "schemathesis>=4.32,<5",
        "setuptools>=61",  # builds the modules that scripts/test compiles
        "types-docopt",
        "types-gevent",
        "types-psutil",
        "types-PyYAML",
        "types-tqdm",
        "types-xmltodict",
    ],
    "browser": [
        "playwright>=1.65,<2",  # drives Chromium in the tests of the console
    ],
    "docs": [
        "mkdocs>=1.6.1,<2",  # builds the documentation as a site
        "mkdocs-material>=9.8,<10",
    ],
    "loadtest": [
        "locust>=2.47,<3",
        "matplotlib>=3.11,<4",
        "psycopg[binary]>=3.3.6,<4",  # the group "nodes" of the benchmark
    ],
}

COMPILED = [
    "answerd/answers/catalogue.py",
    "answerd/answers/compose.py",
    "answerd/answers/copy_on_write.py",
    "answerd/answers/gates.py",
    "answerd/answers/members.py",
    "answerd/answers/ranking.py",
    "answerd/answers/resolve.py",
    "answerd/answers/row_facts.py",
    "answerd/answers/rows.py",
    "answerd/answers/select.py",
    "answerd/answers/selectors.py",
    "answerd/answers/sources.py",
    "answerd/answers/visitors.py",
    "answerd/answers/warming.py",
    "answerd/documents.py",
    "answerd/errors.py",
    "answerd/facts.py",
    "answerd/formats/__init__.py",
    "answerd/formats/control.py",
    "answerd/formats/family.py",
    "answerd/formats/filters.py",
    "answerd/formats/meter.py",
    "answerd/formats/plain.py",
    "answerd/formats/template.py",
    "answerd/formats/template_reading.py",
    "answerd/formats/toml_family.py",
    "answerd/identity.py",
    "answerd/installs/memory.py",
    "answerd/installs/sharded.py",
    "answerd/installs/states.py",
    "answerd/inventory/rows.py",
    "answerd/json_body.py",
    "answerd/memo.py",
    "answerd/server/accepting.py",
    "answerd/server/access.py",
    "answerd/server/admission.py",
    "answerd/server/answer_app.py",
    "answerd/server/answering.py",
    "answerd/server/channel.py",
    "answerd/server/connection.py",
    "answerd/server/counters.py",
    "answerd/server/deadlines.py",
    "answerd/server/exchange.py",
    "answerd/server/header_block.py",
    "answerd/server/http_parser.py",
    "answerd/server/installs.py",
    "answerd/server/listener.py",
    "answerd/server/memory.py",
    "answerd/server/metrics.py",
    "answerd/server/peer.py",
    "answerd/server/probes.py",
    "answerd/server/request_log.py",
    "answerd/server/serving.py",
    "answerd/server/wsgi.py",
    "answerd/store/layout.py",
    "answerd/store/reading.py",
    "answerd/store/scan.py",
    "answerd/store/secret_set.py",
]
"""What a request runs through, and what prepares answers: compiled where ANSWERD_COMPILE=1.

Rules: docs/performance.md#the-compiled-build."""

HERE = Path(__file__).resolve().parent


def version() -> str:
    """The package's version, read as text: importing the package would need what it depends on."""
    found = re.search(r'^__version__ = "([^"]+)"$', (HERE / "answerd" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit('setup.py: answerd/__init__.py has no line __version__ = "..."')
    return found.group(1)


def readme() -> str:
    """The text for the package's page; a source tree without a README still installs."""
    path = HERE / "README.md"
    return path.read_text("utf-8") if path.exists() else ""


def extensions() -> list[Any]:
    """The compiled modules of a build that is to have them. The settings of mypy are not the checkout's: a build knows
    nothing of the packages that the service runs with."""
    if os.environ.get("ANSWERD_COMPILE") != "1" or "bdist_wheel" not in sys.argv:
        return []
    from mypyc.build import mypycify  # noqa: PLC0415 - only such a build has it

    level = os.environ.get("ANSWERD_COMPILE_LEVEL", "3")  # of optimization; scripts/test compiles quickly with 0
    arguments = ["--config-file=", "--ignore-missing-imports", *COMPILED]
    built: list[Any] = mypycify(arguments, opt_level=level, debug_level="0")
    for extension in built:
        # In one file of 20 MB, gcc spends four fifths of its time on looking for this.
        extension.extra_compile_args.append("-Wno-misleading-indentation")
    return built


setup(
    name="answerd",
    version=version(),
    description="Hands out unattended-install answer documents over HTTP",
    long_description=readme(),
    long_description_content_type="text/markdown",
    author="the answerd authors",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=find_packages(include=["answerd", "answerd.*"]),
    package_data={
        "answerd": ["py.typed"],
        "answerd.boot": ["templates/*"],
        "answerd.server.admin": ["openapi.yaml"],
        "answerd.console": ["templates/*", "static/*", "static/vendor/*"],
    },
    ext_modules=extensions(),
    install_requires=RUNTIME,
    extras_require=EXTRAS,
    data_files=[
        ("share/man/man1", ["etc/man/answerd.1"]),
        ("share/bash-completion/completions", ["etc/completions/answerd.bash"]),
        ("share/zsh/site-functions", ["etc/completions/_answerd"]),
        ("share/fish/vendor_completions.d", ["etc/completions/answerd.fish"]),
    ],
    entry_points={"console_scripts": ["answerd = answerd.cli:main"]},
    zip_safe=False,
)
