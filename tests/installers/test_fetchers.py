"""cloud-init's datasource, Ignition's engine, Anaconda's fetcher: each fetches the document of its page and reads it.

Rules: docs/installers/.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installers.conftest import SYSTEM_PATH, SYSTEM_PYTHON, Unpack, file_of, need_root, program
from tests.support.installer_pages import DASHES, MAC, PAGES, documents, without_states
from tests.support.service import Service
from tests.support.waiting import PROGRAM_SECONDS

pytestmark = pytest.mark.quick

NOCLOUD = """
import json, os, sys, tempfile
os.environ["DEBUG_PROC_CMDLINE"] = f"autoinstall ds=nocloud;s={sys.argv[1]}"
from cloudinit import helpers
from cloudinit.sources import DataSourceNoCloud
where = tempfile.mkdtemp()
paths = helpers.Paths({"cloud_dir": where, "run_dir": where})
source = DataSourceNoCloud.DataSourceNoCloudNet({"datasource": {"NoCloud": {"fs_label": None}}}, None, paths)
found = source.get_data()
text = source.userdata_raw
print(json.dumps([found, source.get_instance_id(), text.decode() if isinstance(text, bytes) else text]))
"""


def served(page: str) -> dict[str, str]:
    """The documents of a page."""
    return {name: without_states(text) for name, text in documents(PAGES[page]).items()}


def url(service: Service, path: str) -> str:
    assert service.address
    return f"http://127.0.0.1:{service.address[1]}{path}"


def ignition_options(scratch: Path) -> str:
    """The options of each stage, with all files in a directory of the test."""
    files = f"-config-cache {scratch}/cache -state-file {scratch}/state -neednet {scratch}/neednet"
    return f"-platform metal -log-to-stdout {files}"


def test_cloud_init_finds_its_datasource(serving: Callable[..., Service], unpacked: Unpack, tmp_path: Path) -> None:
    tree = unpacked("cloud-init") / "usr/lib/python3/dist-packages"
    service = serving(served("cloud-init"))
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", NOCLOUD, url(service, f"/ubuntu/{DASHES}/")],
        env={"PATH": SYSTEM_PATH, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"cloud-init needs more: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    found, instance, text = json.loads(done.stdout.splitlines()[-1])
    assert (found, instance) == (True, DASHES)
    assert text.startswith("#cloud-config\n")
    assert "phone_home" in text


def test_ignition_takes_its_configuration_and_writes_the_unit(serving: Callable[..., Service], tmp_path: Path) -> None:
    need_root()
    engine = file_of("/usr/lib/dracut/modules.d/30ignition/ignition", "ignition")
    document = json.loads(served("ignition")[f"{DASHES}.ign"])
    del document["passwd"]  # it needs useradd in the new system
    service = serving({f"{DASHES}.ign": json.dumps(document)})
    line = f"ignition.firstboot ignition.platform.id=metal ignition.config.url={url(service, f'/ignition?mac={MAC}')}"
    (tmp_path / "cmdline").write_text(line)
    (tmp_path / "root").mkdir()
    common = ignition_options(tmp_path)
    for stage, more in (("fetch", ""), ("files", f"-root {tmp_path}/root")):
        inside = (
            f"mount --bind {tmp_path}/cmdline /proc/cmdline && exec timeout 30 {engine} -stage {stage} {common} {more}"
        )
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", inside], capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS
        )
        assert stage == "files" or done.returncode == 0, done.stdout[-2000:]  # "files" ends at relabelling
    unit = tmp_path / "root/etc/systemd/system/report-installed.service"
    assert "ExecStart=/usr/bin/curl" in unit.read_text()


def test_ignition_stops_at_a_machine_that_nobody_knows(serving: Callable[..., Service], tmp_path: Path) -> None:
    need_root()
    engine = file_of("/usr/lib/dracut/modules.d/30ignition/ignition", "ignition")
    service = serving(served("ignition"))
    asked = url(service, "/ignition?mac=00:00:5e:00:53:01")
    line = f"ignition.firstboot ignition.platform.id=metal ignition.config.url={asked}"
    (tmp_path / "cmdline").write_text(line)
    common = ignition_options(tmp_path)
    inside = f"mount --bind {tmp_path}/cmdline /proc/cmdline && exec timeout 30 {engine} -stage fetch {common}"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", inside], capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS
    )
    assert done.returncode == 1
    assert "resource not found" in done.stdout


def test_ignition_validate_accepts_what_is_served(serving: Callable[..., Service], tmp_path: Path) -> None:
    judge = program("ignition-validate", "ignition")
    answer = serving(served("ignition")).get(f"/ignition?mac={MAC}")
    (tmp_path / "config.ign").write_bytes(answer.body)
    done = subprocess.run(
        [judge, tmp_path / "config.ign"], capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_anacondas_fetcher_sends_its_headers_and_pykickstart_reads_the_answer(
    serving: Callable[..., Service], unpacked: Unpack, tmp_path: Path
) -> None:
    """The functions of dracut that Anaconda's own scripts call. A serial number with blanks is VMware's."""
    need_root()
    program("curl", "curl")
    core, network = unpacked("dracut-core"), unpacked("dracut-network")
    modules = "usr/lib/dracut/modules.d"
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("dracut-getarg", "dracut-getargs"):
        (tools / name).symlink_to(core / "usr/lib/dracut/dracut-util")
    service = serving(served("anaconda"))
    inside = f"""
        mkdir -p /run/initramfs && mount -t tmpfs none /run/initramfs
        cd {tmp_path}; export PATH={tools}:{SYSTEM_PATH}
        . {core}/{modules}/99base/dracut-lib.sh 2>/dev/null; . {network}/{modules}/45url-lib/url-lib.sh
        set_http_header X-RHN-Provisioning-MAC-0 "eno0 {MAC}"
        set_http_header X-System-Serial-Number "7ABC-56 4d x"
        fetch_url {url(service, "/ks")} {tmp_path}/ks.cfg
    """
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", inside], capture_output=True, text=True, check=False, timeout=PROGRAM_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr
    kickstart = tmp_path / "ks.cfg"
    assert "inst.repo" not in kickstart.read_text()
    service.wait_for_log(rf"GET /ks .* 200 .*machine={DASHES}")
    from pykickstart.parser import KickstartParser  # noqa: PLC0415 - an extra
    from pykickstart.version import makeVersion  # noqa: PLC0415

    parser = KickstartParser(makeVersion("RHEL9"))
    parser.readKickstart(str(kickstart))
    assert parser.handler.network.hostname == "node1.example.org"
    assert len(parser.handler.scripts) == 3


def test_the_report_line_of_the_kickstart_is_shell(tmp_path: Path) -> None:
    """It ends well where nobody listens: a report must never stop an installation."""
    program("curl", "curl")
    text = served("anaconda")[f"{DASHES}.ks"].replace("http://192.0.2.10:8000", "http://127.0.0.1:9")
    lines = [line.replace("--retry 5 --retry-connrefused", "") for line in text.splitlines() if line.startswith("curl")]
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            ["sh", "-ec", line], cwd=tmp_path, env=os.environ, capture_output=True, check=False, timeout=PROGRAM_SECONDS
        )
        assert done.returncode == 0
