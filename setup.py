"""The compiled extension of the package. All else about it stands in pyproject.toml.

A wheel is pure Python, unless ANSWERD_COMPILE=1 (scripts/build-wheel --compiled): then mypyc compiles what a request
runs through. Rules for these modules: docs/performance.md#the-compiled-build.
"""

import os
import sys

from setuptools import setup

COMPILED = [
    "answerd/answers/catalogue.py",
    "answerd/answers/compose.py",
    "answerd/answers/copy_on_write.py",
    "answerd/answers/gates.py",
    "answerd/answers/resolve.py",
    "answerd/answers/row_facts.py",
    "answerd/answers/inventory_index.py",
    "answerd/answers/select.py",
    "answerd/answers/selectors.py",
    "answerd/answers/sources.py",
    "answerd/documents.py",
    "answerd/errors.py",
    "answerd/facts.py",
    "answerd/formats/__init__.py",
    "answerd/formats/control.py",
    "answerd/formats/family.py",
    "answerd/formats/filters.py",
    "answerd/formats/dict_tree.py",
    "answerd/formats/template.py",
    "answerd/formats/toml.py",
    "answerd/identity.py",
    "answerd/installs/records.py",
    "answerd/installs/states.py",
    "answerd/inventory/row.py",
    "answerd/json_body.py",
    "answerd/memo.py",
    "answerd/server/access.py",
    "answerd/server/admission.py",
    "answerd/server/answer_app.py",
    "answerd/server/http/bodies.py",
    "answerd/server/http/handler.py",
    "answerd/server/http/parser.py",
    "answerd/server/http/responses.py",
    "answerd/server/metrics.py",
    "answerd/server/peer.py",
    "answerd/server/probes.py",
    "answerd/server/request_log.py",
]

arguments = {}
if os.environ.get("ANSWERD_COMPILE") == "1":
    arguments["setup_requires"] = ["mypy>=2.4,<3"]  # it holds mypyc
    if {"bdist_wheel", "build_ext"} & {*sys.argv}:
        from mypyc.build import mypycify

        # The settings of mypy are not the checkout's: a build knows nothing of the packages that the service runs with.
        arguments["ext_modules"] = mypycify(
            ["--config-file=", "--ignore-missing-imports", *COMPILED],
            opt_level=os.environ.get("ANSWERD_COMPILE_LEVEL", "3"),
            debug_level="0",
        )
        for extension in arguments["ext_modules"]:
            # In one file of 20 MB, gcc spends four fifths of its time on looking for this.
            extension.extra_compile_args.append("-Wno-misleading-indentation")

setup(**arguments)
