"""What breaks while the real program runs is told once, and what comes afterwards is taken (docs/selection.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.replies import Reply
from tests.support.service import Service
from tests.support.waiting import wait_until

Serving = Callable[..., Service]

OVERLAY = "overlay: 10\nmembers: [m1]\no: {}\n"
DOCUMENTS = {
    "m1.yaml": "a: 1\n",
    "m2.yaml": "b: 1\n",
    "m3.ks": "rootpw {{ secret.root }}\n",
    "groups/over.yaml": OVERLAY.format(1),
}


def test_an_overlay_and_a_secret_that_break_stop_nothing_else(serving: Serving, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir(0o700)
    (secrets / "root").write_text("sound")
    service = serving(DOCUMENTS, SERVICE_SECRETS_DIR=secrets, SERVICE_WORKERS=1)
    answers = tmp_path / "answers"

    def asked(target: str) -> Reply:
        return service.get(target)

    def wait_for(target: str, text: str) -> None:
        wait_until(lambda: asked(target).text == text)

    assert asked("/yaml?id=m1").text == "o: 1\na: 1\n"
    assert asked("/ks?id=m3").text == "rootpw sound\n"

    (answers / "groups" / "over.yaml").write_text("overlay: 10\nmembers: [m1\n")
    service.wait_for_log('^.*problem: group "over" .yaml.: does not parse')
    assert asked("/yaml?id=m1").status == 500
    (secrets / "root").write_bytes(b"br\xffken")
    wait_until(lambda: asked("/ks?id=m3").status == 500)

    for number in range(2, 5):  # each is a later look, after which everything would be prepared again
        (answers / "m2.yaml").write_text(f"b: {number}\n")
        wait_for("/yaml?id=m2", f"b: {number}\n")
    assert "over" in asked("/yaml?id=m1").text

    (secrets / "root").write_text("mended")
    wait_for("/ks?id=m3", "rootpw mended\n")
    (answers / "groups" / "over.yaml").write_text(OVERLAY.format(2))
    wait_for("/yaml?id=m1", "o: 2\na: 1\n")
    service.wait_for_log('no longer a problem: group "over"')
    assert service.stop() == 0

    told = [line for line in service.log if "problem" in line or "failed" in line or "Error" in line]
    assert len([line for line in told if 'group "over"' in line and " 500 " not in line]) == 2, told
    assert not [line for line in told if "preparing" in line or "AttributeError" in line]


def test_a_part_that_cannot_be_listed_is_503_at_the_start_and_changes_nothing_later(
    serving: Serving, tmp_path: Path
) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "groups").symlink_to("nowhere")
    service = serving({"default.yaml": "d: 1\n"}, SERVICE_WORKERS=1)

    def said() -> list[str]:
        return [line for line in service.log if "answers stay as they are: directory groups cannot be listed" in line]

    large = b"{%s}" % (b" " * 20_000)  # a body of this size is read in a thread
    asked = service.get("/yaml?id=m1"), service.post("/yaml?id=m1", large)
    assert {reply.headers["retry-after"] for reply in asked} == {"5"}
    for reply in (*asked, service.get("/ready")):
        assert reply.status == 503
        assert "directory groups cannot be listed: the link leads nowhere" in reply.text
    (answers / "groups").unlink()
    wait_until(lambda: service.get("/yaml?id=m1").text == "d: 1\n")
    wait_until(lambda: service.get("/ready").status == 200)

    (answers / "groups").symlink_to("nowhere")
    wait_until(lambda: len(said()) == 2)
    (answers / "default.yaml").write_text("d: 2\n")
    assert (service.get("/yaml?id=m1").text, service.get("/ready").status) == ("d: 1\n", 200)
    (answers / "groups").unlink()
    wait_until(lambda: service.get("/yaml?id=m1").text == "d: 2\n")
    assert service.stop() == 0
    assert len(said()) == 2
