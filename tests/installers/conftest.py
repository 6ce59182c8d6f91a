"""Real installers' clients, unmodified, against the real service.

scripts/test-installers runs all of them. scripts/test runs those that are marked `quick`: with the clients that are
installed, and nothing is downloaded. A client that is not there is a skip that names the Debian package it is in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import warnings
from pathlib import Path
from typing import Protocol

import pytest
from _pytest.runner import runtestprotocol

from tests.support.waiting import PROGRAM_SECONDS

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

SYSTEM_PYTHON = "/usr/bin/python3"

INSTALLED = 12
"""The release of Debian that the programs in QEMU and the packages are of."""

CODENAMES = {12: "bookworm", 13: "trixie"}


FOLDER = Path(__file__).parent

BEGAN = time.monotonic()
LAST_BEGIN_SECONDS = 1200.0
"""After this time no test begins: scripts/test-installers ends everything after 30 minutes."""


def runs_all(config: pytest.Config) -> bool:
    """Return whether this run is that of scripts/test-installers."""
    return bool(config.getoption("--every-installer"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what would begin too late."""
    if runs_all(item.config) and time.monotonic() - BEGAN > LAST_BEGIN_SECONDS:
        pytest.skip("no time left: the tests before it took 20 minutes")


EMULATED = (
    "test_debian_installer",
    "test_power_on",
    "test_loaders",
    "test_install_once",
    "test_ipxe",
    "test_discovery",
)
"""Files whose machines are emulated, the longest first. Firmware gives up when a slow processor keeps it from an answer
for some seconds, which says nothing about the service: such a test is tried a second time."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not quick, or put what needs minutes last: on a slow machine the time ends there."""
    if not runs_all(config):
        slow = [item for item in items if FOLDER in item.path.parents and not item.get_closest_marker("quick")]
        config.hook.pytest_deselected(items=slow)
        left_out = set(slow)
        items[:] = [item for item in items if item not in left_out]
        return
    items.sort(key=lambda item: EMULATED.index(item.path.stem) + 1 if item.path.stem in EMULATED else 0)


OUT_OF_TIME = "never came after"
"""What the failure of a machine says whose time was over."""

BUSY = 3.0
"""Load for each processor above which an emulated machine that did not come through says nothing about the service."""


def load() -> float:
    """How many processes want each processor, over the last five minutes."""
    return os.getloadavg()[1] / (os.cpu_count() or 1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Try a test with an emulated machine twice, and say so; on a busy machine, having had no time is a skip."""
    if item.path.stem not in EMULATED or not isinstance(item, pytest.Function):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports) and time.monotonic() - BEGAN < LAST_BEGIN_SECONDS:
        first = next(report for report in reports if report.failed)
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        warnings.warn(f"{item.nodeid} was tried twice: {first.longreprtext.splitlines()[-1]}", stacklevel=1)
    for report in reports:
        if report.failed and OUT_OF_TIME in report.longreprtext and load() > BUSY:
            report.outcome = "skipped"
            report.longrepr = (
                str(item.path),
                0,
                f"Skipped: beside a load of {load():.0f} for each processor: {report.longreprtext[-300:]}",
            )
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def program(name: str, package: str) -> str:
    """The path of a program; skips the test where it is not installed."""
    found = shutil.which(name, path=SYSTEM_PATH)
    if found is None:
        pytest.skip(f"{name} is not installed: apt install {package}")
    return found


def file_of(path: str, package: str) -> Path:
    """A file of a Debian package; skips the test where it is not installed."""
    if not Path(path).exists():
        pytest.skip(f"{path} is not there: apt install {package}")
    return Path(path)


def need_root() -> None:
    """Skip the test where this is not root, or a root that may not make namespaces."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    if (
        subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False, timeout=PROGRAM_SECONDS).returncode
        != 0
    ):
        pytest.skip("needs the right to make namespaces")


def installer_source(name: str) -> Path:
    """The checkout of an installer that Debian does not package; skips the test where there is none."""
    folder = os.environ.get("INSTALLER_SOURCES")
    if not folder or not (Path(folder) / name).is_dir():
        pytest.skip(f"Debian does not package {name}: INSTALLER_SOURCES names no directory with its checkout")
    return Path(folder) / name


class Unpack(Protocol):
    """Gives the content of a Debian package without installing it: of the installed release and this machine's
    architecture, or of another."""

    def __call__(self, package: str, release: int = INSTALLED, architecture: str = "") -> Path: ...


@pytest.fixture(scope="session")
def unpacked(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Unpack:
    """Packages unpacked: cloud-init would put itself into the boot, and a DHCP server would start.

    Where nothing may be downloaded, the content is that of the package that is installed.
    """
    if not runs_all(pytestconfig):
        return installed
    made: dict[str, Path] = {}
    other: dict[tuple[int, str], list[str]] = {(INSTALLED, ""): []}

    def unpack(package: str, release: int = INSTALLED, architecture: str = "") -> Path:
        name = f"{package}-{release}-{architecture}"
        if name not in made:
            source = (release, architecture)
            if source not in other:
                other[source] = release_options(release, tmp_path_factory.mktemp("apt"), architecture)
            made[name] = downloaded(package, other[source], tmp_path_factory.mktemp(package))
        return made[name]

    return unpack


def installed(package: str, release: int = INSTALLED, architecture: str = "") -> Path:
    """Where the files of an installed package are; skips the test where it is not installed."""
    if release != INSTALLED or architecture:
        pytest.skip(f"{package} of Debian {release} {architecture} is downloaded by scripts/test-installers only")
    if not any(DPKG.glob(f"{package}.list")) and not any(DPKG.glob(f"{package}:*.list")):
        pytest.skip(f"{package} is not installed: apt install {package}, or scripts/test-installers, which unpacks it")
    return Path("/")


DPKG = Path("/var/lib/dpkg/info")
"""Where Debian has the list of each package's files."""


def downloaded(package: str, options: list[str], where: Path) -> Path:
    """Download a package with apt and unpack it; skips the test where apt cannot."""
    apt(["download", "--quiet", package], options, where)
    files = list(where.glob("*.deb"))
    if not files:
        pytest.skip(f"apt-get download {package} does not work here")
    subprocess.run(["dpkg-deb", "--extract", files[0], where / "tree"], check=True, timeout=PROGRAM_SECONDS)
    files[0].unlink()
    return where / "tree"


def apt(arguments: list[str], options: list[str], where: Path) -> None:
    """Run apt-get; what it could not do is seen by what is missing. A mirror that is busy is asked again."""
    tries = ["-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=60", "-o", "APT::Sandbox::User=root"]
    subprocess.run(["apt-get", *options, *tries, *arguments], cwd=where, capture_output=True, timeout=300, check=False)


def release_options(release: int, where: Path, architecture: str = "") -> list[str]:
    """apt's options for another release of Debian, or another architecture than this machine's: with lists of its own,
    from the mirror that apt has already."""
    mirror = mirror_of_apt()
    (where / "lists" / "partial").mkdir(parents=True)
    (where / "cache" / "archives" / "partial").mkdir(parents=True)
    signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    (where / "sources.list").write_text(f"deb {signed} {mirror} {CODENAMES[release]} main\n")
    settings = {
        "Dir::Etc::sourcelist": where / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": where / "lists",
        "Dir::Cache": where / "cache",
        "Acquire::Languages": "none",
    }
    if architecture:
        settings |= {"APT::Architecture": architecture, "APT::Architectures": architecture}
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    apt(["update", "--quiet"], options, where)
    return options


def mirror_of_apt() -> str:
    """The URL of the mirror of Debian that apt has, with a slash at its end; skips the test where it has none."""
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)", "Created-By: Packages"]
    output = subprocess.run(targets, capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS).stdout.split(
        "\n"
    )
    mirrors = [line.split()[0] for line in output if line.endswith(f" {CODENAMES[INSTALLED]}")]
    if not mirrors:
        pytest.skip(f"apt has no mirror of {CODENAMES[INSTALLED]}")
    return mirrors[0].rstrip("/") + "/"
