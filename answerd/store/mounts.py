"""The kernel's table of mounts: the file system of a directory, and the mount points below it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Self

LOCAL_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "tmpfs", "ramfs"})
"""File systems on which every change passes through this kernel. On others (NFS, CIFS, 9p, FUSE, and overlay, whose
lower layers can be written to directly) a file may change without an inotify event."""

_KERNEL_FILE_SYSTEMS = frozenset(
    "proc sysfs devtmpfs devpts cgroup cgroup2 configfs debugfs tracefs securityfs selinuxfs binfmt_misc bpf efivarfs "  # noqa: SIM905
    "fusectl hugetlbfs mqueue nsfs pstore".split()
)
KERNEL_DIRECTORIES = ("/proc", "/sys", "/dev")
"""The directories in which processes, devices and the kernel itself appear as files. No document is ever read from
there."""

_TABLE = "/proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table: the absolute mount point, the file system's type, its device number (``st_dev``)."""

    point: str
    type: str
    device: int


@dataclass(frozen=True, slots=True)
class Mounts:
    """The table at one moment; empty where the system has none."""

    table: tuple[Mount, ...] = ()

    @classmethod
    def of(cls, table: bytes) -> Self:
        """Parse what `read_table` returned."""
        return cls(tuple(map(_mount, table.splitlines())))

    def is_local(self, directory: str) -> bool:
        """Return whether every change directly in ``directory`` passes through this kernel, as far as is known."""
        return self.type_of(directory) in LOCAL_FILE_SYSTEMS

    def type_of(self, directory: str) -> str:
        """Return the type of the file system of ``directory``; empty where that is not known."""
        target = os.path.realpath(directory)
        holding = [mount for mount in self.table if target == mount.point or _is_below(target, mount.point)]
        # Of two mounts on one point the later one covers the earlier.
        longest = max((len(mount.point) for mount in holding), default=0)
        covering = [mount for mount in holding if len(mount.point) == longest]
        return covering[-1].type if covering else ""

    def below(self, directory: str) -> frozenset[str]:
        """Return the mount points below ``directory``, as names relative to it."""
        target = os.path.realpath(directory)
        start = len(target.rstrip("/")) + 1
        return frozenset(mount.point[start:] for mount in self.table if _is_below(mount.point, target))

    def kernel_devices(self) -> frozenset[int]:
        """Return the device numbers of the file systems of `KERNEL_DIRECTORIES`, wherever else they are mounted."""
        devices = {mount.device for mount in self.table if mount.type in _KERNEL_FILE_SYSTEMS}
        for path in KERNEL_DIRECTORIES:
            try:
                devices.add(os.stat(path).st_dev)
            except OSError:
                pass
        # In a plain chroot these directories belong to the root file system, as everything else does.
        return frozenset(devices) - {os.stat("/").st_dev}


def read_table() -> bytes:
    """Return the table as the kernel writes it; equal bytes mean that no mount changed. Empty where there is none."""
    try:
        with open(_TABLE, "rb") as table:
            return table.read()
    except OSError:
        return b""


def _mount(line: bytes) -> Mount:
    """Parse a line of ``/proc/self/mountinfo`` (proc(5))."""
    before, _, after = line.partition(b" - ")
    _, _, device, _, point, *_ = before.split()
    major, _, minor = device.partition(b":")
    # Blanks, tabs, line ends and backslashes are octal numbers; all else is the bytes of the name.
    name = _OCTAL.sub(lambda found: bytes([int(found[1], 8)]), point)
    return Mount(os.fsdecode(name), after.split()[0].decode("ascii", "replace"), os.makedev(int(major), int(minor)))


def _is_below(path: str, directory: str) -> bool:
    return path != directory and path.startswith(directory.rstrip("/") + "/")
