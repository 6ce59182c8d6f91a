"""Windows unattend answers: passes, components, their settings, the computer's name and its time zone.

Setup ignores a pass or a component that it does not know and stops at a setting that it does not know, both long after
the disk was wiped. The tables are those of Microsoft's *Unattended Windows Setup Reference* (Windows 10 and 11): all
passes, and the settings of the components that nearly every answer has. Other components are not judged.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from answerd.validators.verdict import Remarks

NAMESPACE = "urn:schemas-microsoft-com:unattend"
WCM_NAMESPACE = "http://schemas.microsoft.com/WMIConfig/2002/State"

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


@dataclass(frozen=True)
class Settings:
    """The elements that one element may hold; none for a setting with a text."""

    inside: Mapping[str, Settings] = field(default_factory=dict)


def _settings(text: str) -> Settings:
    """Return the settings that a table lists, where deeper indentation (four blanks a level) is "inside"."""
    levels: list[dict[str, Settings]] = [{}]
    for line in text.splitlines():
        names = line.split()
        if names:
            depth = (len(line) - len(line.lstrip())) // 4
            del levels[depth + 1 :]
            inside: dict[str, Settings] = {}
            levels[depth].update({name: Settings(inside if name == names[-1] else {}) for name in names})
            levels.append(inside)
    return Settings(levels[0])


_LANGUAGES = "InputLocale LayeredDriver SystemLocale UILanguage UILanguageFallback UserLocale\n"
_VALUE = "Value PlainText"
_CREDENTIALS = "Domain Password Username"
_COMMANDS = f"""
RunAsynchronous
    RunAsynchronousCommand
        Description Order Path
        Credentials
            {_CREDENTIALS}
RunSynchronous
    RunSynchronousCommand
        Description Order Path WillReboot
        Credentials
            {_CREDENTIALS}
"""

# A line lists settings of one parent. What is indented below it is inside the last of them.
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
    Disk
        DiskID WillWipeDisk
        CreatePartitions
            CreatePartition
                Extend Order Size Type
        ModifyPartitions
            ModifyPartition
                Active Extend Format Label Letter Order PartitionID TypeID
ImageInstall
    DataImage
        Order
        InstallFrom
            Path
            Credentials
                Domain Password Username
            MetaData
                Key Value
        InstallTo
            DiskID PartitionID
    OSImage
        Compact InstallToAvailablePartition WillShowUI
        InstallFrom
            Path
            Credentials
                Domain Password Username
            MetaData
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
    SynchronousCommand
        CommandLine Description Order RequiresUserInput
FolderLocations
    ProfilesDirectory ProgramData
LogonCommands
    AsynchronousCommand
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
        OfflineDomainAccount
            DomainSID Group SID
    OfflineLocalAccounts
        LocalAccount
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
        DomainAccountList
            Domain
            DomainAccount
                Group Name
    LocalAccounts
        LocalAccount
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

LISTS = frozenset(
    {
        "AsynchronousCommand",
        "CreatePartition",
        "DataImage",
        "Disk",
        "DomainAccount",
        "DomainAccountList",
        "LocalAccount",
        "MetaData",
        "ModifyPartition",
        "OfflineDomainAccount",
        "RunAsynchronousCommand",
        "RunSynchronousCommand",
        "SynchronousCommand",
    }
)
"""Elements that are items of a list: Setup takes them only with ``wcm:action="add"``."""

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

_FORBIDDEN_IN_NAME = re.compile(r"[\x00-\x20{}|~\[\]^':;<=>?@!\"#$%`()+/.,*&\\]")


@dataclass
class Element:
    namespace: str
    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()


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
            remarks.refuse("component: outside 'settings': put it into <settings pass=\"…\">", line=settings.line)
        elif settings.name not in ("servicing", "offlineImage"):
            known = remarks.did_you_mean(settings.name, ("settings", "servicing"))
            remarks.refuse(f"{settings.name}: not an element of 'unattend'{known}", settings.name, settings.line)


def _judge_pass(settings: Element, remarks: Remarks) -> None:
    which = settings.attributes.get("pass")
    if which is None:
        remarks.refuse(f"settings: the attribute 'pass' is missing: one of {', '.join(PASSES)}", line=settings.line)
    elif which not in PASSES:
        known = remarks.did_you_mean(which, PASSES) or f"; passes are {', '.join(PASSES)}"
        remarks.refuse(f"settings: there is no such pass, so Setup ignores it{known}", "settings", settings.line)
    for component in settings.children:
        if component.name == "component":
            _judge_component(component, which if which in PASSES else None, remarks)
        else:
            known = remarks.did_you_mean(component.name, ("component",))
            remarks.refuse(f"{component.name}: 'settings' holds components only{known}", component.name, component.line)


def _judge_component(component: Element, which: str | None, remarks: Remarks) -> None:
    missing = [name for name in COMPONENT_ATTRIBUTES if not component.attributes.get(name)]
    if missing:
        remarks.refuse(
            f"component: the attribute {', '.join(map(repr, missing))} is missing: Setup ignores the component",
            line=component.line,
        )
    architecture = component.attributes.get("processorArchitecture")
    if architecture and architecture.lower() not in ARCHITECTURES:
        known = remarks.did_you_mean(architecture, ARCHITECTURES[:3])
        remarks.refuse(f"component: there is no such processorArchitecture{known}", line=component.line)
    name = component.attributes.get("name", "")
    if name not in SETTINGS:
        for near in difflib.get_close_matches(name[:100], SETTINGS, n=1, cutoff=0.9):  # many names begin alike
            remarks.refuse(f"component: there is none of this name; did you mean {near!r}?", line=component.line)
        return
    passes = COMPONENT_PASSES[name]
    if which is not None and which not in passes:
        other = "-WinPE" if f"{name}-WinPE" in SETTINGS and which == "windowsPE" else ""
        remarks.refuse(
            f"{name}: has no settings in the pass {which}; "
            + (f"there it is {name}{other}" if other else f"its passes are {', '.join(passes)}"),
            name,
            component.line,
        )
    for path, element, table in _walk(component, SETTINGS[name]):
        _judge_setting(name, path, element, table, which, remarks)


def _walk(component: Element, settings: Settings) -> Iterator[tuple[tuple[str, ...], Element, Settings]]:
    """Yield every element below a component whose parent is known: its path, itself, and what its parent may hold."""
    waiting: list[tuple[tuple[str, ...], Element, Settings]] = [
        ((child.name,), child, settings) for child in reversed(component.children)
    ]
    while waiting:
        path, element, table = waiting.pop()
        yield path, element, table
        inside = table.inside.get(element.name)
        if inside is not None and element.name not in OPEN:
            waiting += [((*path, child.name), child, inside) for child in reversed(element.children)]


def _judge_setting(
    component: str, path: tuple[str, ...], element: Element, table: Settings, which: str | None, remarks: Remarks
) -> None:
    where = "/".join(path)
    if element.namespace != NAMESPACE and element.namespace:
        return  # of another schema: Setup passes over it
    if element.name not in table.inside:
        _refuse_unknown(component, path, element, table, remarks)
        return
    if component == "Microsoft-Windows-Shell-Setup" and len(path) == 1:
        passes = SETTING_PASSES.get(element.name, PASSES)
        if which is not None and which not in passes:
            remarks.refuse(
                f"{where}: has no effect in the pass {which}: move it to {' or '.join(passes)}", where, element.line
            )
        if element.name == "ComputerName":
            _judge_computer_name(element, where, remarks)
        elif element.name == "TimeZone":
            _judge_time_zone(element, where, remarks)
    if element.name in LISTS and element.attributes.get(f"{WCM_NAMESPACE} action") != "add":
        remarks.refuse(
            f'{where}: an item of a list needs wcm:action="add", with xmlns:wcm="{WCM_NAMESPACE}"', where, element.line
        )
    orders = [
        child.text
        for item in element.children
        if item.name in LISTS
        for child in item.children
        if child.name == "Order"
    ]
    if len(set(orders)) < len(orders):
        remarks.refuse(f"{where}: two of its items have one Order: number them anew", where, element.line)


def _refuse_unknown(component: str, path: tuple[str, ...], element: Element, table: Settings, remarks: Remarks) -> None:
    where = "/".join(path)
    known = remarks.did_you_mean(element.name, table.inside)
    homes = [name for name, settings in SETTINGS.items() if name != component and element.name in settings.inside]
    if not known and len(path) == 1 and homes:
        known = f"; it belongs to {' or '.join(homes)}"
    message = f"{where}: not a setting of {component}{known}"
    if known:
        remarks.refuse(message, where, element.line)
    else:
        remarks.warn(f"{message} that is known here: Setup stops at one that it does not know", where, element.line)


def _judge_computer_name(element: Element, where: str, remarks: Remarks) -> None:
    name = element.text
    if name == "*" or not name:
        return  # Setup makes a name up
    if len(name) > _COMPUTER_NAME_LENGTH:
        remarks.refuse(
            f"{where}: has {len(name)} characters; Windows takes {_COMPUTER_NAME_LENGTH} at most", where, element.line
        )
    elif _FORBIDDEN_IN_NAME.search(name) or name.isdigit():
        remarks.refuse(
            f"{where}: a computer name is letters, digits and '-', and not digits alone", where, element.line
        )


def _judge_time_zone(element: Element, where: str, remarks: Remarks) -> None:
    name = element.text.lower().removesuffix("_dstoff")
    short = name.removesuffix(" standard time")
    if " standard time (" in name:
        short = name.replace(" standard time (", "|(")
    plain = short.startswith(("utc", "russia time zone"))
    if not name or (short in TIME_ZONES and (short == name) == plain):
        return
    hint = ""
    if short in TIME_ZONES and not plain:
        hint = "; the name ends in 'Standard Time'"
    elif "/" in name:
        hint = "; this is a name of the Olson database (Area/City), which Windows does not know"
    remarks.refuse(
        f"{where}: not the name of a time zone of Windows{hint}; `tzutil /l` lists the names", where, element.line
    )
