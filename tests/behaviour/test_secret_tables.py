"""Each line of the tables of secrets, in every spelling that its family has; and what is none, in the same ones."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerd.answers.redaction import redacted, secrets_in_clear
from answerd.answers.secret_names import SECRET, is_secret_name
from answerd.answers.secrets import innocent, names
from answerd.answers.secrets.commands import COMMANDS, Command
from answerd.answers.secrets.fields import FIELDS, LAST_NAMES, Field
from answerd.answers.secrets.forms import FORMS
from tests.support.thorough import examples

pytestmark = pytest.mark.long

VALUE = "Zq7Rk2Lm9X"
"""A secret that nothing around it has a part of."""

Spelling = tuple[str, Callable[[str, str], str]]

OF_NAMES: dict[str, Spelling] = {
    "json": ("json", lambda n, v: json.dumps({"a": {n: v}}, ensure_ascii=False)),
    "json in a list": ("ign", lambda n, v: json.dumps([{"name": n, "value": v}], ensure_ascii=False)),
    "json of arguments": ("json", lambda n, v: json.dumps(["run", f"--{n}", v], ensure_ascii=False)),
    "toml": ("toml", lambda n, v: f"[a]\n\"{n}\" = {json.dumps(v)}\n"),
    "yaml": ("yaml", lambda n, v: f"a:\n- \"{n}\": {json.dumps(v)}\n  b: 1\n"),
    "yaml plain": ("yaml", lambda n, v: f"a: {{{n}: {v}}}\n"),
    "yaml in a comment": ("yaml", lambda n, v: f"a: 1\n# {n}: {v}\n"),
    "yaml in a file": ("yaml", lambda n, v: f"write_files:\n- path: /etc/x\n  content: |\n    b=1\n    {n} = {v}\n"),
    "element": ("autoyast", lambda n, v: f"<a><{n}>{escape(v)}</{n}></a>"),
    "element of another name": ("xml", lambda n, v: f'<a><header name="{n}">{v}</header></a>'),
    "element beside": ("xml", lambda n, v: f"<a><key>{n}</key><value>{v}</value></a>"),
    "element in a text": ("unattend", lambda n, v: f"<a><File><![CDATA[<b><{n}>{v}</{n}></b>]]></File></a>"),
    "setting": ("cfg", lambda n, v: f"b = 1\n{n} = {v}\nc = 2\n"),
    "setting of YAML": ("cfg", lambda n, v: f"b: 1\n{n}: {v}\nc: 2\n"),
    "variable": ("ks", lambda n, v: f"%post\nexport {n}={v}\nrun\n%end\n"),
    "variable before a command": ("ks", lambda n, v: f"%post\nA=1 {n}={v} run\n%end\n"),
    "option": ("ks", lambda n, v: f"part / --{n}={v} --fstype=ext4\n"),
    "option and a blank": ("ks", lambda n, v: f"part / --{n} {v} --fstype=ext4\n"),
    "option of Windows": ("unattend", lambda n, v: f"<a><Path>run.exe /{n} {v} /f</Path></a>"),
    "question": ("preseed", lambda n, v: f"d-i a/b string x\nd-i x/{n} string {v}\nd-i c/d string y\n"),
    "question of a misspelled type": ("preseed", lambda n, v: f"d-i x/{n} passwrd {v}\nd-i c/d string y\n"),
    "loader": ("ipxe", lambda n, v: f"#!ipxe\nset {n} {v}\nboot\n"),
    "argument of a kernel": ("ipxe", lambda n, v: f"#!ipxe\nkernel k a=1 {n}={v} b=2\n"),
    "query of a URL": ("toml", lambda n, v: f'url = "https://h.lab/x?a=1&{n}={v}&b=2"\n'),
}  # fmt: skip
"""How families write a name with its value: the format, and the text."""

SECRET_NAMES = [
    *(name for name, _ in (*names.WITHIN, *names.LAST_WORDS, *names.WORDS)),
    names.ENDS_WITH_PRIVATE[0],
]


def of_spellings(name: str) -> Iterator[str]:
    yield from (
        name,
        name.upper(),
        name.capitalize(),
        f"db_{name}",
        f"X-{name}",
        f"my.{name}",
        f"the{name.capitalize()}",
    )


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_value_under_a_secret_name_is_hidden_in_every_family(name: str) -> None:
    for spelled in of_spellings(name):
        for what, (extension, text) in OF_NAMES.items():
            shown = redacted(text(spelled, VALUE), extension)
            assert VALUE[:4] not in shown, (what, spelled)
            assert spelled in shown, (what, spelled)


@pytest.mark.parametrize("name", [name for name, _ in names.IN_QUERIES])
def test_a_name_of_queries_is_one_in_a_query_only(name: str) -> None:
    extension, text = OF_NAMES["query of a URL"]
    assert VALUE not in redacted(text(name, VALUE), extension)
    extension, text = OF_NAMES["json"]
    assert VALUE in redacted(text(name, VALUE), extension)


@pytest.mark.parametrize("question", [question for question, _ in names.QUESTIONS])
def test_a_question_of_several_words_hides_its_answer(question: str) -> None:
    for text in (f"{question.capitalize()} for root = {VALUE}\n", f"The {question.title()}? = {VALUE}\n"):
        assert redacted(text, "cfg") == text.replace(VALUE, SECRET)


@pytest.mark.parametrize("file", [name for name, _ in names.SECRET_FILES])
def test_the_content_of_a_secret_file_is_hidden(file: str) -> None:
    path = f"/etc/x{file}" if file.startswith(".") else f"/etc/{file}"
    of_yaml = f"write_files:\n- path: {path}\n  content: {VALUE}\n"
    of_shell = f"%post\necho '{VALUE}' > {path}\n%end\n"
    assert redacted(of_yaml, "yaml") == of_yaml.replace(VALUE, SECRET)
    assert redacted(of_shell, "ks") == of_shell.replace(VALUE, SECRET)


def a_field(field: Field, value: str) -> dict[str, object]:
    where, wanted = field.where
    *above, last = [name.replace("*", "any") for name in field.path.split("/")]
    tree: dict[str, object] = {last: value}
    if where and not where.startswith("/"):
        tree[where] = wanted
    for name in reversed(above):
        tree = {name: tree}
    return {where[1:]: wanted, **tree} if where.startswith("/") else tree


def as_xml(tree: object) -> str:
    if isinstance(tree, dict):
        return "".join(f"<{name}>{as_xml(value)}</{name}>" for name, value in tree.items())
    return escape(str(tree))


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.path)
def test_a_field_of_a_format_is_hidden_and_only_there(field: Field) -> None:
    value = VALUE
    if field.sign:
        value = f"data:,{VALUE}" if field.sign == "," else f"user{field.sign}{VALUE}"
    tree = a_field(field, value)
    texts = {"json": json.dumps(tree), "yaml": json.dumps(tree, indent=1)}
    if not field.where[0].startswith("/") and not re.search(r"/\d", field.path):
        texts["xml"] = f"<a>{as_xml(tree)}</a>"
    for extension, text in texts.items():
        assert redacted(text, extension) == text.replace(VALUE, SECRET)
    assert VALUE in redacted(json.dumps({"other": value}), "json")


@pytest.mark.parametrize("name", LAST_NAMES)
def test_a_field_is_hidden_in_a_text_that_does_not_parse(name: str) -> None:
    assert any(field.path.rpartition("/")[2] == name for field in FIELDS)
    for extension, text in {
        "yaml": f"a: [\n  b:\n    {name}: {VALUE}\n",
        "json": f'{{"a": {{"{name}": "{VALUE}"\n',
        "toml": f"a = [\n{name} = '{VALUE}'\n",
    }.items():
        assert redacted(text, extension) == text.replace(VALUE, SECRET)


# Commands.


def words_of(command: Command, place: str) -> Iterator[list[str]]:
    """Yield the words of a command with a secret at a place, in each way that the place may be written."""
    program, *others = command.words.lstrip("^").split()
    options = command.given and [command.given, "DefaultPassword"]
    words = [program, *("-S" if word == "-s" else word for word in others), *(options or [])]
    secret = f"user{command.sign}{VALUE}" if command.sign else VALUE
    option = place.rstrip("+!")
    if place.lstrip("=").isdigit():
        yield [*words, *["first", "second", "third"][: int(place.lstrip("=")) - 1], secret]
    elif place in ("last", "all"):
        yield [*words, secret]
    elif place == "*":
        yield [*words, "the.password", secret]
    elif place[0] not in "-/":
        yield [*words, place, secret]
    else:
        if place[-1] != "+":
            yield [*words, option, secret]
        if place[-1] != "!" and option.startswith("--"):
            yield [*words, f"{option}={secret}", "more"]
        elif place[-1] != "!" and option.startswith("/"):
            yield [*words, f"{option}:{secret}"]
        elif place[-1] != "!" and len(option) == 2:
            yield [*words, f"{option}{secret}", "more"]
            if place[-1] != "+":
                yield [*words, f"-xf{option[1]}", secret]


def shell(word: str) -> str:
    return f"'{word}'"


def line_of(words: list[str]) -> str:
    return " ".join(words)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OF_LINES: dict[str, Spelling] = {
    "script": ("ks", lambda n, v: f"%post\nset -e\n{v}\nrun\n%end\n"),
    "after another command": ("ks", lambda n, v: f"%post\ncd /x && {v} || exit 1; run\n%end\n"),
    "continued": ("ks", lambda n, v: "%post\n" + v.replace(" ", " \\\n  ") + "\n%end\n"),
    "sudo": ("ks", lambda n, v: f"%post\nif true; then sudo {v}; fi\n%end\n"),
    "with a path": ("ks", lambda n, v: f"%post\n/usr/local/sbin/{v}\n%end\n"),
    "in a root": ("ks", lambda n, v: f"%post\nchroot /mnt/sysimage {v} > /dev/null 2>&1\n%end\n"),
    "in quotes": ("ks", lambda n, v: f'%post\nsh -c "{v}"\n%end\n'),
    "in a comment": ("yaml", lambda n, v: f"a: 1\n# {v}\n"),
    "string of a list": ("yaml", lambda n, v: f"runcmd:\n- {json.dumps(v)}\n- ls\n"),
    "block": ("yaml", lambda n, v: f"write_files:\n- content: |\n    #!/bin/sh\n    {v}\n    ls\n"),
    "folded block": ("yaml", lambda n, v: f"runcmd:\n- >-\n  echo begins;\n  {v}\n"),
    "json": ("ign", lambda n, v: json.dumps({"contents": f"[Service]\nExecStart={v}\n"})),
    "toml": ("toml", lambda n, v: f"run = {json.dumps(v)}\n"),
    "xml": ("autoyast", lambda n, v: f"<a><source>{escape(v)}</source></a>"),
    "preseed": ("preseed", lambda n, v: f"d-i preseed/late_command string in-target {v}; ls\nd-i a/b string x\n"),
    "data URL": ("ign", lambda n, v: json.dumps({"source": f"data:,{quote(f'ls{chr(10)}{v}{chr(10)}')}"})),
    "data URL, base64": ("ign", lambda n, v: json.dumps({"source": f"data:;base64,{encoded('#!/bin/sh;' + v)}"})),
    "base64": ("yaml", lambda n, v: f"write_files:\n- encoding: b64\n  content: {encoded(v + chr(10))}\n"),
}  # fmt: skip

OF_LISTS: dict[str, tuple[str, Callable[[list[str]], str]]] = {
    "yaml": ("yaml", lambda words: f"runcmd:\n- {json.dumps(words)}\n- [ls, -l]\n"),
    "yaml block": ("yaml", lambda words: "runcmd:\n- " + "".join(f"- {json.dumps(word)}\n  " for word in words) + "\n"),
    "after curtin": ("yaml", lambda words: f"late:\n- {json.dumps(['curtin', 'in-target', '--', *words])}\n"),
    "json": ("json", lambda words: json.dumps({"a": [words]})),
    "toml": ("toml", lambda words: f"a = {json.dumps(words)}\n"),
    "with a path": ("json", lambda words: json.dumps([f"/usr/bin/{words[0]}", *words[1:]])),
    "of Windows": ("json", lambda words: json.dumps([f"C:\\Windows\\System32\\{words[0].upper()}.EXE", *words[1:]])),
}

PLACES = [
    pytest.param(command, place, id=f"{command.words} {place}")
    for command in COMMANDS
    for place in command.places.split()
    if place not in ("<", "/")
]


@pytest.mark.parametrize(("command", "place"), PLACES)
def test_the_secret_of_a_command_is_hidden_however_it_is_written(command: Command, place: str) -> None:
    for words in words_of(command, place):
        if command.words.startswith("^"):
            text = f"{line_of(words)}\nnext\n"
            assert redacted(text, "ks") == text.replace(VALUE, SECRET)
            continue
        for what, (extension, document) in OF_LINES.items():
            shown = redacted(document("", line_of(words)), extension)
            assert VALUE[:4] not in shown, (what, words)
        for what, (extension, of_list) in OF_LISTS.items():
            text = of_list(words)
            shown = text.replace(f"user:{VALUE}" if command.sign and is_secret_name(words[-2]) else VALUE, SECRET)
            assert redacted(text, extension) == shown, (what, words)
        quoted = [f"'{word}'" if VALUE in word else word for word in words]
        assert VALUE[:4] not in redacted(f"%post\n{line_of(quoted)}\n%end\n", "ks")


READERS = [command for command in COMMANDS if "<" in command.places.split()]


@pytest.mark.parametrize("command", READERS, ids=lambda command: command.words)
def test_what_a_command_reads_is_hidden(command: Command) -> None:
    secret = f"user{command.sign}{VALUE}" if command.sign else VALUE
    runs = command.words.replace("sudo -s", "sudo -S")
    more = "" if command.places[0] in "1l" else " x"
    texts = [
        f"echo {secret} | {runs}{more}",
        f"echo -n '{secret}' | sudo /usr/sbin/{runs}",
        f'printf "%s\\n" "{secret}" | {runs}',
        f"(echo {secret}; echo {secret}) | {runs}",
        f"{runs} <<< {secret}",
        f"{runs} <<'EOF'\n{secret}\nEOF",
        f"cat <<-EOF | {runs}{more}\n{secret}\n\tEOF",
        f"echo {secret} |\n  {runs}",
    ]
    for text in texts:
        script = f"%post\n{text}\nls\n%end\n"
        assert redacted(script, "ks") == script.replace(VALUE, SECRET)
        of_yaml = json.dumps({"runcmd": [text, "ls"]})
        assert redacted(of_yaml, "yaml") == of_yaml.replace(VALUE, SECRET)


@pytest.mark.parametrize("runs", ["passwd root", "kinit admin", "cryptsetup luksFormat /dev/sda2"])
def test_what_is_beside_a_secret_in_a_pipe_is_shown(runs: str) -> None:
    text = f"echo begins\necho {VALUE} | {runs} && echo done\ngetent passwd | cut -d: -f1\n"
    assert redacted(text, "ks") == text.replace(VALUE, SECRET)


# Forms.


BODY = "Zq7Rk2Lm9X" * 5

EXAMPLES = {
    "crypt(5)": f"$6$salt${BODY}",
    "PHC strings": f"$argon2id$v=19${BODY}",
    "GRUB manual": f"grub.pbkdf2.sha512.10000.{BODY}",
    "slapd.conf(5) rootpw": f"{{SSHA}}{BODY}",
    "age": f"AGE-SECRET-KEY-1{BODY}",
    "RFC 7519": f"eyJ{BODY}.eyJ{BODY}.{BODY}",
    "GitHub": f"ghp_{BODY}",
    "GitLab": f"glpat-{BODY}",
    "Slack": f"xoxb-{BODY}",
    "HashiCorp Vault": f"hvs.{BODY}",
    "Tailscale": f"tskey-auth-{BODY}",
    "Stripe": f"sk_live_{BODY}",
    "DigitalOcean": f"dop_v1_{BODY}",
    "npm": f"npm_{BODY}",
    "PyPI": f"pypi-Ag{BODY}",
    "SendGrid": f"SG.{BODY}.{BODY}",
    "Google": f"AIza{BODY[:35]}",
    "k3s: the token of a server": f"K10{'0123456789' * 5}::server:{BODY}",
    "Proxmox: a subscription key": "pve2c-0123456789",
    "Windows: a product key": "ZQ7RK-ZQ7RK-ZQ7RK-ZQ7RK-ZQ7RK",
    "RFC 9110, Authorization and Proxy-Authorization": f"Authorization: Basic {BODY}",
    "RFC 6750": f"use the bearer {BODY}",
    "openssl-passphrase-options(1), mount.cifs(8)": f"-out x pass:{BODY}",
    "SQL: CREATE USER and ALTER ROLE": f"CREATE USER a IDENTIFIED BY '{BODY}'",
    "expect(1)": f"expect assword: send -- {BODY}",
    "English: a comment of a kickstart, password is: x": f"Plaintext password is: {BODY}",
    "crypt() of Perl, PHP and Python": f"print(crypt('{BODY}'))",
}
"""An example of each form, by its source."""


def test_each_form_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(source for _, source, _ in FORMS)


@pytest.mark.parametrize(("pattern", "source", "signs"), FORMS, ids=[source for _, source, _ in FORMS])
def test_a_form_is_hidden_in_every_family(pattern: str, source: str, signs: str) -> None:
    text = EXAMPLES[source]
    found = re.search(pattern, text)
    assert found is not None
    value = found["value" if "value" in found.groupdict() else 0].strip("'")
    for extension, around in AROUND.values():
        document = around("", text)
        shown = redacted(document, extension)
        assert value not in shown, (extension, document)
        assert "Zq7R" not in shown
        assert encoded(text)[8:24] not in shown


@pytest.mark.parametrize(("pattern", "source", "signs"), FORMS, ids=[source for _, source, _ in FORMS])
@settings(max_examples=examples(50))
@given(data=st.data())
def test_each_text_of_a_form_has_one_of_its_signs(pattern: str, source: str, signs: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern.replace(r"(?<!\w)", "").replace(r"(?<![\w.-])", "")))
    assert any(sign in text.casefold() for sign in signs.split()), (source, text)


@pytest.mark.parametrize(("pattern", "signs"), [(pattern, signs) for pattern, _, signs in FORMS if "(?i" in pattern])
def test_letters_that_python_takes_for_others_are_in_no_sign(pattern: str, signs: str) -> None:
    assert "i" not in signs, pattern


KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIZq7Rk2Lm9XAAAA\nZq7Rk2Lm9X+/==\n-----END EC PRIVATE KEY-----\n"


@pytest.mark.parametrize("name", ["key", "a", "content"])
@pytest.mark.parametrize("spelled", [KEY, encoded(KEY), f"data:;base64,{encoded(KEY)}", f"data:,{quote(KEY)}"])
def test_a_private_key_is_hidden_under_any_name(name: str, spelled: str) -> None:
    for extension, text in {
        "json": json.dumps({name: spelled}),
        "yaml": f"{name}: {json.dumps(spelled)}\n",
        "xml": f"<{name}>{spelled}</{name}>",
        "toml": f"{name} = {json.dumps(spelled)}\n",
    }.items():
        shown = redacted(text, extension)
        assert "Zq7R" not in shown
        assert encoded(KEY)[40:60] not in shown


# What is no secret.

NEIGHBOURS = (
    ("deploy ALL=(ALL) NOPASSWD: ALL", "sudoers(5)"),
    ("%wheel ALL=(ALL) NOPASSWD:/usr/bin/systemctl", "sudoers(5)"),
    ("pam_password md5", "ldap.conf(5)"),
    ("getent passwd | cut -d: -f1", "getent(1)"),
    ("getent passwd deploy >/dev/null || useradd -m deploy", "getent(1)"),
    ("cryptsetup luksDump /dev/sda2 | grep -q Version", "cryptsetup(8)"),
    ("cut -d: -f1 /etc/passwd | sort", "passwd(5)"),
    ("passwd -l root && echo locked", "passwd(1)"),
    ("usermod -L -s /sbin/nologin games", "usermod(8)"),
    ("useradd -m -G wheel -s /bin/bash deploy", "useradd(8)"),
    ("adduser --disabled-password --gecos Deploy deploy", "adduser(8)"),
    ("dnf install -y openssl mkpasswd sshpass curl", "dnf(8)"),
    ("apt-get install --no-install-recommends whois passwd", "apt-get(8)"),
    ("mysql -p mydatabase", "mysql(1): the word after -p is the database"),
    ("docker login --password-stdin registry.lab", "docker login"),
    ("PASSWORD=$(openssl rand -base64 12)", "sh(1)"),
    ('PASSWORD="$1"', "sh(1)"),
    ("TOKEN=${TOKEN:-}", "sh(1)"),
    ('echo "$PASSWORD" | passwd --stdin root', "sh(1)"),
    ("private_key: /etc/ssl/private/host.key", "a place"),
    ("blkid --match-token TYPE=crypto_LUKS", "blkid(8)"),
    ("auth [success=end new_authtok_reqd=done default=ignore] pam_x.so", "pam.conf(5)"),
    ("docker run -v $PWD:/code -w /code image make", "docker-run(1)"),
    ("cryptsetup open --key-file - --test-passphrase /dev/sda1", "cryptsetup(8)"),
    ("sed -i 's/PasswordAuthentication no/PasswordAuthentication yes/' /etc/ssh/sshd_config", "sed(1)"),
    ("password: <%= values.fetch(1) %>", "a template of another program"),
    ("root_password: @ROOT_PASSWORD@", "a template of another program"),
    ("User for D-Bus and others", "English"),
    ("ssl_key_password_file /etc/nginx/pass", "nginx"),
    ("auth_token_expiration: 3600", "OpenStack"),
    ("passwd:         files systemd", "nsswitch.conf(5)"),
    ("password requisite pam_pwquality.so retry=3", "pam.conf(5)"),
    ("password include system-auth", "pam.conf(5)"),
    ("password [success=1 default=ignore] pam_unix.so obscure yescrypt", "pam.conf(5)"),
    ("PASS_MAX_DAYS 99999", "login.defs(5)"),
    ("PasswordAuthentication no", "sshd_config(5)"),
    ("PermitEmptyPasswords no", "sshd_config(5)"),
    ("PrivateTmp=true", "systemd.exec(5)"),
    ("http://mirror.private.lab:8080/x", "a host"),
    ("proxy.pw:3128", "a host"),
    ("curl -fsSL -o /tmp/x https://h.lab:8443/x?version=3", "curl(1)"),
    ("part /home --encrypted --backuppassphrase", "ks(5)"),
    ("part --encrypted --backuppassphrase /home", "ks(5)"),
    ("pwpolicy root --minlen=6 --minquality=1 --notstrict --nochanges", "ks(5)"),
    ("auth --enableshadow --passalgo=sha512", "ks(5)"),
    ("rootpw --lock", "ks(5)"),
    ("d-i passwd/root-login boolean false", "debian-installer"),
    ("d-i passwd/user-fullname string Deploy User", "debian-installer"),
    ("d-i user-setup/allow-password-weak boolean true", "debian-installer"),
    ("d-i pkgsel/include string openssh-server mkpasswd whois", "debian-installer"),
    ("d-i netcfg/wireless_security_type select wpa", "debian-installer"),
    ("net user deploy /active:yes", "net user"),
    ("ssh-keygen -t ed25519 -N '' -f /etc/ssh/key", "ssh-keygen(1)"),
    ("sed -i 's/^#*PasswordAuthentication.*/PasswordAuthentication no/' /etc/ssh/sshd_config", "sed(1)"),
    ("systemctl enable --now kinit.service", "systemctl(1)"),
    ("subscription-manager register --help", "subscription-manager"),
    ("made with openssl passwd -6", "a comment"),
    ("made with 'mkpasswd -m sha-512'", "a comment"),
    ("user nginx nginx;", "nginx"),
    ('read -r -s -p "Password: " ANSWER', "bash(1)"),
    ('show() { echo "token: $1"; }', "bash(1)"),
    ("Set the password for the admin: it is changed at first boot", "a comment"),
    ('settings[@pass="oobeSystem"]/component/FirstLogonCommands', "a path of XML, as control keys have it"),
)
"""Lines of real files that look like secrets, with where they are from."""

AROUND: dict[str, Spelling] = {
    "script": ("ks", lambda n, v: f"%post\n{v}\nls\n%end\n"),
    "comment": ("ks", lambda n, v: f"lang en\n# {v}\ntimezone UTC\n"),
    "block": ("yaml", lambda n, v: f"a:\n- content: |\n    b\n    {v}\n    c\n"),
    "json": ("json", lambda n, v: json.dumps({"a": f"b\n{v}\nc"})),
    "toml": ("toml", lambda n, v: f"a = {json.dumps(v)}\n"),
    "xml": ("xml", lambda n, v: f"<a>{escape(v)}</a>"),
    "yaml in a comment": ("yaml", lambda n, v: f"a: 1\n# {v}\nb: 2\n"),
    "preseed in a comment": ("preseed", lambda n, v: f"d-i a/b string x\n# {v}\nd-i c/d string y\n"),
    "data URL": ("ign", lambda n, v: json.dumps({"source": f"data:,{quote(v)}"})),
    "base64": ("ign", lambda n, v: json.dumps({"source": f"data:;base64,{encoded(v)}"})),
}


@pytest.mark.parametrize(("line", "source"), NEIGHBOURS, ids=[line for line, _ in NEIGHBOURS])
def test_a_neighbour_of_a_secret_is_shown_in_every_family(line: str, source: str) -> None:
    for extension, around in AROUND.values():
        text = around("", line)
        assert redacted(text, extension) == text
        assert secrets_in_clear(text, extension, "\0") == (0, 0)


INNOCENT_NAMES = [
    *(name for name, _ in innocent.NAMES),
    *(f"password{word.capitalize()}" for word, _ in innocent.LAST_WORDS),
    *(f"{word}_password" for word, _ in innocent.FIRST_WORDS),
    *(f"token_{part}" for part, _ in innocent.WITHIN),
    *innocent.WORDS_THAT_END_IN_PASS,
]


@pytest.mark.parametrize("name", INNOCENT_NAMES)
def test_a_name_that_looks_like_a_secrets_hides_nothing(name: str) -> None:
    for what, (extension, text) in OF_NAMES.items():
        document = text(name, "Innocent12")
        assert redacted(document, extension) == document, what


@pytest.mark.parametrize("value", [value for value, _ in innocent.VALUES])
def test_a_value_that_is_no_secret_is_shown_under_any_name(value: str) -> None:
    for extension, text in (OF_NAMES["json"], OF_NAMES["toml"], OF_NAMES["setting"], OF_NAMES["yaml"]):
        document = text("password", value)
        assert redacted(document, extension) == document


@pytest.mark.parametrize("program", innocent.NAME_OTHERS)
def test_a_program_that_names_others_runs_none(program: str) -> None:
    for line in (f"{program} mkpasswd curl whois", f"echo text | {program} passwd", f"sudo {program} useradd -p word"):
        document = f"%post\n{line}\n%end\n"
        assert redacted(document, "ks") == document


@pytest.mark.parametrize("above", innocent.PACKAGE_LISTS)
def test_a_list_of_packages_is_no_command(above: str) -> None:
    document = json.dumps({above: ["mkpasswd", "htop", "curl"]})
    assert redacted(document, "yaml") == document


@pytest.mark.parametrize("name", [name for name, _ in innocent.BELOW])
def test_what_is_beside_a_secret_is_shown(name: str) -> None:
    document = f"<Credentials><{name}>Innocent12</{name}><Password>{VALUE}</Password></Credentials>"
    assert redacted(document, "xml") == document.replace(VALUE, SECRET)


STAYS = {
    "a user before a secret": "New-Object PSCredential('deploy', ('@' | ConvertTo-SecureString -AsPlainText -Force))",
    "a command in parentheses": "Set-LocalUser deploy -Password (ConvertTo-SecureString @ -AsPlainText -Force)",
    "a command as a value": "$pw = ConvertTo-SecureString '@' -AsPlainText -Force",
    "a quote after a variable": 'Environment="A=b" "TOKEN=@"',
    "a quote of a shell": "env 'TOKEN=@' run --all",
    "a later parameter": "kernel vmlinuz talos.config=http://h.lab/?token=@&mac=1 quiet",
    "a later parameter of a form": "curl -d 'password=@&user=deploy' https://h.lab/",
    "elements beside": "<sharedKey><keyType>passPhrase</keyType><keyMaterial>@</keyMaterial></sharedKey>",
}


@pytest.mark.parametrize("line", STAYS.values(), ids=STAYS)
def test_what_is_beside_a_secret_on_its_line_is_shown(line: str) -> None:
    for spelled in (line, f"  {line}", f'powershell.exe -c "{line}"' if '"' not in line else line):
        for extension, text in {
            "ks": f"%post\n{spelled}\n%end\n",
            "json": json.dumps({"a": f"[x]\n{spelled}\nb"}),
            "unattend": f"<a><Path>{escape(spelled, quote=False)}</Path></a>",
            "xml": f"<a><![CDATA[{spelled}]]></a>",
            "yaml": f"a: |\n  b\n  {spelled}\n",
        }.items():
            shown = redacted(text.replace("@", VALUE), extension)
            assert shown.replace(f"'{SECRET}'", SECRET) == text.replace("'@'", "@").replace("@", SECRET), extension


def test_a_name_of_a_user_is_shown_where_it_is_the_password_too() -> None:
    text = "users:\n- name: deploy1234\n  passwd: deploy1234\nhome: /home/deploy1234\n"
    assert redacted(text, "yaml") == text.replace("passwd: deploy1234", f"passwd: {SECRET}")
    kickstart = "user --name=deploy1234 --password=deploy1234\n# of deploy1234\n"
    assert redacted(kickstart, "ks") == kickstart.replace("--password=deploy1234", f"--password={SECRET}")


def test_what_repeats_a_secret_is_no_key_and_no_name_of_an_element() -> None:
    text = "<a><password>lockdown1</password><lockdown1>is lockdown1</lockdown1></a>"
    assert redacted(text, "xml") == f"<a><password>{SECRET}</password><lockdown1>is {SECRET}</lockdown1></a>"
    text = json.dumps({"password": "lockdown1", "lockdown1": "lockdown1"})
    assert redacted(text, "json") == json.dumps({"password": SECRET, "lockdown1": SECRET})


def test_a_password_of_a_preseed_hides_its_line_only() -> None:
    text = f"d-i passwd/root-password password a{VALUE} <<EOF\nd-i a/b string x\n"
    assert redacted(text, "preseed") == f"d-i passwd/root-password password {SECRET}\nd-i a/b string x\n"
    text = f"d-i preseed/late_command string chpasswd <<EOF root:{VALUE}\nd-i a/b string x\n"
    assert redacted(text, "preseed").endswith("\nd-i a/b string x\n")


def test_how_many_secrets_a_document_holds_in_clear_and_where_the_first_is() -> None:
    text = f"lang en\nrootpw {VALUE}\nuser --name=a --password=b{VALUE}\n# {{{{ secret.x }}}}\n"
    assert secrets_in_clear(text, "ks", "\0") == (2, 2)
    assert secrets_in_clear('rootpw "{{ secret.root }}"\n', "ks", "\0") == (0, 0)
    assert secrets_in_clear("rootpw {{ secret[site ~ '-root'] | slug }}\n", "ks", "\0") == (0, 0)
    assert secrets_in_clear("rootpw {{ secret['a'] }}PW\n", "ks", "\0") == (1, 1)
    assert secrets_in_clear("rootpw $6$EXAMPLE$abcdefgh\n", "ks", "$6$EXAMPLE$") == (0, 0)


WORDS = st.sampled_from(
    ["mirror", "eth0", "10.0.0.1", "UTC", "ext4", "deploy", "/srv/www", "en_US.UTF-8", "sshd", "--fstype=xfs", "80%"]
)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.one_of(st.lists(WORDS, min_size=1).map(" ".join), st.sampled_from([line for line, _ in NEIGHBOURS])))
)
def test_nothing_of_an_innocent_document_is_hidden(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    for extension, document in {
        "ks": f"lang en\n%post\n{text}%end\n",
        "yaml": "a: |\n  x\n" + "".join(f"  {line}\n" for line in lines),
        "json": json.dumps({"lines": [text, *(f"{line}\n" for line in lines)], "packages": ["mkpasswd", "curl"]}),
        "toml": f"a = {json.dumps(text)}\n",
        "xml": f"<a>{escape(text)}</a>",
        "preseed": "".join(f"# {line}\n" for line in lines),
        "ign": json.dumps({"source": f"data:;base64,{encoded(text)}", "other": f"data:,{quote(text)}"}),
    }.items():
        assert redacted(document, extension) == document


def test_no_name_of_the_tables_contradicts_another() -> None:
    assert [name for name in SECRET_NAMES if not is_secret_name(name)] == []
