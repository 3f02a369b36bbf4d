#!/usr/bin/env python3
"""Makes one recording of many hosts out of recordings of real ones, each with names, ids and addresses of its own:
many_hosts.py COUNT FOLDER PROBE..."""
import ipaddress
import os
import re
import sys

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
HEX32 = re.compile(r"^\| [0-9a-f]{32}$", re.M)
MAC = re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")
ADDRESS = re.compile(r"\b(?:10|172|192)(?:\.\d{1,3}){3}\b")
HOSTNAME = re.compile(r"(=== /proc/sys/kernel/hostname\n\| ).*")


def another(probe, number):
    """The same machine once more."""
    def of_its_own(match):
        digits = match.group(0)
        return digits[:-6] + f"{(int(digits[-6:], 16) + number) % (1 << 24):06x}"

    def mac(match):
        return match.group(0)[:9] + f"{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"

    def address(match):
        first = ipaddress.ip_address(match.group(0))
        return str(ipaddress.ip_address(10 << 24 | number << 8 | int(first) & 255))

    probe = HOSTNAME.sub(rf"\g<1>node{number:04}", probe)
    probe = UUID.sub(of_its_own, probe)
    probe = HEX32.sub(of_its_own, probe)
    return ADDRESS.sub(address, MAC.sub(mac, probe))


def main():
    count, folder, sources = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    probes = []
    for source in sources:
        with open(source, encoding="utf-8") as file:
            probes.append(file.read())
    names = [f"node{number:04}" for number in range(count)]
    for number, name in enumerate(names):
        os.makedirs(f"{folder}/hosts/{name}")
        with open(f"{folder}/hosts/{name}/probe.txt", "w", encoding="utf-8") as file:
            file.write(another(probes[number % len(probes)], number))
    with open(f"{folder}/recording.yaml", "w", encoding="utf-8") as file:
        file.write("form: gpuadm-recording/1\nhosts:\n" + "".join(f"  {name}: {{}}\n" for name in names))
    with open(f"{folder}/cluster.yaml", "w", encoding="utf-8") as file:
        file.write("apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts:\n" + "".join(
            f"  - {{ name: {name}, address: 10.{number >> 8}.{number & 255}.1, role: worker }}\n"
            for number, name in enumerate(names)).replace("role: worker", "role: controlPlane", 1))


if __name__ == "__main__":
    main()
