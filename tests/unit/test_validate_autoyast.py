"""AutoYaST profiles: what its reader and its schema refuse is found, and other sections are left alone."""

from __future__ import annotations

import pytest

from answerd.validators import Tools, Verdict, validate

OPENS = '<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns">'
LIST = 'config:type="list"'
BOOLEAN = 'config:type="boolean"'
INTEGER = 'config:type="integer"'


def judged(*sections: str, opens: str = OPENS, extension: str = "autoyast") -> Verdict:
    return validate("\n".join([opens, *sections, "</profile>"]), extension, tools=Tools.none())


def user(inside: str) -> str:
    return f"<users {LIST}><user>{inside}</user></users>"


def partition(inside: str) -> str:
    partitions = f"<partitions {LIST}><partition>{inside}</partition></partitions>"
    return f"<partitioning {LIST}><drive>{partitions}</drive></partitioning>"


TAKEN = {
    "no section": [],
    "a boolean": [f"<general><mode><confirm {BOOLEAN}>false</confirm></mode></general>"],
    "a boolean by the short attribute": ['<general><mode><confirm t="boolean">true</confirm></mode></general>'],
    "a boolean by an attribute without a prefix": ['<general><cio_ignore type="boolean">true</cio_ignore></general>'],
    "blanks around a value": [f"<general><mode><confirm {BOOLEAN}> false\n</confirm></mode></general>"],
    "empty elements without a type": ["<general/>", "<timezone><timezone/></timezone>", user("<username/>")],
    "an empty list": [f"<partitioning {LIST}/>"],
    "a partition": [
        partition(
            f'<create {BOOLEAN}>true</create><filesystem config:type="symbol">ext4</filesystem><mount>/</mount>'
            f"<size>max</size><partition_id {INTEGER}>131</partition_id>"
        )
    ],
    "a subvolume in each form": [
        partition(
            f"<subvolumes {LIST}><subvolume>a</subvolume><listentry>b</listentry>"
            f"<subvolume><path>c</path><copy_on_write {BOOLEAN}>false</copy_on_write></subvolume></subvolumes>"
        )
    ],
    "items of the general name": [f"<software><packages {LIST}><listentry>vim</listentry></packages></software>"],
    "services in each form": [
        f"<services-manager><services {LIST}><service>sshd</service></services></services-manager>",
        f"<runlevel><services {LIST}><service><service_name>sshd</service_name></service></services></runlevel>",
    ],
    "services by what becomes of them": [
        f"<services-manager><services><enable {LIST}><service>sshd</service></enable></services></services-manager>"
    ],
    "a script as CDATA": [
        f"<scripts><init-scripts {LIST}><script><source><![CDATA[a && b]]></source></script></init-scripts></scripts>"
    ],
    "a section that is not judged": ["<nfs><a><b>c</b></a></nfs>"],
    "an element of another schema": ['<x:note xmlns:x="urn:x">a</x:note>'],
}
REFUSED: dict[str, tuple[str, str, str]] = {
    "a word for a boolean": (
        f"<general><mode><confirm {BOOLEAN}>yes</confirm></mode></general>",
        "general.mode.confirm",
        "'true' or 'false'",
    ),
    "a boolean without its type": (
        "<general><mode><confirm>false</confirm></mode></general>",
        "general.mode.confirm",
        'with config:type="boolean"',
    ),
    "a text beside elements": (user("x<username>root</username>"), "users.0", "a text beside elements"),
    "a text in a list": (f"<users {LIST}>x<user/></users>", "users", "a text beside elements"),
    "two attributes for the type": (f'<users {LIST} t="list"/>', "users", "both 't' and 'type'"),
    "a type that there is not": (
        '<general><mode><confirm config:type="bolean">true</confirm></mode></general>',
        "general.mode.confirm",
        "did you mean 'boolean'?",
    ),
    "an integer of letters": (
        f"<bootloader><global><timeout {INTEGER}>ten</timeout></global></bootloader>",
        "bootloader.global.timeout",
        "a whole number",
    ),
    "an integer with its unit": (
        f"<bootloader><global><timeout {INTEGER}>8 s</timeout></global></bootloader>",
        "bootloader.global.timeout",
        "a whole number",
    ),
    "an integer without its type": (
        "<bootloader><global><timeout>8</timeout></global></bootloader>",
        "bootloader.global.timeout",
        'with config:type="integer"',
    ),
    "an empty symbol": (partition('<mountby config:type="symbol"/>'), "partitioning.0.partitions.0.mountby", "empty"),
    "a symbol without its type": (
        partition("<filesystem>ext4</filesystem>"),
        "partitioning.0.partitions.0.filesystem",
        'a word, with config:type="symbol"',
    ),
    "elements in a text": (
        user('<username config:type="string"><a/></username>'),
        "users.0.username",
        "no elements",
    ),
    "a misspelled section": (f"<partitionning {LIST}/>", "partitionning", "did you mean 'partitioning'?"),
    "a misspelled element": (user("<user_pasword>a</user_pasword>"), "users.0.user_pasword", "did you mean"),
    "an element of no section": (user("<colour>a</colour>"), "users.0.colour", "not a key"),
    "a section that is no list": ("<users><user/></users>", "users", 'a list, with config:type="list"'),
    "an item of another name": (f"<users {LIST}><usr/></users>", "users.0", "must be named 'user'"),
    "a word that there is not": ("<timezone><hwclock>utc</hwclock></timezone>", "timezone.hwclock", "'UTC'"),
    "an element that is missing": (
        f"<host><hosts {LIST}><hosts_entry><host_address>192.0.2.1</host_address></hosts_entry></hosts></host>",
        "host.hosts.0.names",
        "is missing",
    ),
    "a fault in a section that is not judged": (
        f"<nfs><a {BOOLEAN}>no</a></nfs>",
        "nfs.a",
        "'true' or 'false'",
    ),
}


@pytest.mark.parametrize("sections", TAKEN.values(), ids=TAKEN)
def test_what_is_taken_has_no_remark(sections: list[str]) -> None:
    verdict = judged(*sections)
    assert (verdict.findings, verdict.warnings) == ((), ())
    assert "AutoYaST rules" in verdict.judged_by


@pytest.mark.parametrize(("section", "path", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named_with_its_place(section: str, path: str, sentence: str) -> None:
    [finding] = judged(section).findings
    assert finding.path == path
    assert sentence in finding.message
    assert finding.line == 2


def test_the_line_is_that_of_the_element() -> None:
    [finding] = judged(f"<users {LIST}>", "<user>", "<uid>1</uid>", "<uidd>2</uidd>", "</user>", "</users>").findings
    assert finding.line == 5


@pytest.mark.parametrize(
    ("section", "path"),
    [("<report/><report/>", "report"), (user("<uid>1</uid><uid>2</uid>"), "users.0.uid"), ("<colour/>", "colour")],
    ids=["a section twice", "an element twice", "a section that is not known here"],
)
def test_what_the_reader_passes_over_is_a_warning(section: str, path: str) -> None:
    verdict = judged(section)
    assert verdict.valid
    [warning] = verdict.warnings
    assert warning.path == path


@pytest.mark.parametrize("opens", ["<profile>", '<profile xmlns="urn:x">'])
def test_a_profile_has_its_namespace(opens: str) -> None:
    [finding] = judged(opens=opens).findings
    assert 'write <profile xmlns="http://www.suse.com/1.0/yast2ns">' in finding.message


def test_a_profile_of_the_extension_xml_is_told_by_its_namespace() -> None:
    assert judged("<users/>", extension="xml").findings
    assert judged("<users/>", opens="<profile>", extension="xml").judged_by == ("XML syntax",)


@pytest.mark.parametrize("root", ["autoinstall", "other"])
def test_rules_and_classes_are_not_judged(root: str) -> None:
    text = f'<{root} xmlns="http://www.suse.com/1.0/yast2ns"><rules/></{root}>'
    assert validate(text, "autoyast", tools=Tools.none()).judged_by == ("XML syntax",)


@pytest.mark.parametrize("section", [user("<uid {0}>Tiger-77</uid>").format(BOOLEAN), "<timezone>Tiger-77</timezone>"])
def test_no_remark_quotes_a_text(section: str) -> None:
    verdict = judged(section)
    assert verdict.findings
    assert "Tiger" not in str(verdict)


def test_a_deep_profile_is_judged() -> None:
    assert judged("<nfs>" + "<a>" * 100_000 + f"<b {BOOLEAN}/>" + "</a>" * 100_000 + "</nfs>").findings
