"""TLS between a node and its database, and the database's URL in a file: docs/many-nodes.md#tls."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.postgres import MISSING, Cluster, binaries, clusters, home_of
from tests.support.service import Service, run

pytestmark = pytest.mark.skipif(binaries() is None or shutil.which("openssl") is None, reason=MISSING)

PAGE = Path(__file__).parents[2] / "docs" / "many-nodes.md"


class Database(NamedTuple):
    """A database that takes nobody without a certificate, and the files of a node."""

    cluster: Cluster
    name: str
    ca: Path
    certificate: Path
    key: Path

    def url(self, **changed: str | Path) -> str:
        """The URL of the page, with the places of this test and what is ``changed``; an empty text leaves one out."""
        [shown] = re.findall(r"^SERVICE_DB_URL='(.+sslmode=.+)'$", PAGE.read_text("utf-8"), re.MULTILINE)
        base, _, query = shown.partition("?")
        assert base == "postgresql://answerd@db1,db2/answerd"
        values = {"sslrootcert": self.ca, "sslcert": self.certificate, "sslkey": self.key} | changed
        host = values.pop("host", "localhost")
        parameters = {
            name: values.get(name, value) for name, _, value in (part.partition("=") for part in query.split("&"))
        }
        given = "&".join(f"{name}={value}" for name, value in parameters.items() if value)
        return f"postgresql://answerd@{host}:{self.cluster.port}/{self.name}?{given}"


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60)


def authority(directory: Path) -> Path:
    """Make an authority; return its certificate, beside which its key is."""
    certificate = directory / "ca.pem"
    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority of a test")
    openssl(*new, "-keyout", directory / "ca-key.pem", "-out", certificate)
    return certificate


def signed(directory: Path, name: str, ca: Path) -> tuple[Path, Path]:
    """Make a key, and a certificate of an authority for a name."""
    certificate, key = directory / f"{name}.pem", directory / f"{name}-key.pem"
    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}")
    by = ("-CA", ca, "-CAkey", ca.with_name("ca-key.pem"), "-addext", f"subjectAltName=DNS:{name}")
    openssl(*new, *by, "-addext", "basicConstraints=CA:FALSE", "-keyout", key, "-out", certificate)
    return certificate, key


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    files = tmp_path_factory.mktemp("certificates")
    ca = authority(files)
    node = signed(files, "answerd", ca)
    with clusters() as parent:
        cluster = Cluster(home_of(parent, "primary")).start()
        name = cluster.database().rpartition("/")[2]
        cluster.stop()
        cluster.require_certificates(ca, *signed(files, "localhost", ca))
        cluster.start()
        yield Database(cluster, name, ca, *node)
        cluster.stop()


def test_a_node_whose_url_is_in_a_file_reads_and_writes_over_tls(database: Database, tmp_path: Path) -> None:
    url = tmp_path / "db-url"
    url.write_text(f"{database.url()}\n")
    url.chmod(0o600)
    settings: dict[str, Any] = {"SERVICE_STORE": "postgres", "SERVICE_DB_URL_FILE": url}
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "default.ks").write_text("# over TLS\n")

    imported = run("import", str(documents), **settings)

    assert imported.returncode == 0
    assert imported.stderr.startswith(b"warning: no states of installs were taken"), imported.stderr
    with Service(**settings, SERVICE_REPLICA_PATH=tmp_path / "replica.db") as node:
        assert node.get("/ks?mac=aabbccddee01").body == b"# over TLS\n"
    shown = run("config", **settings, SERVICE_REPLICA_PATH=tmp_path / "replica.db").stdout.decode()
    assert re.search(r"^SERVICE_DB_URL +\(set\) +.*own file", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sslrootcert": "other"}, "certificate verify failed"),
        ({"host": "127.0.0.1"}, 'does not match host name "127.0.0.1"'),
        ({"sslcert": "", "sslkey": ""}, "requires a valid client certificate"),
        ({"sslmode": "disable", "sslrootcert": "", "sslcert": "", "sslkey": ""}, "no encryption"),
    ],
    ids=["another authority", "another name", "no certificate", "no TLS"],
)
def test_what_does_not_match_is_refused_and_said(
    database: Database, tmp_path: Path, changed: dict[str, str | Path], reason: str
) -> None:
    if changed.get("sslrootcert") == "other":
        changed = changed | {"sslrootcert": authority(tmp_path)}
    done = run("check", SERVICE_STORE="postgres", SERVICE_DB_URL=database.url(**changed))
    assert done.returncode == 1
    assert reason in done.stderr.decode()
