"""What lshw, virsh and Proxmox' installer print of a machine."""

from __future__ import annotations

import json

LSHW = b"""<?xml version="1.0" standalone="yes" ?>
<list>
  <node id="srv-7" claimed="true" class="system" handle="DMI:0001">
    <description>Rack Mount Chassis</description>
    <product>PowerEdge R650 (SKU=090E)</product>
    <vendor>Dell Inc.</vendor>
    <serial>7ABC123</serial>
    <width units="bits">64</width>
    <configuration>
      <setting id="boot" value="normal" />
      <setting id="uuid" value="4c4c4544-0042-4210-8056-b4c04f4e4b33" />
    </configuration>
    <node id="core" claimed="true" class="bus">
      <serial>.7ABC123.CN123.</serial>
      <node id="network:0" claimed="true" class="network">
        <logicalname>eno1</logicalname>
        <serial>98:fa:9b:50:d8:10</serial>
      </node>
      <node id="network:1" claimed="true" class="network">
        <serial>98:fa:9b:50:d8:11</serial>
      </node>
      <node id="disk" claimed="true" class="disk">
        <logicalname>/dev/nvme0n1</logicalname>
        <serial>S5XYZ</serial>
        <size units="bytes">960197124096</size>
      </node>
      <node id="cdrom" class="disk"><logicalname>/dev/sr0</logicalname></node>
    </node>
    <node id="bridge" class="network" disabled="true"><serial>02:42:ac:11:00:02</serial></node>
  </node>
</list>
"""


VIRSH = b"""<domain type='kvm' id='3'>
  <name>web-01</name>
  <uuid>1c2ea1b5-7a0a-4d9e-8a0e-3e0d6d2b7a11</uuid>
  <vcpu placement='static'>4</vcpu>
  <sysinfo type='smbios'><system>
    <entry name='manufacturer'>QEMU</entry><entry name='serial'>VM-0001</entry>
  </system></sysinfo>
  <devices>
    <disk type='file' device='disk'><target dev='vda' bus='virtio'/></disk>
    <disk type='file' device='disk'><target dev='vdb' bus='virtio'/></disk>
    <interface type='network'><mac address='52:54:00:11:22:33'/></interface>
  </devices>
</domain>
"""


PROXMOX = json.dumps(
    {
        "product": {"product": "pve"},
        "network_interfaces": [
            {"link": "eno1", "mac": "98:fa:9b:50:d8:20"},
            {"link": "docker0", "mac": "02:42:ac:11:00:02"},
        ],
        "disks": [{"serial": "DISK-1"}],
        "dmi": {
            "system": {"serial": "7ABC124", "uuid": "4c4c4544-0042-4210-8056-b4c04f4e4b34", "name": "PowerEdge R650"},
            "baseboard": {"serial": "BOARD-1"},
        },
    }
).encode()
