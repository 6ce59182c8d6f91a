"""Write the bill of materials and the list of licences: scripts/sbom [DIRECTORY]

`answerd-VERSION.cdx.json` names every package that is installed with the service and its optional features, with
release, licence and hashes, in CycloneDX 1.5. `answerd-VERSION-licences.txt` is the same for people. Both have the same
bytes each time: the time is that of the commit.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from packaging.utils import canonicalize_name

import answerd
from release.hashes import HASHES
from release.requirements import everything_needed
from release.source import CHECKOUT, source_time

_LICENCE_CLASSIFIER = "License :: "
_LONGEST_LICENCE_NAME = 60
"""The field License of older metadata may hold the whole text of a licence; its first line is then no name."""

_LICENCE_TEXTS = {
    "MIT": "Permission is hereby granted, free of charge, to any person obtaining a copy",
    "Apache-2.0": "Apache License Version 2.0",
    "BSD": "Redistribution and use in source and binary forms",
    "LGPL": "GNU LESSER GENERAL PUBLIC LICENSE",
    "GPL": "GNU GENERAL PUBLIC LICENSE",
}
"""Words that a licence is known by, for packages whose metadata name none."""


def licence(distribution: metadata.Distribution) -> str:
    """Return the licence that a distribution states, best an SPDX expression; `unknown` where it states none."""
    if expression := _field(distribution, "License-Expression"):
        return expression
    stated = _field(distribution, "License").strip()
    if stated and "\n" not in stated and len(stated) <= _LONGEST_LICENCE_NAME and stated.upper() != "UNKNOWN":
        return stated
    classifiers = [
        classifier
        for classifier in distribution.metadata.get_all("Classifier") or []
        if classifier.startswith(_LICENCE_CLASSIFIER)
    ]
    names = [classifier.rpartition(" :: ")[2] for classifier in classifiers if classifier != "License :: OSI Approved"]
    return " OR ".join(sorted(names)) or _licence_of_its_file(distribution)


def _field(distribution: metadata.Distribution, name: str) -> str:
    fields = distribution.metadata
    return str(fields[name]) if name in fields else ""


def _licence_of_its_file(distribution: metadata.Distribution) -> str:
    """Return the licence that the text of a LICENSE file is known by, or `unknown`."""
    for file in distribution.files or []:
        if re.match(r"(LICEN[SC]E|COPYING)", file.name, re.IGNORECASE):
            text = " ".join(file.read_text().split())
            if known := next((name for name, words in _LICENCE_TEXTS.items() if words in text), None):
                return known
    return "unknown"


def homepage(distribution: metadata.Distribution) -> str:
    """Return the address of a distribution's page, or an empty text."""
    if page := _field(distribution, "Home-page"):
        return page
    urls = [str(entry).split(",", 1) for entry in distribution.metadata.get_all("Project-URL") or []]
    named = {label.strip().lower(): url.strip() for label, url in urls}
    return next((named[label] for label in ("homepage", "source", "repository", "source code") if label in named), "")


def hashes(path: Path = HASHES) -> dict[str, list[str]]:
    """Return the hashes of requirements-hashes.txt, by canonical name."""
    found: dict[str, list[str]] = defaultdict(list)
    name = ""
    for line in path.read_text("utf-8").splitlines():
        if head := re.match(r"([A-Za-z0-9._-]+)==", line):
            name = canonicalize_name(head[1])
        found[name] += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return found


def component(distribution: metadata.Distribution, known: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return one package as CycloneDX describes it."""
    name = canonicalize_name(distribution.metadata["Name"])
    purl = f"pkg:pypi/{name}@{distribution.version}"
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": distribution.version,
        "purl": purl,
        "licenses": [{"license": {"name": licence(distribution)}}],
    }
    if page := homepage(distribution):
        made["externalReferences"] = [{"type": "website", "url": page}]
    if known.get(name):
        made["properties"] = [{"name": "answerd:file-sha256", "value": digest} for digest in known[name]]
    return made


def bill_of_materials() -> dict[str, Any]:
    """Return the whole document."""
    when = datetime.fromtimestamp(source_time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    components = [component(distribution, hashes()) for distribution in everything_needed()]
    purl = f"pkg:pypi/answerd@{answerd.__version__}"
    service = {
        "type": "application",
        "bom-ref": purl,
        "name": "answerd",
        "version": answerd.__version__,
        "purl": purl,
        "licenses": [{"license": {"id": "MIT"}}],
    }
    content = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, purl + content)}",
        "version": 1,
        "metadata": {"timestamp": when, "component": service},
        "components": components,
        "dependencies": [{"ref": purl, "dependsOn": [part["bom-ref"] for part in components]}],
    }


def licences(bill: Mapping[str, Any]) -> str:
    """Return the list for people: a line for each package."""
    rows = [("package", "release", "licence", "page")]
    for part in [bill["metadata"]["component"], *bill["components"]]:
        stated = part["licenses"][0]["license"]
        page = part.get("externalReferences", [{"url": ""}])[0]["url"]
        rows.append((part["name"], part["version"], stated.get("id") or stated["name"], page))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "".join(
        f"{name:{widths[0]}}  {version:{widths[1]}}  {stated:{widths[2]}}  {page}".rstrip() + "\n"
        for name, version, stated, page in rows
    )


def write(target: Path) -> tuple[Path, Path]:
    """Write both files into a directory, which is made where it is missing. Return their paths."""
    target.mkdir(parents=True, exist_ok=True)
    bill = bill_of_materials()
    document = target / f"answerd-{answerd.__version__}.cdx.json"
    listed = target / f"answerd-{answerd.__version__}-licences.txt"
    document.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    listed.write_text(licences(bill), "utf-8")
    return document, listed


def main(arguments: list[str]) -> int:
    """Write into the directory that is named, else `dist`, and print what was written."""
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0 if len(arguments) == 1 else 2
    for path in write(Path(arguments[0]) if arguments else CHECKOUT / "dist"):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
