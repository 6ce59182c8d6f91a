"""Build the documentation as one searchable site: scripts/docs [DIRECTORY]

The pages of docs/ and the documents beside it (README, CHANGELOG and the like) are copied, their links changed to where
their targets are in the site, and built with mkdocs-material. Files that a page links to and that are no pages are
copied too. A link or an anchor that leads nowhere fails the build. The site is in DIRECTORY/VERSION; DIRECTORY also has
`versions.json`, so that readers can choose among the versions that are there.

Nothing in the site is loaded from another host.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import answerd
from release.source import CHECKOUT, source_time, tracked_files

BESIDE = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "threat-model.md",
    "examples/answers/README.md": "examples.md",
    "examples/lab/README.md": "lab.md",
}
"""Pages that are not in docs/, and their names in the site."""

FOLDERS = {"docs/": ""}
"""Directories whose pages are all in the site, and where; a README.md is the first page there."""

FILES = "files"
"""The directory of the site for linked files that are no pages."""

SECTIONS = {
    "Learn": ("first-machine", "tutorial", "examples", "lab"),
    "Install": ("packages", "containers", "in-front", "boot-config", "migrating", "security", "running"),
    "Installers": ("installers",),
    "Write answers": ("formats", "selection", "merging", "templates", "inventory", "secrets", "install-once", "xml"),
    "Operate": ("console", "gitops", "many-nodes", "metrics"),
    "Find out": ("troubleshooting", "check", "explain", "captures", "traps"),
    "Look up": ("cli", "configuration", "http", "admin-api", "validators", "limits", "glossary", "rules"),
    "Understand": ("overview", "architecture", "dependencies", "performance", "torture", "threat-model"),
    "Take part": ("contributing", "releasing", "changelog"),
}
"""Names of pages, or of their directories, by section. A page that is in none is in the last, "More"."""

_LINK = re.compile(r"(?<=\]\()(?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)


def slug(heading: str, separator: str) -> str:
    """Return the anchor of a heading as GitHub makes it, so that one link works in both places."""
    return re.sub(r"[^\w\s-]", "", heading.strip().lower()).replace(" ", separator)


def pages() -> dict[str, str]:
    """Return the name in the site of every page, by its path in the checkout."""
    found = {name: target for name, target in BESIDE.items() if (CHECKOUT / name).exists()}
    for name in tracked_files():
        for folder, there in FOLDERS.items():
            if name.startswith(folder) and name.endswith(".md"):
                inside = name.removeprefix(folder)
                found[name] = there + ("index.md" if inside == "README.md" else inside)
    return found


def linked(text: str, source: str, known: dict[str, str], files: set[str]) -> str:
    """Return a page with its relative links changed to places in the site. Adds linked files to ``files``.

    Raises `SystemExit` for a link that leads out of the checkout or to nothing.
    """

    def place(found: re.Match[str]) -> str:
        path, anchor = found["path"], found["anchor"] or ""
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        wanted = os.path.normpath(PurePosixPath(source).parent / path)
        target = CHECKOUT / wanted
        if target.is_dir():
            wanted += "/README.md"
        if wanted in known:
            there = known[wanted]
        elif (CHECKOUT / wanted).is_file() and not wanted.startswith(".."):
            files.add(wanted)
            there = f"{FILES}/{wanted}"
        else:
            raise SystemExit(f"{source}: the link {path} leads nowhere")
        return os.path.relpath(there, PurePosixPath(known[source]).parent) + anchor

    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(place, text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, _LINK.sub(place, text[at:])])


def stage(where: Path) -> dict[str, str]:
    """Copy all pages and what they link to into a directory. Return the pages by their path in the checkout."""
    known = pages()
    files: set[str] = set()
    for source, target in known.items():
        page = where / target
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(linked((CHECKOUT / source).read_text("utf-8"), source, known, files), "utf-8")
    for name in files:
        copy = where / FILES / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, copy)
    return known


def navigation(names: list[str]) -> list[Any]:
    """Return the navigation for pages: the start page, then a list for each section that has pages."""
    left = sorted(set(names) - {"index.md"}, key=lambda name: (not name.endswith("index.md"), name))
    found: list[Any] = ["index.md"]
    for section, wanted in SECTIONS.items():
        inside = [name for page in wanted for name in left if name == f"{page}.md" or name.startswith(f"{page}/")]
        if inside:
            found.append({section: inside})
        left = [name for name in left if name not in inside]
    return [*found, {"More": left}] if left else found


def configuration(source: Path, target: Path, names: list[str]) -> dict[str, Any]:
    """Return the settings of mkdocs."""
    return {
        "site_name": "answerd",
        "site_url": "",
        "use_directory_urls": False,  # so that the files can be read without a web server
        "docs_dir": str(source),
        "site_dir": str(target),
        "strict": True,
        "validation": {"links": {"anchors": "warn", "not_found": "warn", "absolute_links": "warn"}},
        "theme": {
            "name": "material",
            "font": False,  # fonts would come from another host
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default", "toggle": _toggle("Dark")},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "toggle": _toggle("Light")},
            ],
            "features": ["navigation.indexes", "navigation.top", "search.highlight", "content.code.copy"],
        },
        "plugins": ["search"],
        "markdown_extensions": [
            "tables",
            "attr_list",
            "pymdownx.superfences",
            "pymdownx.highlight",
            {"toc": {"slugify": slug, "permalink": True}},
        ],
        "extra": {"version": {"provider": "mike"}, "generator": False},
        "nav": navigation(names),
    }


def _toggle(other: str) -> dict[str, str]:
    return {"icon": "material/brightness-6", "name": f"{other} colours"}


def build(target: Path) -> Path:
    """Build the site into a directory. Return the directory of this version."""
    from mkdocs.commands.build import build as build_site  # noqa: PLC0415 - the extra "docs" need not be installed
    from mkdocs.config import load_config  # noqa: PLC0415
    from mkdocs.exceptions import Abort  # noqa: PLC0415

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    os.environ["SOURCE_DATE_EPOCH"] = str(source_time())  # the map of the site has the time of the build

    made = target / answerd.__version__
    with tempfile.TemporaryDirectory(prefix="answerd-docs-") as scratch:
        source = Path(scratch, "docs")
        source.mkdir()
        known = stage(source)
        empty = Path(scratch, "mkdocs.yml")
        empty.write_text("{}\n")
        settings = configuration(source, made, list(known.values()))
        try:
            build_site(load_config(str(empty), **settings))
        except Abort as error:
            raise SystemExit(f"{error}; what is wrong is above") from None
    (made / "404.html").unlink(missing_ok=True)  # its links are right only where the site is a server's root
    versions = sorted(
        (folder.name for folder in target.iterdir() if (folder / "index.html").exists()), key=_parts, reverse=True
    )
    listed = [{"version": version, "title": version, "aliases": []} for version in versions]
    (target / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    return made


def _parts(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"[.-]", version)]


def main(arguments: list[str]) -> int:
    """Build into the directory that is named, else `dist/site`, and print where the site is."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(arguments) == 1 else 2
    print(build(Path(arguments[0]) if arguments else CHECKOUT / "dist" / "site") / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
