"""Build the source archive and the wheel: scripts/build-wheel [DIRECTORY]

The wheel is built from the source archive, so an archive that lacks a file fails here and not at its user's. Both
have the same bytes each time they are built from one commit: the files are those of git with fixed modes, the time is
that of the commit (or `SOURCE_DATE_EPOCH`), and the build tool is that of requirements-build.txt.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from release.source import CHECKOUT, FILE_MODE, PROGRAM_MODE, copy_source, source_time

BUILD_REQUIREMENTS = CHECKOUT / "requirements-build.txt"

_BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def build(target: Path) -> tuple[Path, Path]:
    """Build both into `target`, which is made where it is missing. Return the paths of source archive and wheel."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="answerd-build-") as scratch:
        python = make_build_environment(Path(scratch, "environment"))
        copy_source(Path(scratch, "checkout"))
        made = Path(scratch, "dist")
        made.mkdir()
        archive = _run_backend(python, "build_sdist", Path(scratch, "checkout"), made)
        normalise_archive(archive, source_time())
        unpacked = _unpack(archive, Path(scratch, "unpacked"))
        wheel = _run_backend(python, "build_wheel", unpacked, made)
        return _keep(archive, target), _keep(wheel, target)


def make_build_environment(where: Path) -> Path:
    """Make a virtual environment that holds the build tool of requirements-build.txt. Return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", where], check=True)
    python = where / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "--require-hashes", "--requirement", str(BUILD_REQUIREMENTS)],
        check=True,
    )
    return python


def _run_backend(python: Path, hook: str, source: Path, target: Path) -> Path:
    """Call a hook of the build backend in `source`. Return the path of what it made in `target`."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANSWERD_", "PYTHON", "SETUPTOOLS"))
    }
    done = subprocess.run(
        [python, "-W", "ignore", "-c", _BUILD, hook, target],
        cwd=source,
        env=clean | {"SOURCE_DATE_EPOCH": str(source_time()), "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
        umask=0o022,  # the modes of files that the backend writes are in the wheel
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{hook} failed:\n{done.stdout}{done.stderr}")
    return target / done.stdout.splitlines()[-1]


def normalise_archive(path: Path, when: int) -> None:
    """Rewrite a source archive with sorted members, one time, fixed modes and no owner."""
    with tarfile.open(path) as archive:
        members = sorted(archive.getmembers(), key=lambda member: member.name)
        contents = {member.name: archive.extractfile(member) for member in members}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target:
            for member in members:
                program = member.isdir() or member.mode & 0o100
                clean = member.replace(
                    mtime=when, mode=PROGRAM_MODE if program else FILE_MODE, uid=0, gid=0, uname="", gname=""
                )
                clean.pax_headers = {}
                target.addfile(clean, contents[member.name])
    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=when) as compressed:
        compressed.write(packed.getvalue())


def _unpack(archive: Path, where: Path) -> Path:
    with tarfile.open(archive) as opened:
        opened.extractall(where, filter="data")
    (only,) = where.iterdir()
    return only


def _keep(made: Path, target: Path) -> Path:
    return Path(shutil.copy(made, target / made.name))


def main(arguments: list[str]) -> int:
    """Build into the directory that is named, else `dist`, and print what was made."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(arguments) == 1 else 2
    for path in build(Path(arguments[0]) if arguments else CHECKOUT / "dist"):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
