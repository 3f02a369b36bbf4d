#!/usr/bin/env python3
"""Compares `gpuadm doctor` with the bare probe: of one host with `ssh host sh -s <probe`, of many with a bare libssh2 loop that
runs the same script and with Ansible's `setup`. Called by tests/bench/run, in the client's namespace."""
import facts
from facts import MIB, Tool


def tools_for(options):
    doctor = f"exec {options.gpuadm} doctor --fail-on never "
    if options.hosts == 1:
        with open(f"{options.fleet}/hosts", encoding="ascii") as file:
            host = file.readline().strip()
        return [Tool("ssh host sh -s", f"exec ssh {host} sh -s <{options.probe}", b"=== end"),
                Tool("ssh, curve25519", f"exec ssh {facts.QUICK_KEX} {host} sh -s <{options.probe}", b"=== end"),
                Tool("gpuadm doctor", f"{doctor} {host}", b"1 host: ")]
    doctor = Tool("gpuadm doctor", f"{doctor} -f {options.fleet}/cluster.yaml", b"%d hosts: " % options.hosts, one=True)
    others = {tool.name: tool for tool in facts.all_tools(options)}
    return [others["bare libssh2 loop"], doctor, others["ansible setup"]]


MANY = 1000  # hosts, for which the goals are others


def goals_of(rows, options):
    by_name = {row["tool"]: row for row in rows}
    ours, goals = by_name["gpuadm doctor"], []

    def at_most(name, other, key, most):
        if other in by_name and by_name[other][key]:
            goals.append((name, ours[key] / by_name[other][key], most))

    if options.hosts >= MANY:
        at_most("wall at most 1.05 of the bare loop", "bare libssh2 loop", "wall", 1.05)
        goals.append(("seconds from the last answer to the end, at most 2", ours["tail"], 2.0))
        goals.append(("memory at most 12 MiB and 60 KiB a host", ours["memory"] / (12 * MIB + 60 * 1024 * options.hosts), 1.0))
        return goals
    at_most("wall at most 1.3 of ssh host sh -s", "ssh host sh -s", "wall", 1.3)
    at_most("wall at most 1.25 of the bare loop", "bare libssh2 loop", "wall", 1.25)
    at_most("wall at most 1/4 of Ansible's setup", "ansible setup", "wall", 1 / 4)
    at_most("client CPU at most 1/30 of Ansible's setup", "ansible setup", "cpu", 1 / 30)
    at_most("memory at most 1/100 of Ansible's setup", "ansible setup", "memory", 1 / 100)
    return goals


def main():
    rows = facts.compare(tools_for, goals_of)
    ours = next((row for row in rows if row["tool"] == "gpuadm doctor"), None)
    if ours:
        print(f"\nmemory of gpuadm doctor: {ours['memory'] / MIB:.1f} MiB")


if __name__ == "__main__":
    main()
