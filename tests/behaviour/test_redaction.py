"""No output but the answer itself shows a part of a secret, wherever in a document of any family the secret is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.answer_secrets import known_values, redacted_answer, redacted_install
from answerd.answers.catalogue import Catalogue
from answerd.answers.diff import compare
from answerd.answers.document_diff import document_lines
from answerd.answers.explain import explained, explanation
from answerd.answers.problems import load_problems
from answerd.answers.redaction import CHANGED, hiding, redacted, redacted_pair, secrets_of
from answerd.answers.resolve import resolve
from answerd.answers.secret_names import SECRET, redacted_row
from answerd.answers.sources import NO_SOURCES, Sources
from answerd.answers.why import reasoning
from answerd.check import check
from answerd.console.answers import LONGEST_JUDGED, Resolver
from answerd.documents import Key, RawDocument
from answerd.errors import AnswerError
from answerd.facts import facts_of
from answerd.formats.family import ParseError
from answerd.identity import Kind
from answerd.validators import Tools, validate
from tests.support.fleet import key_of
from tests.support.thorough import examples

# A secret is made of parts of these letters, which nothing around it has, and of signs that each family spells its own
# way.
PART = st.text("QZXJVK", min_size=4, max_size=7)
SIGNS = st.sampled_from(["", "@", "/", ":", "&", "<", '"', "'", "\\", ",", ";", "#", "%", "é", "$", "=", "|", "!", " "])
LINED = st.sampled_from(["", "\n", "\n\n"])


@st.composite
def secrets(draw: st.DrawFn, signs: st.SearchStrategy[str] = SIGNS, parts: int = 3) -> str:
    drawn = [draw(PART)]
    for _ in range(draw(st.integers(0, parts - 1))):
        drawn += [draw(signs), draw(PART)]
    return "".join(drawn)


def leaked(output: str) -> str | None:
    """Return a part of a secret that an output holds."""
    found = re.search("[QZXJVK]{4}", output)
    return found[0] if found else None


def xml(text: str) -> str:
    return escape(text)


def numbered(text: str) -> str:
    return "".join(f"&#{ord(sign)};" if sign in "QZ<&\"'" else sign for sign in text)


def single(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def block(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" if line else "\n" for line in text.split("\n"))


Places = dict[str, tuple[str, Callable[[str], str]]]

PLACES: Places = {
    # JSON on one line, with the value twice, in names of every sort
    "json twice": ("json", lambda s: json.dumps({"password": s, "user": "u", "hint": f"like {s}, really"})),
    "json ascii": ("ign", lambda s: json.dumps({"a": [{"apiKey": s}, {"x": s}]}, ensure_ascii=True)),
    "json named by another": ("json", lambda s: json.dumps({"env": [{"value": s, "name": "DB_PASSWORD"}]})),
    "json of arguments": ("json", lambda s: json.dumps({"run": ["useradd", "--password", s, "joe"]})),
    "json holding a script": ("ign", lambda s: json.dumps({"inline": f"#!/bin/sh\nPASSWORD={shell(s)}\nrun\n"})),
    "json holding json": ("ign", lambda s: json.dumps({"inline": json.dumps({"password": s})})),
    "toml": ("toml", lambda s: f"[a]\npassword = {json.dumps(s)}\nx = {json.dumps(s + ' again')}\n"),
    "toml inline": ("toml", lambda s: f"a = {{token = {json.dumps(s)}, n = 1, b = {json.dumps(s)}}}\n"),
    "toml list": ("toml", lambda s: f"passwords = [\n  {json.dumps(s)},\n  {json.dumps('b' + s)},\n]\n"),
    "toml several lines": ("toml", lambda s: f'token = """\\\n  {json.dumps(s)[1:-1]}\nmore"""\nb = 1\n'),
    "toml comment": ("toml", lambda s: f"password = {json.dumps(s)} # was {s}\n# password = {json.dumps(s)}\n"),
    "yaml quoted": ("yaml", lambda s: f"a: {{password: {json.dumps(s)}, note: {single('x ' + s)}}}\n"),
    "yaml single": ("yaml", lambda s: f"users:\n- passwd: {single(s)}\n  name: joe # {s}\n"),
    "yaml anchor": ("yaml", lambda s: f"base: &p {json.dumps(s)}\npassword: *p\nb: [*p]\n"),
    "yaml block": ("yaml", lambda s: f"private_key: |\n{block(s, '    ')}after: 1\n"),
    "yaml folded": ("yaml", lambda s: f"a:\n  secret: >-\n{block(s, '      ')}  b: 1\n"),
    "yaml script": ("yaml", lambda s: f"write_files:\n- content: |\n    export TOKEN={shell(s)}\n    run\n"),
    "yaml list of users": ("yaml", lambda s: f"chpasswd:\n  list: |\n    joe:{s}\n"),
    "yaml in a comment": ("yaml", lambda s: f"a: 1\n# token: {s}\nb: 1\n"),
    "xml attribute": ("xml", lambda s: f'<a><u password="{xml(s)}" x="{xml(s)}"/></a>'),
    "xml attribute with blanks": ("xml", lambda s: f'<a\n><u x = "y"\n password =\n "{xml(s)}"  z=\'y\'/></a>'),
    "xml entities": ("autoyast", lambda s: f"<a><user_password>{numbered(s)}</user_password><b>{xml(s)}</b></a>"),
    "xml several lines": ("xml", lambda s: f"<a>\n<Password>\n  <Value>\n{xml(s)}\n</Value>\n</Password><b/></a>"),
    "xml cdata": ("xml", lambda s: f"<a><secret>ab<![CDATA[{s}]]></secret><c><![CDATA[{s}]]></c></a>"),
    "xml named by an attribute": ("xml", lambda s: f'<a><e name="password">{xml(s)}</e><e name="x">y</e></a>'),
    "xml named by a sibling": (
        "xml",
        lambda s: f"<d><key>x</key><value>y</value><key>token</key><value>{xml(s)}</value></d>",
    ),
    "xml comment": ("unattend", lambda s: f"<a><!-- <Password><Value>{xml(s)}</Value></Password> --></a>"),
    "ks word": ("ks", lambda s: f"rootpw --plaintext {shell(s)}x # {s}\nuser --name=a --password={shell(s)}b\n"),
    "ks double quotes": ("ks", lambda s: f"rootpw --plaintext {json.dumps(s)}\nreboot\n"),
    "ks passphrase": ("ks", lambda s: f"autopart --encrypted --passphrase 'a'{shell(s)} --type=lvm\n"),
    "ks script": ("ks", lambda s: f"%post\necho joe:{shell(s)} | chpasswd\nchpasswd <<EOF\njoe:{s}\nEOF\n%end\n"),
    "ks pipes": (
        "ks",
        lambda s: f'%post\n(echo {shell(s)}; echo b) | passwd a\necho "x\njoe":{shell(s)} \\\n  |\n chpasswd\n%end\n',
    ),
    "ks text for a pipe": ("ks", lambda s: f"%post\ncat <<'EOF' | sudo chpasswd -e\njoe:{s}\nEOF\nrun\n%end\n"),
    "ks commands": (
        "ks",
        lambda s: f"%post\nuseradd -m -p {shell(s)} a\nmkpasswd -m x {shell(s)}\ncurl -u {shell('a:' + s)} x\n%end\n",
    ),
    "preseed": ("preseed", lambda s: f"d-i passwd/root-password password {s}\nd-i a/b string x\n"),
    "preseed continued": (
        "preseed",
        lambda s: f"d-i passwd/user-password \\\n  password \\\n  {s}\nd-i a/b string x\n",
    ),
    "cfg": ("cfg", lambda s: f"ROOT_PASSWORD = a {s}\nb = 1\n"),
    "cfg quoted": ("cfg", lambda s: f"export DB_PASS='a'{shell(s)}\nb=1\n"),
    "ipxe": ("ipxe", lambda s: f"#!ipxe\nset net0/password:string {s}\nkernel x token={shell(s)} y=1\n"),
}  # fmt: skip
"""Places for a secret: the format, and the document that holds it there."""

IN_URLS: Places = {
    "ks url": ("ks", lambda s: f"url --url=http://user:{s}@mirror.lab/x\n"),
    "yaml url": ("yaml", lambda s: f"mirror: {json.dumps(f'https://u:{s}@mirror.lab/x')}\nb: {json.dumps(s)}\n"),
    "json url": ("json", lambda s: json.dumps({"source": f"http://u:{s}@m.lab/y", "text": f"see http://m.lab/{s}"})),
    "xml url": ("xml", lambda s: f'<a b="https://u:{xml(s)}@m.lab/">{xml(s)}</a>'),
    "ipxe url": ("ipxe", lambda s: f"#!ipxe\nchain http://u:{s}@h/\n"),
    "toml token alone": ("toml", lambda s: f"x = {json.dumps('https://' + re.sub('[/:#]', '', s) + '@h.lab/')}\n"),
}  # fmt: skip
"""Places in URLs, for secrets that a URL takes without escapes, as people write them."""


def catalogue(files: dict[str, str]) -> Catalogue:
    return Catalogue().changed([RawDocument(key_of(name), text, name) for name, text in files.items()])


def outputs(extension: str, text: str, other: str) -> dict[str, str]:
    """Return everything that shows a document, or a change of it to another."""
    name, facts = f"m1.{extension}", facts_of(["m1"])
    before, after = catalogue({name: text}), catalogue({name: other})
    answer = resolve(before, facts)
    key = Key(Kind.MACHINE, "m1", extension)
    shown = redacted_answer(before, answer, facts, NO_SOURCES)
    assert shown.count("\n") == answer.body.decode().count("\n")
    checked = check(before, Tools.none())
    return {
        "redacted": redacted(text, extension),
        "diff": json.dumps(compare(before, after).as_json(), ensure_ascii=False),
        "history": "\n".join(document_lines(key, text, other)),
        "new": "\n".join(document_lines(key, None, text)),
        "removed": "\n".join(document_lines(key, text, None)),
        "console": shown,
        "explain": explained(answer, None, shown),
        "explain json": json.dumps(explanation(answer, None, shown), ensure_ascii=False),
        "why": "\n".join(reasoning(before, facts).lines()),
        "check": "\n".join([*checked.problems, *checked.notes]),
    }


def judge(extension: str, text: str, other: str) -> None:
    try:
        shown = outputs(extension, text, other)
    except ParseError:  # pragma: no cover - the places make documents that parse
        raise AssertionError(text) from None
    assert {name: part for name, output in shown.items() if (part := leaked(output))} == {}
    assert redacted(text, extension).count("\n") == text.count("\n")


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(sorted(PLACES)), secrets(), secrets())
def test_no_output_shows_a_part_of_a_secret(place: str, secret: str, other: str) -> None:
    extension, document = PLACES[place]
    if place in ("xml cdata", "xml comment"):
        secret, other = secret.replace("]]>", ""), other.replace("]]>", "")
    if extension in ("preseed", "ks", "ipxe", "cfg"):  # the place takes no backslash at the end of a line
        secret, other = secret.replace("\\", ""), other.replace("\\", "")
    judge(extension, document(secret), document(other))


@pytest.mark.parametrize("place", PLACES)
def test_no_place_shows_a_plain_secret(place: str) -> None:
    extension, document = PLACES[place]
    judge(extension, document("QZXJVKQZ"), document("KVJXZQKV"))


def test_what_a_script_gives_to_chpasswd_is_hidden_elsewhere_and_prose_about_a_command_is_not() -> None:
    text = "chpasswd <<EOF\njoe:hunter2!\nEOF\n# it is hunter2!\n# as 'openssl passwd -6' prints it\n"
    shown = f"chpasswd <<EOF\njoe:{SECRET}\nEOF\n# it is {SECRET}\n# as 'openssl passwd -6' prints it\n"
    assert redacted(text, "ks") == shown


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(["yaml block", "yaml folded", "xml several lines", "toml several lines", "json twice"]),
    secrets(LINED),
    secrets(LINED),
)
def test_no_output_shows_a_line_of_a_secret(place: str, secret: str, other: str) -> None:
    extension, document = PLACES[place]
    judge(extension, document(secret), document(other))


BREAKS = [*"\"'{}[<&\\\t\n:=\0\x01", "", "{{", "}}", "{{ x |", "# answer: match a"]


@settings(max_examples=examples(90), deadline=None)
@given(st.sampled_from(sorted(PLACES)), secrets(), st.floats(0, 1), st.sampled_from(BREAKS), st.integers(0, 3))
def test_no_message_about_a_damaged_document_quotes_it(
    place: str, secret: str, where: float, inserted: str, removed: int
) -> None:
    """The problems that the log has, the reason of a 500, and what check and --why say."""
    extension, document = PLACES[place]
    text = document(secret)
    at = int(where * len(text))
    text = text[:at] + inserted + text[at + removed :]
    found, facts = catalogue({f"m1.{extension}": text, f"groups/g.{extension}": text}), facts_of(["m1"])
    checked = check(found, Tools.none())
    messages = [*map(str, load_problems(found)), *reasoning(found, facts).lines(), *checked.problems, *checked.notes]
    try:
        resolve(found, facts)
    except AnswerError as error:
        messages.append(str(error))
    assert leaked("\n".join(messages).replace("\\uXXXX", "")) is None


@settings(max_examples=examples(80), deadline=None)
@given(st.sampled_from(sorted(IN_URLS)), secrets(st.sampled_from(["", "@", "/", ":", "%40", "!"])), secrets())
def test_no_output_shows_a_password_in_a_url(place: str, secret: str, other: str) -> None:
    extension, document = IN_URLS[place]
    judge(extension, document(secret), document(other.translate(dict.fromkeys(map(ord, "\"'<&>\\ "), None))))


@settings(max_examples=examples(40), deadline=None)
@given(secrets(), st.sampled_from([",", ";", "\t"]), st.booleans())
def test_cells_of_columns_named_like_a_secret_are_hidden(secret: str, separator: str, is_quoted: bool) -> None:
    cell = '"' + secret.replace('"', '""') + '"'
    if not (is_quoted or {*secret} & {*"\"\n,;\t' #"}):
        cell = secret
    rows = [["id", "Root_Password", "note"], ["web-01", cell, "n1"], ["web-02", "", ""]]
    text = "".join(f"{separator.join(row)}\n" for row in rows)
    shown = redacted(text, "csv")
    assert leaked(shown) is None
    assert "web-01" in shown
    assert "n1" in shown
    assert leaked("\n".join(document_lines(Key(Kind.INVENTORY, "lab", "csv"), text, text.replace("n1", "n2")))) is None


def test_a_cell_is_hidden_below_the_line_that_names_the_separator() -> None:
    text = 'sep=;\nid;root_password\nweb-01;"hunter2!; ""x"""\n'
    assert redacted(text, "csv") == f"sep=;\nid;root_password\nweb-01;{SECRET}\n"


def test_a_secret_in_a_cell_of_any_column_is_hidden_and_the_other_cells_stay() -> None:
    text = "id,args,os\nweb-01,vnc password=hunter2!,ubuntu\nweb-02,x,hunter2!\n"
    assert redacted(text, "csv") == f"id,args,os\nweb-01,vnc password={SECRET},ubuntu\nweb-02,x,{SECRET}\n"


def test_a_cell_is_hidden_by_the_label_that_the_settings_give_its_column() -> None:
    labels = {"codewort": "root_password", "kennwort": "note"}
    text = "id,Codewort ,Kennwort,os\nweb-01,hunter2!,hunter3!,ubuntu\n"
    assert redacted(text, "csv", labels=labels) == text.replace("hunter2!", SECRET).replace("hunter3!", SECRET)
    changed = text.replace("hunter2!", "hunter4!")
    lines = document_lines(Key(Kind.INVENTORY, "lab", "csv"), text, changed, labels)
    assert lines == [f"-web-01  Codewort={SECRET}", "+web-01  Codewort=(secret, changed)"]
    assert redacted_row({"id": "web-01", "Codewort": "hunter2!"}, labels) == {"id": "web-01", "Codewort": SECRET}


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        pytest.param(
            "unattend",
            '<u><component name="Microsoft-Windows-Setup" publicKeyToken="31bf3856ad364e35" pass="x"/></u>',
            id="publicKeyToken",
        ),
        pytest.param(
            "unattend",
            "<u><Credentials><Domain>lab.example</Domain><Username>joiner</Username></Credentials></u>",
            id="who joins a domain",
        ),
        pytest.param(
            "unattend", "<u><ProductKey><WillShowUI>OnError</WillShowUI></ProductKey></u>", id="no key, but when to ask"
        ),
        pytest.param(
            "yaml", "lock_passwd: true\nssh_pwauth: false\npassword:\n  expire: false\n", id="words that tell nothing"
        ),
        pytest.param("yaml", 'password: "{{ secret.root-hash }}"\nx: "a"\n', id="a placeholder"),
        pytest.param("yaml", 'url: "https://u:{{ secret.pw }}@h/x"\nprivate_network: 10.0.0.0/8\n', id="in a URL"),
        pytest.param("ks", "rootpw --iscrypted {{ secret.root-hash | trim }}\nrootpw --lock\n", id="in a command"),
        pytest.param("preseed", "d-i passwd/root-password-crypted password {{ secret.hash }}\n", id="preseed"),
        pytest.param("cfg", "TOKEN_FILE=/etc/token\npassword_name: x\nsecretName: web\n", id="the place of a secret"),
        pytest.param("toml", 'x = "http://mirror.lab:8080/a@b.iso?x=1"\ny = "git@h:a"\n', id="no password in a URL"),
        pytest.param(
            "ks",
            "%post\ndocker run -p 8080:80 -u 33:33 x\ndocker login h && docker run -p 80 x\nmkdir -p /srv/mysql\n"
            "mysql -P 3306\nmysql -e x && mkdir -pv /x\nps -U a -o %cpu\nsystemctl --user=a%i\n"
            'send "hello\\r"\n%end\n',
            id="options that are no password",
        ),
        pytest.param("ipxe", "#!ipxe\nkernel http://boot/vmlinuz ip=dhcp\n", id="nothing"),
        pytest.param("csv", "id,mac,secret_name\nweb-01,98:fa:9b:50:d8:10,x\n", id="a table"),
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(extension: str, text: str) -> None:
    assert redacted(text, extension) == text
    assert redacted_pair(text, text, extension) == (text, text)


def test_of_an_attribute_exactly_the_value_is_hidden() -> None:
    text = """<a password = "ab&amp;cd" b='x'><c d="e"\n pwd='f"gh>i'/></a>"""
    assert redacted(text, "xml") == text.replace("ab&amp;cd", SECRET).replace('f"gh>i', SECRET)


def test_a_default_within_a_placeholder_is_hidden_and_the_placeholder_is_not() -> None:
    text = "rootpw {{ pw | default('hunter2!') }}\n"
    assert redacted(text, "ks") == f"rootpw {{{{ pw | default('{SECRET}') }}}}\n"


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        ("toml", 'a = \nb = 2\npassword = """\n@"""\n'),
        ("yaml", "a: [\nb: 1\npassword: >-\n  @\nc: 2\n"),
        ("yaml", "a: [\nusers:\n- name: deploy\n  passwd: @\n  shell: /bin/sh\n"),
        ("yaml", "a: [\nruncmd:\n- [useradd, -p, @, deploy]\n- [reboot]\n"),
        ("json", '{"a": 1, "password": "@", "c": [2}'),
        ("json", '{"a": ["docker", "login", "-p", "@", "h"}'),
        ("xml", "<a><user_password>@</user_password><b></a>"),
        ("xml", '<a b="c" password="@" d="e"><b></a>'),
    ],
)
def test_of_a_text_that_cannot_be_read_only_the_secret_is_hidden(extension: str, text: str) -> None:
    shown = redacted(text.replace("@", "hunter2!"), extension)
    assert re.sub(r"\"*\(secret\)\"*", SECRET, shown) == re.sub(r"\"*@\"*", SECRET, text).replace('"""', SECRET)


@pytest.mark.parametrize(
    "said",
    [
        "-----BEGIN RSA PRIVATE KEY-----QZXJVK",
        "$6$QZXJVKQZXJVK",
        "grub.pbkdf2.sha512.10000.QZXJVK",
        "AGE-SECRET-KEY-1QZXJVK",
        "Authorization: Basic QZXJVK",
        "bearer QZXJVKQZXJVK",
        "curl -u a:QZXJVK x",
        "curl --user 'a:QZXJVK' x",
        "useradd -p QZXJVK a",
        "sshpass -p QZXJVK ssh h",
        "mkpasswd QZXJVK",
        "openssl passwd -6 QZXJVK",
        "x -in y pass:QZXJVK",
        "NET USER a QZXJVK /add",
        "slmgr /ipk QZXJV-KQZXJ",
        "d-i a/b password QZXJVK",
        "https://a:QZXJVK@h/",
        "https://QZXJVK@h/",
        "run --passphrase QZXJVK",
        "PSK=QZXJVK",
        "set iscsi-pw QZXJVK",
        "rootpw QZXJVK",
        "<account_data>QZXJVK</account_data>",
        "echo QZXJVK | cryptsetup luksFormat x",
        "chpasswd <<< a:QZXJVK",
        "cryptsetup luksFormat /dev/sda2 <<< QZXJVK",
        "echo QZXJVK | kinit admin",
        "echo QZXJVK | sudo -S run",
        "echo QZXJVK | docker login --password-stdin",
        "docker login \\\n  -u a \\\n  -p QZXJVK h",
        "oc login -p QZXJVK",
        "mysqldump -h h -p'QZXJVK' db",
        "mysqladmin -u root password QZXJVK",
        "nmcli dev wifi connect lab password QZXJVK",
        "wpa_passphrase 'the lab' QZXJVK > x",
        "net ads join -Uadmin%QZXJVK",
        "smbclient //h/s -U 'LAB\\\\a%QZXJVK'",
        "curl -U a:QZXJVK --proxy h x",
        "ldapsearch -x -D cn=admin -w QZXJVK",
        "ipmitool -U a -P QZXJVK power on",
        "redis-cli -a QZXJVK ping",
        "htpasswd -bc f a QZXJVK",
        "SUSEConnect -r QZXJVK",
        "pro attach QZXJVK",
        "expect '*?assword:*'\nsend -- \"QZXJVK\\r\"",
        "CREATE USER a IDENTIFIED BY 'QZXJVK'",
        "ALTER ROLE a PASSWORD 'QZXJVK'",
        "ConvertTo-SecureString 'QZXJVK' -AsPlainText",
        "cmdkey /add:h /user:a /pass:QZXJVK",
        "mount -o user=a,pass=QZXJVK //h/s /m",
    ],
)
def test_each_look_of_a_secret_is_enough(said: str) -> None:
    """In a value, in a comment, and of a document that another takes the value from."""
    value = json.dumps(said)
    assert leaked(redacted(f"a = {value}\n# {said}\n", "toml")) is None
    assert leaked(" ".join(secrets_of(f"a = {value}\n", "toml"))) is not None


def test_a_value_that_moves_into_a_comment_is_hidden_there() -> None:
    before, after = redacted_pair("password: hunter2!\n", "password: other3!!\n# it was hunter2!\n", "yaml")
    assert (before, after) == (f"password: {SECRET}\n", f"password: {CHANGED}\n# it was {CHANGED}\n")


GIVEN = {
    "groups/g.ks": "# answer: members m1\nuser --name=a --password=QZXJVKQZ\nlang {{ secret.key }}\n",
    "m2.ks": "rootpw KVQZXJVK\n",
    "m1.yaml": "password: XJVKQZXJ\n",
}


@pytest.mark.parametrize(
    ("last_step", "shown"),
    [
        ('group "g" (ks)', "is (secret), (secret), KVQZXJVK, XJVKQZXJ, (secret)"),
        ("reported failed", "is (secret), (secret), KVQZXJVK, (secret), (secret)"),
    ],
)
def test_a_message_hides_the_secrets_of_the_documents_that_the_machine_was_given(last_step: str, shown: str) -> None:
    found = catalogue(GIVEN)
    record = {
        "machine": "m1",
        "identities": ["m1"],
        "last_step": last_step,
        "message": "is QZXJVKQZ, JVKJVKJVK, KVQZXJVK, XJVKQZXJ, $6$QZXJVKQZXJVK",
    }
    hidden = redacted_install(record, found, secret_sources("JVKJVKJVK"))
    assert hidden == {**record, "message": shown}
    assert redacted_install({**record, "message": ""}, found, NO_SOURCES)["message"] == ""


def test_check_says_how_many_secrets_a_document_holds_in_clear() -> None:
    found = catalogue(
        {"m1.ks": "lang en\nrootpw QZXJVKQZ\nuser --name=a --password=b\n", "m2.ks": "rootpw {{ secret.x }}\n"}
    )
    notes = [note for note in check(found, Tools.none(), sources=secret_sources("x1")).notes if "clear" in note]
    assert notes == [
        'machine "m1" (ks): holds 2 secrets in clear, the first in line 2: '
        "keep them in files, and write {{ secret.NAME }}"
    ]


def secret_sources(value: str) -> Sources:
    return Sources(secret=lambda _name, _machines: value)


@settings(max_examples=examples(60), deadline=None)
@given(secrets(st.one_of(SIGNS, LINED)), st.sampled_from(["ks", "yaml", "toml", "xml", "json", "preseed"]))
def test_secrets_of_placeholders_are_hidden_and_lines_stay(secret: str, extension: str) -> None:
    texts = {
        "ks": "lang en\n%pre\n{{ secret.key }}\n%end\n# {{ secret.key }}\nreboot\n",
        "preseed": "d-i a/b string {{ secret.key }}\nd-i c/d string x\n",
        "yaml": 'a: "{{ secret.key }}"\nb: "x {{ secret.key }} y"\nc: 1\n',
        "toml": 'a = "{{ secret.key }}"\nb = "x {{ secret.key | upper }}"\nc = 1\n',
        "xml": '<a b="{{ secret.key }}">{{ secret.key }}<c/></a>\n',
        "json": '{"a": "{{ secret.key }}", "b": ["{{ secret.key }}"]}\n',
    }
    found, facts, sources = catalogue({f"m1.{extension}": texts[extension]}), facts_of(["m1"]), secret_sources(secret)
    answer = resolve(found, facts, sources=sources)
    assert leaked(answer.body.decode()) is not None
    shown = redacted_answer(found, answer, facts, sources)
    assert leaked(shown) is None
    assert shown.count("\n") == answer.body.decode().count("\n")
    assert leaked(explained(answer, None, shown)) is None
    checked = check(found, Tools.none(), sources=sources)
    assert leaked("\n".join([*checked.problems, *checked.notes])) is None
    verdict = validate(
        answer.body.decode(),
        extension,
        tools=Tools.none(),
        secrets=lambda: known_values(found, answer, facts, sources),
    )
    assert leaked("\n".join(finding.message for finding in (*verdict.findings, *verdict.warnings))) is None


@pytest.mark.parametrize("said", ["ZQXJKV", "'ZQXJ'KV", "ZQXJ\\KV", '"ZQXJKV"', "ZQXJKV once ZQXJKV"])
def test_a_message_that_drops_quotes_and_backslashes_hides_the_secret(said: str) -> None:
    hide = hiding(f"rootpw {said}\n", "ks")
    assert hide("Unknown command: ZQXJKV (rootpw)") == "Unknown command: (secret) (rootpw)"


@pytest.mark.parametrize(
    ("secret", "message", "shown"),
    [
        ("pin", "argument --size: invalid value: 'pin'", "argument --size: invalid value: '(secret)'"),
        ("part", "partition: part", "partition: (secret)"),
        ("longer than a word", "xlonger than a wordx", "x(secret)x"),
        ("a\\b'\"c", repr("a\\b'\"c"), "'(secret)'"),
        ("line one\nline two", repr("x\nline two"), "'x\\n(secret)'"),
    ],
)
def test_a_secret_of_the_answer_is_hidden_in_a_message_and_nothing_else(secret: str, message: str, shown: str) -> None:
    assert hiding("lang en\n", "ks", [secret])(message) == shown


KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "ZQXJKVZQXJKV\n" * 5 + "\n" + "-----END OPENSSH PRIVATE KEY-----"
)  # a blank line within


@pytest.mark.parametrize(
    ("extension", "text"),
    [
        ("yaml", "k1: v1\nkey: |\n" + "".join(f"  {line}\n" for line in KEY.split("\n")) + "after: X1\n"),
        ("ks", f"lang en\n%pre\n{KEY}\n%end\nafter X1\n"),
        ("ks", "lang en\n%pre\n{{ secret.key }}\n%end\nafter X1\n# {{ secret.key }} after\n"),
        ("yaml", 'k1: v1\nkey: "{{ secret.key }}"\nafter: X1\n'),
        ("toml", f"k1 = 1\ntoken = '''\n{KEY}'''\nafter = 'X1'\n"),
    ],
)
def test_the_console_shows_the_origin_of_lines_below_a_secret_of_several_lines(extension: str, text: str) -> None:
    found, sources = catalogue({f"m1.{extension}": text}), secret_sources(KEY)
    shown = Resolver(found, sources).resolved(facts_of(["m1"]))
    place = text.split("\n").index(next(line for line in text.split("\n") if line.startswith("after"))) + 1
    ((origin, where),) = {origin for line in shown.lines if line.text.startswith("after") for origin in line.origins}
    assert origin.endswith(f":{place}")
    assert where.endswith(f"&line={place}")
    assert leaked("\n".join(line.text for line in shown.lines)) is None
    assert len(shown.lines) == len(
        resolve(found, facts_of(["m1"]), sources=sources).body.decode().rstrip("\n").split("\n")
    )


def test_a_page_judges_no_answer_that_takes_long() -> None:
    line = "langg x\n"
    for lines, is_judged in ((10, True), (LONGEST_JUDGED // len(line) + 1, False)):
        shown = Resolver(catalogue({"m1.ks": line * lines}), NO_SOURCES).resolved(facts_of(["m1"]))
        assert bool(shown.findings) == is_judged
        assert bool(shown.warnings) != is_judged


@pytest.mark.parametrize("secret", ["Secret1xY", "hunter2!", "hunter2", "Hunter", "hunting"])
def test_what_repeats_a_secret_is_hidden(secret: str) -> None:
    shown = redacted(f"rootpw {secret}\n# it is {secret} again\n", "ks")
    assert shown == f"rootpw {SECRET}\n# it is {SECRET} again\n"


def test_a_secret_that_is_called_password_leaves_the_word_in_comments() -> None:
    assert redacted("rootpw password\n# set the password\n", "ks") == f"rootpw {SECRET}\n# set the password\n"


@pytest.mark.parametrize("sign", [";", "&", "|", "&&", "<", ">", "<<", "<<<", "(", ")", "$(", "`", "a;b;"])
@pytest.mark.parametrize("command", ["rootpw", "rootpw --plaintext", "sshpw --username=ops"])
def test_signs_of_a_shell_are_part_of_a_password_where_no_shell_reads(command: str, sign: str) -> None:
    text = f"lang en_US\n{command} x{sign}QZXJVK\ntimezone Europe/Berlin\n"
    assert redacted(text, "ks") == f"lang en_US\n{command} {SECRET}\ntimezone Europe/Berlin\n"
