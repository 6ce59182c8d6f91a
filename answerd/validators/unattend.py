"""Windows unattend answers: passes, components, their settings, the computer's name and its time zone.

Setup ignores a pass or a component that it does not know and stops at a setting that it does not know, both long after
the disk was wiped. The tables are those of Microsoft's *Unattended Windows Setup Reference* (Windows 10 and 11): all
passes, and the settings of the components that nearly every answer has. Other components are not judged.
"""

from __future__ import annotations

import base64
import difflib
import re
from collections.abc import Mapping, Sequence

from answerd.validators import schema
from answerd.validators.schema import Program
from answerd.validators.verdict import Remarks
from answerd.validators.xml_element import Element

NAMESPACE = "urn:schemas-microsoft-com:unattend"
WCM_NAMESPACE = "http://schemas.microsoft.com/WMIConfig/2002/State"

WINDOWS = Program("Windows Setup")

PASSES = ("windowsPE", "offlineServicing", "generalize", "specialize", "auditSystem", "auditUser", "oobeSystem")
ARCHITECTURES = ("amd64", "arm64", "x86", "arm", "wow64", "ia64", "msil", "neutral")
COMPONENT_ATTRIBUTES = ("name", "processorArchitecture", "publicKeyToken", "language")
"""Setup ignores a component that lacks one of them (versionScope has a default)."""

COMPONENT_PASSES: Mapping[str, tuple[str, ...]] = {
    "Microsoft-Windows-Setup": ("windowsPE",),
    "Microsoft-Windows-International-Core-WinPE": ("windowsPE",),
    "Microsoft-Windows-International-Core": ("specialize", "oobeSystem"),
    "Microsoft-Windows-Shell-Setup": PASSES,
    "Microsoft-Windows-UnattendedJoin": ("offlineServicing", "specialize"),
    "Microsoft-Windows-Deployment": ("generalize", "specialize", "auditSystem", "auditUser", "oobeSystem"),
}
"""A component to the passes in which it has settings."""

SETTING_PASSES: Mapping[str, tuple[str, ...]] = {
    "AutoLogon": ("specialize", "auditSystem", "oobeSystem"),
    "ComputerName": ("offlineServicing", "specialize"),
    "FirstLogonCommands": ("oobeSystem",),
    "LogonCommands": ("oobeSystem",),
    "OOBE": ("oobeSystem",),
    "TimeZone": ("specialize", "auditSystem", "oobeSystem"),
    "UserAccounts": ("auditSystem", "oobeSystem"),
}
"""A setting of Microsoft-Windows-Shell-Setup to the passes that read it."""


LISTS: set[str] = set()
"""Elements that are items of a list: Setup takes them only with ``wcm:action="add"``. `_settings` collects them."""

Settings = dict[str, "Settings"]
"""The elements that one element may hold, with what each may hold; nothing for a setting with a text."""


def _settings(text: str) -> Settings:
    """Return the settings that a table lists. A line lists settings of one parent; what is indented below it (four
    blanks a level) is inside the last of them. ``*`` marks the item of a list."""
    levels: list[Settings] = [{}]
    for line in text.splitlines():
        if not line:
            continue
        depth = (len(line) - len(line.lstrip())) // 4
        names = line.split()
        LISTS.update(name[:-1] for name in names if name.endswith("*"))
        levels[depth].update({name.rstrip("*"): {} for name in names})
        levels[depth + 1 :] = [levels[depth][names[-1].rstrip("*")]]
    return levels[0]


_LANGUAGES = "InputLocale LayeredDriver SystemLocale UILanguage UILanguageFallback UserLocale\n"
_VALUE = "Value PlainText"
_CREDENTIALS = "Domain Password Username"
_COMMANDS = f"""
RunAsynchronous
    RunAsynchronousCommand*
        Description Order Path
        Credentials
            {_CREDENTIALS}
RunSynchronous
    RunSynchronousCommand*
        Description Order Path WillReboot
        Credentials
            {_CREDENTIALS}
"""

SETTINGS: Mapping[str, Settings] = {
    "Microsoft-Windows-Setup": _settings(f"""
DynamicUpdate
    Enable WillShowUI
EnableFirewall EnableNetwork LogPath Restart UseConfigurationSet
ComplianceCheck
    DisplayReport
Diagnostics
    OptIn
Display
    ColorDepth HorizontalResolution RefreshRate VerticalResolution
DiskConfiguration
    DisableEncryptedDiskProvisioning WillShowUI
    Disk*
        DiskID WillWipeDisk
        CreatePartitions
            CreatePartition*
                Extend Order Size Type
        ModifyPartitions
            ModifyPartition*
                Active Extend Format Label Letter Order PartitionID TypeID
ImageInstall
    DataImage*
        Order
        InstallFrom
            Path
            Credentials
                Domain Password Username
            MetaData*
                Key Value
        InstallTo
            DiskID PartitionID
    OSImage
        Compact InstallToAvailablePartition WillShowUI
        InstallFrom
            Path
            Credentials
                Domain Password Username
            MetaData*
                Key Value
        InstallTo
            DiskID PartitionID
PageFile
    Path Size
{_COMMANDS}UpgradeData
    Upgrade WillShowUI
UserData
    AcceptEula FullName Organization
    ProductKey
        Key WillShowUI
WindowsDeploymentServices
    ImageSelection
        WillShowUI
        InstallImage
            Filename ImageGroup ImageName
        InstallTo
            DiskID PartitionID
    Login
        WillShowUI
        Credentials
            Domain Password Username
"""),
    "Microsoft-Windows-International-Core-WinPE": _settings(f"""
{_LANGUAGES}
SetupUILanguage
    UILanguage WillShowUI
"""),
    "Microsoft-Windows-International-Core": _settings(_LANGUAGES),
    "Microsoft-Windows-Shell-Setup": _settings(f"""
BluetoothTaskbarIconEnabled ComputerName ConvertibleSlateModePromptPreference CopyProfile DisableAutoDaylightTimeSet
DoNotCleanTaskBar OEMName ProductKey RegisteredOrganization RegisteredOwner ShowPowerButtonOnStartScreen
ShowWindowsLive SignInMode StartPanelOff TimeZone
AutoLogon
    Domain Enabled LogonCount Username
    Password
        {_VALUE}
ClientApplications
    Mail Media StartMenuInternet WindowsMail
DesktopOptimization
    GoToDesktopOnSignIn ShowWindowsStoreAppsOnTaskbar
Display
    ColorDepth DPI HorizontalResolution RefreshRate VerticalResolution
FirstLogonCommands
    SynchronousCommand*
        CommandLine Description Order RequiresUserInput
FolderLocations
    ProfilesDirectory ProgramData
LogonCommands
    AsynchronousCommand*
        CommandLine Description Order RequiresUserInput
NotificationArea
    ClockPosition NetworkIcon PowerIcon PromotedIcon1 PromotedIcon2 VolumeIcon
OEMInformation
    HelpCustomized Logo Manufacturer Model RecycleURL SupportAppURL SupportHours SupportPhone SupportProvider
    SupportURL TradeInURL
OfflineUserAccounts
    OfflineAdministratorPassword
        {_VALUE}
    OfflineDomainAccounts
        OfflineDomainAccount*
            DomainSID Group SID
    OfflineLocalAccounts
        LocalAccount*
            Description DisplayName Group Name
            Password
                {_VALUE}
OOBE
    HideEULAPage HideLocalAccountScreen HideOEMRegistrationScreen HideOnlineAccountScreens HideWirelessSetupInOOBE
    NetworkLocation OEMAppId ProtectYourPC SkipMachineOOBE SkipUserOOBE UnattendEnableRetailDemo
    VMModeOptimizations
        SkipAdministratorProfileRemoval SkipNotifyUILanguageChange SkipWinREInitialization
StartTiles TaskbarLinks Themes
UserAccounts
    AdministratorPassword
        {_VALUE}
    DomainAccounts
        DomainAccountList*
            Domain
            DomainAccount*
                Group Name
    LocalAccounts
        LocalAccount*
            Description DisplayName Group Name
            Password
                {_VALUE}
VisualEffects
    FontSmoothing SystemDefaultBackgroundColor
WindowsFeatures
    ShowInternetExplorer ShowMediaCenter ShowWindowsMail ShowWindowsMediaPlayer
"""),
    "Microsoft-Windows-UnattendedJoin": _settings("""
Identification
    DebugJoin DebugJoinOnlyOnThisError JoinDomain JoinWorkgroup MachineObjectOU MachinePassword
    TimeoutPeriodInMinutes UnsecureJoin
    Credentials
        Domain Password Username
    Provisioning
        AccountData
"""),
    "Microsoft-Windows-Deployment": _settings(f"""
ExtendOSPartition
    Extend ExtendSize
Generalize
    ForceShutdownNow Mode
Reseal
    ForceShutdownNow Mode
{_COMMANDS}"""),
}
"""A component to its settings."""

OPEN = frozenset({"StartTiles", "TaskbarLinks", "Themes"})
"""Settings whose content differs between releases of Windows: not judged."""

_ZONES = """
Dateline, UTC-11, Aleutian, Hawaiian, Marquesas, Alaskan, UTC-09, Pacific|(Mexico), UTC-08, Pacific, US Mountain,
Mountain|(Mexico), Mountain, Yukon, Central America, Central, Easter Island, Central|(Mexico), Canada Central,
SA Pacific, Eastern|(Mexico), Eastern, Haiti, Cuba, US Eastern, Turks And Caicos, Paraguay, Atlantic, Venezuela,
Central Brazilian, SA Western, Pacific SA, Newfoundland, Tocantins, E. South America, SA Eastern, Argentina,
Greenland, Montevideo, Magallanes, Saint Pierre, Bahia, UTC-02, Mid-Atlantic, Azores, Cape Verde, UTC, GMT,
Greenwich, Sao Tome, Morocco, W. Europe, Central Europe, Romance, Central European, W. Central Africa, Jordan, GTB,
Middle East, Egypt, E. Europe, Syria, West Bank, South Africa, FLE, Israel, South Sudan, Kaliningrad, Sudan, Libya,
Namibia, Arabic, Turkey, Arab, Belarus, Russian, E. Africa, Volgograd, Iran, Arabian, Astrakhan, Azerbaijan,
Russia Time Zone 3, Mauritius, Saratov, Georgian, Caucasus, Afghanistan, West Asia, Ekaterinburg, Pakistan,
Qyzylorda, India, Sri Lanka, Nepal, Central Asia, Bangladesh, Omsk, Myanmar, SE Asia, Altai, W. Mongolia,
North Asia, N. Central Asia, Tomsk, China, North Asia East, Singapore, W. Australia, Taipei, Ulaanbaatar,
North Korea, Aus Central W., Transbaikal, Tokyo, Korea, Yakutsk, Cen. Australia, AUS Central, E. Australia,
AUS Eastern, West Pacific, Tasmania, Vladivostok, Lord Howe, Bougainville, Russia Time Zone 10, Magadan, Norfolk,
Sakhalin, Central Pacific, Russia Time Zone 11, New Zealand, UTC+12, Fiji, Chatham Islands, Kamchatka, UTC+13,
Tonga, Samoa, Line Islands
"""
TIME_ZONES = frozenset(name.strip().lower() for name in _ZONES.split(","))
"""Windows' time zones without "Standard Time", in lower case; ``|`` is its place where something follows. What
``tzutil /l`` lists on Windows 11."""

_COMPUTER_NAME_LENGTH = 15
"""Characters of a NetBIOS name. Setup ends in specialize ("the computer name … is invalid") at a longer one."""

# learn.microsoft.com, microsoft-windows-shell-setup-computername: these and blanks, so '_' is taken.
_FORBIDDEN_IN_NAME = re.compile(r"[\x00-\x20{}|~\[\]^':;<=>?@!\"#$%`()+/.,*&\\]")


def judge(root: Element, remarks: Remarks) -> None:
    """Judge an answer by its root. No remark quotes a text or the value of an attribute."""
    remarks.judged_by("Windows unattend")
    if root.name != "unattend":
        remarks.refuse("the root element must be 'unattend': Windows Setup reads nothing else", line=root.line)
        return
    if root.namespace != NAMESPACE:
        what = "is another one" if root.namespace else "is missing"
        remarks.refuse(
            f'unattend: its namespace {what}, so Setup ignores the whole file: write <unattend xmlns="{NAMESPACE}">',
            line=root.line,
        )
    for settings in root.children:
        if settings.name == "settings":
            _judge_pass(settings, remarks)
        elif settings.name == "component":
            remarks.refuse("outside 'settings': put it into <settings pass=\"…\">", "component", settings.line)
        elif settings.name not in ("servicing", "offlineImage"):
            known = remarks.did_you_mean(settings.name, ("settings", "servicing"))
            remarks.refuse(f"not an element of 'unattend'{known}", settings.name, settings.line)


def _judge_pass(settings: Element, remarks: Remarks) -> None:
    which = settings.attributes.get("pass")
    if which is None:
        remarks.refuse(f"the attribute 'pass' is missing: one of {', '.join(PASSES)}", "settings", settings.line)
    elif which not in PASSES:
        known = remarks.did_you_mean(which, PASSES) or f"; passes are {', '.join(PASSES)}"
        remarks.refuse(f"there is no such pass, so Setup ignores it{known}", "settings", settings.line)
    first: dict[tuple[str | None, ...], Element] = {}
    for component in settings.children:
        if component.name == "component":
            attributes = tuple(component.attributes.get(name) for name in COMPONENT_ATTRIBUTES)
            if first.setdefault(attributes, component) is not component:
                message = f"is in this pass twice: put its settings together, on line {first[attributes].line}"
                remarks.warn(message, component.attributes.get("name", "component"), component.line)
            _judge_component(component, which if which in PASSES else None, remarks)
        else:
            known = remarks.did_you_mean(component.name, ("component",))
            remarks.refuse(f"'settings' holds components only{known}", component.name, component.line)


def _judge_component(component: Element, which: str | None, remarks: Remarks) -> None:
    missing = [name for name in COMPONENT_ATTRIBUTES if not component.attributes.get(name)]
    if missing:
        names = ", ".join(map(repr, missing))
        remarks.refuse(f"the attribute {names} is missing: Setup ignores the component", "component", component.line)
    architecture = component.attributes.get("processorArchitecture")
    if architecture and architecture.lower() not in ARCHITECTURES:
        known = "; did you mean 'amd64'?" if architecture.lower() in ("x64", "x86_64") else ""
        known = known or remarks.did_you_mean(architecture, ARCHITECTURES[:3])
        remarks.refuse(f"there is no such processorArchitecture{known}", "component", component.line)
    name = component.attributes.get("name", "")
    if name not in SETTINGS:
        for near in difflib.get_close_matches(name[:100], SETTINGS, n=1, cutoff=0.9):  # many names begin alike
            remarks.refuse(f"there is none of this name; did you mean {near!r}?", "component", component.line)
        return
    passes = COMPONENT_PASSES[name]
    if which is not None and which not in passes:
        of_winpe = which == "windowsPE" and f"{name}-WinPE" in SETTINGS
        there = f"there it is {name}-WinPE" if of_winpe else f"its passes are {', '.join(passes)}"
        remarks.refuse(f"has no settings in the pass {which}; {there}", name, component.line)
    # Each element whose parent is known, with its path and what its parent may hold. A text may be nested endlessly.
    _refuse_second(component.children, (), remarks)
    waiting: list[tuple[tuple[str, ...], Element, Settings]] = [
        ((child.name,), child, SETTINGS[name]) for child in reversed(component.children)
    ]
    while waiting:
        path, element, known_here = waiting.pop()
        _judge_setting(name, path, element, known_here, which, remarks)
        inside = known_here.get(element.name)
        if inside is not None and element.name not in OPEN:
            waiting += [((*path, child.name), child, inside) for child in reversed(element.children)]


def _judge_setting(
    component: str, path: tuple[str, ...], element: Element, known_here: Settings, which: str | None, remarks: Remarks
) -> None:
    where = "/".join(path)
    if element.namespace != NAMESPACE and element.namespace:
        return  # of another schema: Setup passes over it
    if element.name not in known_here:
        _refuse_unknown(component, path, element, known_here, remarks)
        return
    if component == "Microsoft-Windows-Shell-Setup" and len(path) == 1:
        _judge_shell_setting(where, element, which, remarks)
    if not element.children and not (element.name in _TEXTS and len(path) == 1):
        _judge_text(component, where, element, remarks)
    inside = known_here[element.name]
    if element.name in LISTS:
        _judge_item(where, element, inside, remarks)
    if inside and element.name not in OPEN:
        _refuse_second(element.children, path, remarks)
    given = {child.name for child in element.children}
    if {"Size", "Extend"} <= given and any(
        child.name == "Extend" and child.text == "true" for child in element.children
    ):
        remarks.refuse("has both Size and Extend: a partition that fills the rest has no Size", where, element.line)
    if {"Value", "PlainText"} <= given and {"Value", "PlainText"} <= inside.keys():
        _judge_hidden_password(where, element, remarks)
    if {"InstallTo", "InstallToAvailablePartition"} <= given:
        _judge_target(where, element, remarks)
    items = [item for item in element.children if item.name in LISTS]
    orders = [child.text for item in items for child in item.children if child.name == "Order"]
    if len(set(orders)) < len(orders):
        remarks.refuse("two of its items have one Order: number them anew", where, element.line)


def _text_of(element: Element, name: str) -> str:
    return next(child.text for child in element.children if child.name == name)


def _judge_hidden_password(where: str, element: Element, remarks: Remarks) -> None:
    """Judge a password that is hidden as Windows System Image Manager hides it: the element's name is put after the
    password, and the text is written as base64 of UTF-16. Setup logs that it cannot decode another, and ends. The
    example of learn.microsoft.com, microsoft-windows-shell-setup-useraccounts-administratorpassword-value, has the
    form."""
    value = "".join(_text_of(element, "Value").split())
    if _text_of(element, "PlainText").lower() not in ("false", "0") or not value:
        return
    line = next(child.line for child in element.children if child.name == "Value")
    # Of an offline account only the end that both names have is certain.
    end = element.name if element.name in ("Password", "AdministratorPassword") else "Password"
    try:
        hidden = base64.b64decode(value, validate=True).decode("utf-16-le")
    except ValueError:
        hidden = ""
    if not hidden.endswith(end):
        message = (
            f"with PlainText false it must be base64 of a UTF-16LE text that ends in {end!r}: Setup stops at another"
        )
        remarks.refuse(f"{message} (0x8007000d); write PlainText true beside a plain one", f"{where}/Value", line)
    elif end == "Password" and hidden.endswith("AdministratorPassword"):
        message = "is hidden as an AdministratorPassword is: here the password would end in 'Administrator'"
        remarks.warn(message, f"{where}/Value", line)


def _judge_target(where: str, element: Element, remarks: Remarks) -> None:
    """Judge where Windows goes (learn.microsoft.com, microsoft-windows-setup-imageinstall-osimage-installto)."""
    if _text_of(element, "InstallToAvailablePartition").lower() in ("true", "1"):
        message = "is true beside InstallTo: the installation fails; keep one of them"
        line = next(child.line for child in element.children if child.name == "InstallToAvailablePartition")
        remarks.refuse(message, f"{where}/InstallToAvailablePartition", line)


def _judge_shell_setting(where: str, element: Element, which: str | None, remarks: Remarks) -> None:
    passes = SETTING_PASSES.get(element.name, PASSES)
    if which is not None and which not in passes:
        message = f"has no effect in the pass {which}: move it to {' or '.join(passes)}"
        remarks.refuse(message, where, element.line)
    wrong = _TEXTS[element.name](element.text) if element.name in _TEXTS else None
    if wrong:
        remarks.refuse(wrong, where, element.line)


def _judge_item(where: str, item: Element, inside: Settings, remarks: Remarks) -> None:
    if item.attributes.get(f"{WCM_NAMESPACE} action") != "add":
        message = f'an item of a list needs wcm:action="add", with xmlns:wcm="{WCM_NAMESPACE}"'
        remarks.refuse(message, where, item.line)
    if "Order" in inside and all(child.name != "Order" for child in item.children):
        remarks.refuse("is missing: it must be a whole number from 1", f"{where}/Order", item.line)


def _refuse_second(settings: Sequence[Element], path: tuple[str, ...], remarks: Remarks) -> None:
    """Refuse a setting that its parent has twice, unless it is an item of a list."""
    first: dict[str, Element] = {}
    for setting in settings:
        if setting.name not in LISTS and first.setdefault(setting.name, setting) is not setting:
            message = f"is set twice: first on line {first[setting.name].line}"
            remarks.refuse(message, "/".join([*path, setting.name]), setting.line)


def _judge_text(component: str, where: str, element: Element, remarks: Remarks) -> None:
    """Judge the text of a setting by its rules, where there are any. An empty one is the same as none."""
    if element.text and where in schema.rules("unattend")["properties"].get(component, {}).get("properties", ()):
        for fault in schema.faults("unattend", {component: {where: element.text}}, WINDOWS):
            remarks.refuse(fault.message, where, element.line)


def _refuse_unknown(
    component: str, path: tuple[str, ...], element: Element, known_here: Settings, remarks: Remarks
) -> None:
    known = remarks.did_you_mean(element.name, known_here)
    homes = [name for name, settings in SETTINGS.items() if name != component and element.name in settings]
    if not known and len(path) == 1 and homes:
        known = f"; it belongs to {' or '.join(homes)}"
    message = f"not a setting of {component}{known}"
    if known:
        remarks.refuse(message, "/".join(path), element.line)
    else:
        message += " that is known here: Setup stops at one that it does not know"
        remarks.warn(message, "/".join(path), element.line)


def _computer_name_fault(name: str) -> str | None:
    if name == "*" or not name:
        return None  # Setup makes a name up
    if len(name) > _COMPUTER_NAME_LENGTH:
        return f"has {len(name)} characters; Windows takes {_COMPUTER_NAME_LENGTH} at most"
    if _FORBIDDEN_IN_NAME.search(name) or name.isdigit():
        return "a computer name is letters, digits, '-' and '_', and not digits alone"
    return None


def _time_zone_fault(name: str) -> str | None:
    name = name.lower().removesuffix("_dstoff")
    short = name.removesuffix(" standard time")
    if " standard time (" in name:
        short = name.replace(" standard time (", "|(")
    plain = short.startswith(("utc", "russia time zone"))
    if not name or (short in TIME_ZONES and (short == name) == plain):
        return None
    hint = ""
    if short in TIME_ZONES and not plain:
        hint = "; the name ends in 'Standard Time'"
    elif "/" in name:
        hint = "; this is a name of the Olson database (Area/City), which Windows does not know"
    return f"not the name of a time zone of Windows{hint}; `tzutil /l` lists the names"


_TEXTS = {"ComputerName": _computer_name_fault, "TimeZone": _time_zone_fault}
"""A setting to what is wrong with its text."""
