"""Build the Debian package: scripts/build-deb [DIRECTORY]

The package holds the service with the Python packages of requirements-hashes.txt, the systemd units, the settings as
a configuration file, manual page, completions, documentation and examples. Its scripts (etc/debian/) make the user
and the directories, and keep all data when the package goes. Two builds of one commit have the same bytes.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from email.utils import formatdate
from pathlib import Path

import answerd
from release.hashes import HASHES
from release.sbom import bill_of_materials, licences
from release.source import CHECKOUT, FILE_MODE, PROGRAM_MODE, source_time, tracked_files
from release.wheel import build as build_wheel

TEMPLATES = CHECKOUT / "etc" / "debian"
LIBRARY = "usr/lib/answerd"
DOCUMENTATION = "usr/share/doc/answerd"

SETTINGS = {
    "SERVICE_DB_PATH": "/var/lib/answerd/answers.db",
    "SERVICE_STATE_PATH": "/var/lib/answerd/installs.db",
    "SERVICE_SECRETS_DIR": "/etc/answerd/secrets",
}
"""Settings that the packaged environment file gives, because the unit lets the service write in few places."""

COMPLETIONS = {
    "answerd.bash": "usr/share/bash-completion/completions/answerd",
    "_answerd": "usr/share/zsh/vendor-completions/_answerd",
    "answerd.fish": "usr/share/fish/vendor_completions.d/answerd.fish",
}
"""The files of etc/completions and where Debian's shells look for them."""

LAUNCHER = f"""\
#!/usr/bin/python3 -I
import sys

sys.path.insert(0, "/{LIBRARY}")

from answerd.cli import main

sys.exit(main())
"""

MAINTAINER = "the answerd authors <answerd@localhost>"

CONFFILES = "/etc/answerd.env\n"

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: answerd
Comment: The packages below /usr/lib/answerd have licences of their own; licences.txt lists them, and each has its
 text in its .dist-info directory there.

Files: *
Copyright: the answerd authors
License: MIT
{text}
"""


def build(target: Path) -> Path:
    """Build the package into `target`, which is made where it is missing. Return its path."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="answerd-deb-") as scratch:
        _, wheel = build_wheel(Path(scratch, "dist"))
        root = Path(scratch, "root")
        root.mkdir()
        install_library(root / LIBRARY, wheel)
        install_files(root)
        install_generated(root)
        write_control(root)
        return pack(root, target)


def install_library(library: Path, wheel: Path) -> None:
    """Install the wheel and the packages that it needs into a directory of their own."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile"]
    pip += ["--no-warn-script-location", "--no-deps", "--target", str(library)]
    subprocess.run([*pip, "--require-hashes", "--requirement", str(HASHES)], check=True)
    subprocess.run([*pip, "--upgrade", str(wheel)], check=True)
    for folder in ("bin", "include", "share"):
        shutil.rmtree(library / folder, ignore_errors=True)
    for record in library.glob("*.dist-info/direct_url.json"):  # where the builder kept the wheel
        record.unlink()
    for record in library.glob("*.dist-info/RECORD"):
        lines = record.read_text("utf-8").splitlines(keepends=True)
        gone = ("../../", "bin/", "include/", "share/", f"{record.parent.name}/direct_url.json")
        record.write_text("".join(line for line in lines if not line.startswith(gone)), "utf-8")
    for path in library.rglob("*"):  # some packages mark libraries and examples as programs
        if path.is_file():
            path.chmod(FILE_MODE)


def install_files(root: Path) -> None:
    """Write the program, the unit files, the settings, the documentation and the examples."""
    write(root / "usr/bin/answerd", LAUNCHER, PROGRAM_MODE)
    for unit in (*CHECKOUT.glob("etc/answerd*.service"), *CHECKOUT.glob("etc/answerd*.socket")):
        write(root / "usr/lib/systemd/system" / unit.name, packaged_unit(unit.read_text("utf-8")))
    write(root / "etc/answerd.env", packaged_settings((CHECKOUT / "etc/answerd.env").read_text("utf-8")))
    documents = ("README.md", "SECURITY.md", "docs/", "examples/", "etc/")
    for name in tracked_files():
        if name.startswith(documents) and not name.startswith(
            ("etc/debian/", "etc/answerd.env", "etc/man/", "etc/completions/")
        ):
            write(root / DOCUMENTATION / name, (CHECKOUT / name).read_bytes())
    write(root / DOCUMENTATION / "licences.txt", licences(bill_of_materials()))
    write(root / DOCUMENTATION / "CHANGELOG.md.gz", compressed((CHECKOUT / "CHANGELOG.md").read_bytes()))
    write(root / DOCUMENTATION / "changelog.gz", compressed(changelog().encode()))
    text = "".join(f" {line}".rstrip() + "\n" if line else " .\n" for line in _licence_lines())
    write(root / DOCUMENTATION / "copyright", COPYRIGHT.format(text=text.rstrip("\n")))


def changelog() -> str:
    """Return the changelog in the form of Debian's: one entry, which leads to the real one."""
    when = formatdate(source_time())
    version = debian_version(answerd.__version__)
    return f"answerd ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- {MAINTAINER}  {when}\n"


def _licence_lines() -> list[str]:
    return (CHECKOUT / "LICENSE").read_text("utf-8").strip().splitlines()


def install_generated(root: Path) -> None:
    """Write the manual page and the completions, which scripts/manpage made."""
    write(root / "usr/share/man/man1/answerd.1.gz", compressed((CHECKOUT / "etc/man/answerd.1").read_bytes()))
    for name, installed in COMPLETIONS.items():
        write(root / installed, (CHECKOUT / "etc/completions" / name).read_bytes())


def packaged_unit(text: str) -> str:
    """Return a unit as the package has it: the program is in /usr/bin, and the head says nothing of installing."""
    body = re.sub(r"\A(?:#.*\n|\n)+", "", text)
    return "# Settings: /etc/answerd.env\n\n" + body.replace("/opt/answerd/bin/answerd", "/usr/bin/answerd")


def packaged_settings(text: str) -> str:
    """Return the environment file with `SETTINGS` in force, where the sample has them."""
    for name, value in SETTINGS.items():
        text = re.sub(rf"^#{name}=.*$", f"{name}={value}", text, flags=re.MULTILINE)
    return text


def compressed(content: bytes) -> bytes:
    """Return a gzip file without name and time."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def write(path: Path, content: str | bytes, mode: int = FILE_MODE) -> None:
    """Write one file of the package; its directories are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def write_control(root: Path) -> None:
    """Write what dpkg reads: the description, the maintainer's scripts, the list of configuration files."""
    bytes_installed = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    values = {
        "version": debian_version(answerd.__version__),
        "maintainer": MAINTAINER,
        "architecture": _said_by("dpkg", "--print-architecture"),
        "kilobytes": str(bytes_installed // 1024 + 1),
        "depends": ", ".join(dependencies()),
    }
    write(root / "DEBIAN/control", filled((TEMPLATES / "control").read_text("utf-8"), values))
    write(root / "DEBIAN/conffiles", CONFFILES)
    for script in ("postinst", "prerm", "postrm"):
        write(root / "DEBIAN" / script, (TEMPLATES / script).read_text("utf-8"), PROGRAM_MODE)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Return a template with each `@name@` replaced. Raises `KeyError` for a name that has no value."""
    return re.sub(r"@(\w+)@", lambda found: values[found[1]], template)


def dependencies() -> list[str]:
    """Return the packages that this one needs: the compiled modules are for this release of Python alone."""
    major, minor = sys.version_info[:2]
    return [
        f"python3 (>= {major}.{minor})",
        f"python3 (<< {major}.{minor + 1})",
        "libc6 (>= 2.28)",
        "adduser",
        "procps",
    ]


def debian_version(version: str) -> str:
    """Return a version as dpkg sorts it: `1.0.0-rc1` comes before `1.0.0`."""
    return version.replace("-", "~")


def pack(root: Path, target: Path) -> Path:
    """Pack the tree. All modes and times are fixed first."""
    when = source_time()
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(PROGRAM_MODE)
        elif not path.is_symlink():
            path.chmod(PROGRAM_MODE if path.stat().st_mode & 0o100 else FILE_MODE)
        os.utime(path, (when, when), follow_symlinks=False)
    version, architecture = debian_version(answerd.__version__), _said_by("dpkg", "--print-architecture")
    package = target / f"answerd_{version}_{architecture}.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, package],
        env=os.environ | {"SOURCE_DATE_EPOCH": str(when)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return package


def _said_by(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str]) -> int:
    """Build into the directory that is named, else `dist`, and print the package's path."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(arguments) == 1 else 2
    if shutil.which("dpkg-deb") is None:
        print("scripts/build-deb: dpkg-deb is not on PATH; run this on Debian or Ubuntu", file=sys.stderr)
        return 1
    print(build(Path(arguments[0]) if arguments else CHECKOUT / "dist"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
