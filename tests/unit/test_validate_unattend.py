"""Windows unattend answers: each mistake is named with its place and what to do."""

from __future__ import annotations

import base64

import pytest

from answerd.validators import Tools, Verdict, validate

NAMESPACES = 'xmlns="urn:schemas-microsoft-com:unattend" xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State"'
SHELL = "Microsoft-Windows-Shell-Setup"
ATTRIBUTES = 'processorArchitecture="amd64" publicKeyToken="31bf3856ad364e35" language="neutral"'


def judged(text: str, extension: str = "unattend") -> Verdict:
    return validate(text, extension, tools=Tools.none())


def unattend(inside: str, *, component: str = SHELL, which: str = "specialize", namespaces: str = NAMESPACES) -> str:
    return (
        f'<unattend {namespaces}><settings pass="{which}"><component name="{component}" {ATTRIBUTES}>\n'
        f"{inside}\n</component></settings></unattend>"
    )


def hidden(password: str, appended: str, inside: str = "<UserAccounts>{}</UserAccounts>") -> str:
    value = base64.b64encode(f"{password}{appended}".encode("utf-16-le")).decode()
    return password_of(value, "false", inside)


def password_of(value: str, plain: str, inside: str = "<UserAccounts>{}</UserAccounts>") -> str:
    name = "AdministratorPassword" if "UserAccounts" in inside else "Password"
    text = f"<{name}><Value>{value}</Value><PlainText>{plain}</PlainText></{name}>"
    return unattend(inside.format(text), which="oobeSystem")


LOG_ON = "<AutoLogon>{}<Username>a</Username></AutoLogon>"


def target(available: str) -> str:
    inside = f"<InstallTo><DiskID>0</DiskID><PartitionID>3</PartitionID></InstallTo>{available}"
    return unattend(
        f"<ImageInstall><OSImage>{inside}</OSImage></ImageInstall>",
        component="Microsoft-Windows-Setup",
        which="windowsPE",
    )


def command(order: int, *, action: str = ' wcm:action="add"', kind: str = "RunSynchronousCommand") -> str:
    return f"<{kind}{action}><Order>{order}</Order><Path>cmd</Path></{kind}>"


GOOD = {
    "a path of 259 characters": unattend(
        f'<RunSynchronous><RunSynchronousCommand wcm:action="add"><Order>1</Order><Path>{"x" * 259}</Path>'
        "</RunSynchronousCommand></RunSynchronous>",
        component="Microsoft-Windows-Deployment",
    ),
    "a flag in capitals": unattend("<OOBE><HideEULAPage>True</HideEULAPage></OOBE>", which="oobeSystem"),
    "an empty setting": unattend("<ProductKey></ProductKey>"),
    "a hidden password of the administrator": hidden("tiger", "AdministratorPassword"),
    "a hidden password": hidden("tiger", "Password", LOG_ON),
    "a hidden password over several lines": hidden("tiger", "Password", LOG_ON).replace("<Value>", "<Value>\n"),
    "no password, hidden": password_of("", "false"),
    "a plain password": password_of("tiger", "true"),
    "a partition that is stated": target(""),
    "a partition that is not looked for": target("<InstallToAvailablePartition>false</InstallToAvailablePartition>"),
    "a computer name of 15 characters": unattend("<ComputerName>ward-3-pc-00001</ComputerName>"),
    "a computer name with an underscore": unattend("<ComputerName>PC_01</ComputerName>"),
    "a computer name that Setup makes up": unattend("<ComputerName>*</ComputerName>"),
    "a zone": unattend("<TimeZone>W. Europe Standard Time</TimeZone>"),
    "a zone with a country": unattend("<TimeZone>Pacific Standard Time (Mexico)</TimeZone>"),
    "a zone without daylight saving": unattend("<TimeZone>GMT Standard Time_dstoff</TimeZone>"),
    "UTC": unattend("<TimeZone>UTC</TimeZone>"),
    "a zone that is no standard time": unattend("<TimeZone>Russia Time Zone 3</TimeZone>"),
    "two commands": unattend(
        f"<RunSynchronous>{command(1)}{command(2)}</RunSynchronous>", component="Microsoft-Windows-Deployment"
    ),
    "a disk": unattend(
        '<DiskConfiguration><Disk wcm:action="add"><DiskID>0</DiskID><CreatePartitions><CreatePartition '
        'wcm:action="add"><Order>1</Order><Size>100</Size></CreatePartition></CreatePartitions></Disk>'
        "</DiskConfiguration>",
        component="Microsoft-Windows-Setup",
        which="windowsPE",
    ),
    "another component": unattend("<DriverPaths/>", component="Microsoft-Windows-PnpCustomizationsWinPE"),
    "a prefix": unattend(
        "<u:TimeZone>UTC</u:TimeZone>", namespaces=f'{NAMESPACES} xmlns:u="urn:schemas-microsoft-com:unattend"'
    ),
    "an element of another schema beside the passes": unattend("").replace(
        "</unattend>", '<Extensions xmlns="urn:x"><settings pass="x"><File>a</File></settings></Extensions></unattend>'
    ),
    "an element of another schema with a namesake inside": unattend(
        '<x:note><TimeZone xmlns="urn:y">a</TimeZone></x:note>', namespaces=f'{NAMESPACES} xmlns:x="urn:x"'
    ),
    "an element of another schema": unattend("<x:note>a</x:note>", namespaces=f'{NAMESPACES} xmlns:x="urn:x"'),
}

SETUP = "Microsoft-Windows-Setup"
DEPLOYMENT = "Microsoft-Windows-Deployment"


def partition(inside: str) -> str:
    item = f'<CreatePartition wcm:action="add"><Order>1</Order>{inside}</CreatePartition>'
    disk = f'<Disk wcm:action="add"><DiskID>0</DiskID><CreatePartitions>{item}</CreatePartitions></Disk>'
    return unattend(f"<DiskConfiguration>{disk}</DiskConfiguration>", component=SETUP, which="windowsPE")


def run(inside: str) -> str:
    item = f'<RunSynchronousCommand wcm:action="add">{inside}</RunSynchronousCommand>'
    return unattend(f"<RunSynchronous>{item}</RunSynchronous>", component=DEPLOYMENT)


def account(name: str) -> str:
    item = f'<LocalAccount wcm:action="add"><Name>{name}</Name></LocalAccount>'
    return unattend(f"<UserAccounts><LocalAccounts>{item}</LocalAccounts></UserAccounts>", which="oobeSystem")


GOOD["the last order"] = run("<Order>500</Order><Path>x</Path>")
GOOD["a restart that the command asks for"] = run("<Order>1</Order><Path>x</Path><WillReboot>OnRequest</WillReboot>")

BAD = {
    "a long path": (run(f"<Order>1</Order><Path>{'x' * 260}</Path>"), "at most 259 characters"),
    "a restart of no kind": (run("<Order>1</Order><Path>x</Path><WillReboot>OnError</WillReboot>"), "'OnRequest'"),
    "no order": (run("<Path>x</Path>"), "Order is missing"),
    "an order of no number": (run("<Order>one</Order><Path>x</Path>"), "a whole number from 1"),
    "an order above the last": (run("<Order>501</Order><Path>x</Path>"), "a whole number from 1 to 500"),
    "an account of a name that Windows keeps": (account("None"), "not NONE"),
    "a size with its unit": (partition("<Type>Primary</Type><Size>20GB</Size>"), "megabytes"),
    "a size of what fills the rest": (partition("<Size>100</Size><Extend>true</Extend>"), "both Size and Extend"),
    "a type of partition": (partition("<Type>UEFI</Type><Size>100</Size>"), "'EFI'"),
    "a long account": (account("a" * 21), "at most 20 characters"),
    "an account with a slash": (account("a/b"), "at most 20 characters"),
    "a flag as a word": (unattend("<OOBE><HideEULAPage>yes</HideEULAPage></OOBE>", which="oobeSystem"), "'true' or"),
    "a choice out of range": (
        unattend("<OOBE><ProtectYourPC>9</ProtectYourPC></OOBE>", which="oobeSystem"),
        "'1', '2'",
    ),
    "a key of another form": (unattend("<ProductKey>ABC</ProductKey>"), "five groups"),
    "a language by its name": (
        unattend("<UILanguage>english</UILanguage>", component="Microsoft-Windows-International-Core"),
        "such as en-US",
    ),
    "a setting twice": (unattend("<TimeZone>UTC</TimeZone><TimeZone>UTC</TimeZone>"), "set twice"),
    "another name of amd64": (unattend("").replace('"amd64"', '"x64"'), "did you mean 'amd64'?"),
    "another namespace": ('<unattend xmlns="urn:x"/>', "namespace is another"),
    "another root": ("<answer/>", "root element must be 'unattend'"),
    "a pass that the component has not": (
        unattend("<Reseal/>", component="Microsoft-Windows-Deployment", which="windowsPE"),
        "its passes are generalize, specialize",
    ),
    "the languages of WinPE by another name": (
        unattend("", component="Microsoft-Windows-International-Core", which="windowsPE"),
        "there it is Microsoft-Windows-International-Core-WinPE",
    ),
    "a setting in a pass that does not read it": (
        unattend("<FirstLogonCommands/>"),
        "has no effect in the pass specialize: move it to oobeSystem",
    ),
    "a misspelled setting": (unattend("<ComputerNam>a</ComputerNam>"), "did you mean 'ComputerName'?"),
    "a misspelled setting further down": (
        unattend("<AutoLogon><Enable>true</Enable></AutoLogon>"),
        "AutoLogon/Enable: not a setting of Microsoft-Windows-Shell-Setup; did you mean 'Enabled'?",
    ),
    "a setting of another component": (
        unattend("<DiskConfiguration/>"),
        "it belongs to Microsoft-Windows-Setup",
    ),
    "a misspelled component": (unattend("", component="Microsoft-Windows-ShellSetup"), f"did you mean '{SHELL}'?"),
    "a component outside a pass": (f'<unattend {NAMESPACES}><component name="a"/></unattend>', "outside 'settings'"),
    "a component without attributes": (
        f'<unattend {NAMESPACES}><settings pass="specialize"><component name="{SHELL}"/></settings></unattend>',
        "'processorArchitecture', 'publicKeyToken', 'language'",
    ),
    "an architecture that there is not": (
        unattend("").replace('"amd64"', '"amd46"'),
        "did you mean 'amd64'?",
    ),
    "a hidden password that is no base64": (password_of("tiger!", "false"), "base64 of a UTF-16LE text"),
    "a hidden password of other bytes": (password_of("U2VjcmV0UGFzc3dvcmQ=", "False", LOG_ON), "ends in 'Password'"),
    "a hidden password without its end": (hidden("tiger", "", LOG_ON), "ends in 'Password'"),
    "an administrator's password with the end of a user's": (
        hidden("tiger", "Password"),
        "ends in 'AdministratorPassword'",
    ),
    "a partition that is stated and looked for": (
        target("<InstallToAvailablePartition>True</InstallToAvailablePartition>"),
        "beside InstallTo",
    ),
    "a computer name of digits": (unattend("<ComputerName>4711</ComputerName>"), "not digits alone"),
    "single braces in the computer name": (
        unattend("<ComputerName>{ id }</ComputerName>"),
        "letters, digits, '-' and '_'",
    ),
    "a zone that lacks its end": (unattend("<TimeZone>W. Europe</TimeZone>"), "ends in 'Standard Time'"),
    "a zone that there is not": (unattend("<TimeZone>Berlin Standard Time</TimeZone>"), "tzutil /l"),
    "a command that is no item": (
        unattend(f"<RunSynchronous>{command(1, action='')}</RunSynchronous>", component="Microsoft-Windows-Deployment"),
        'needs wcm:action="add"',
    ),
    "an item of another namespace": (
        unattend(f"<RunSynchronous>{command(1)}</RunSynchronous>", component="Microsoft-Windows-Deployment").replace(
            "http://schemas.microsoft.com", "https://schemas.microsoft.com"
        ),
        'xmlns:wcm="http://schemas.microsoft.com/WMIConfig/2002/State"',
    ),
    "two commands of one order": (
        unattend(
            f"<RunSynchronous>{command(1)}{command(1)}</RunSynchronous>", component="Microsoft-Windows-Deployment"
        ),
        "have one Order",
    ),
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_good_answer_has_no_remark(text: str) -> None:
    verdict = judged(text)
    assert verdict.findings == verdict.warnings == ()
    assert verdict.valid


@pytest.mark.parametrize(("text", "sentence"), BAD.values(), ids=BAD)
def test_a_mistake_is_named_with_its_remedy(text: str, sentence: str) -> None:
    [finding] = judged(text).findings
    assert sentence in finding.message
    assert finding.line in (1, 2)


def test_a_setting_that_may_be_of_another_release_is_a_warning() -> None:
    verdict = judged(unattend("<Holograms>on</Holograms>"))
    assert verdict.valid
    [warning] = verdict.warnings
    assert warning.path == "Holograms"


def test_a_users_password_with_the_end_of_the_administrators_is_a_warning() -> None:
    verdict = judged(hidden("tiger", "AdministratorPassword", LOG_ON))
    assert verdict.valid
    assert [warning.path for warning in verdict.warnings] == ["AutoLogon/Password/Value"]


def test_a_component_twice_in_one_pass_is_a_warning() -> None:
    whole = unattend("<TimeZone>UTC</TimeZone>")
    component = whole[whole.index("<component") : whole.index("</settings>")]
    verdict = judged(whole.replace(component, component + component))
    assert verdict.valid
    [warning] = verdict.warnings
    assert "put its settings together" in warning.message
    assert not judged(whole.replace(component, component + component.replace('"amd64"', '"x86"'))).warnings


@pytest.mark.parametrize("extension", ["xml", "autoyast"])
def test_other_xml_is_not_judged_as_unattend(extension: str) -> None:
    assert "Windows unattend" not in judged("<profile/>", extension).judged_by


def test_xml_with_the_root_unattend_is_judged() -> None:
    assert judged("<unattend/>", "xml").findings


@pytest.mark.parametrize("place", ["ComputerName", "TimeZone", "AutoLogon", "Nonsense"])
def test_no_remark_quotes_a_text(place: str) -> None:
    verdict = judged(unattend(f"<{place}>Tiger-77-secret-password</{place}>"))
    assert "Tiger" not in str(verdict)


def test_a_deep_and_a_wide_answer_are_judged() -> None:
    deep = "<a>" * 100_000 + "</a>" * 100_000
    assert judged(unattend(deep)).warnings
    wide = "<ComputerName/>" * 60_000
    assert "set twice" in judged(unattend(wide)).findings[0].message
