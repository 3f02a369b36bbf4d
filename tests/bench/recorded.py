#!/usr/bin/env python3
"""What it costs to judge a recording of many hosts: recorded.py GPUADM RECORDING HOME ROUNDS"""
import os
import statistics
import subprocess
import sys
import time

SECONDS, MEMORY = 2.0, 300 << 20


def once(gpuadm, recording, home):
    begun = time.monotonic()
    with subprocess.Popen([gpuadm, "doctor", "--from", recording, "--fail-on", "never"], stdout=subprocess.PIPE,
                          env={"HOME": home, "PATH": os.environ["PATH"]}) as child:
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"gpuadm doctor --from ended with {child.returncode}: {output[-400:].decode(errors='replace')}")
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output


def main():
    gpuadm, recording, home, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    runs = [once(gpuadm, recording, home) for _ in range(rounds)]
    wall, cpu, memory = (statistics.median(run[i] for run in runs) for i in range(3))
    print(f"\n### doctor --from: {len(os.listdir(recording + '/hosts'))} recorded hosts, all checks, median of {rounds}\n")
    print(f"{runs[0][3].splitlines()[-1].decode(errors='replace')}\n")
    print(f"- wall under {SECONDS:g} s: {wall:.2f} s (CPU {cpu:.2f} s), {'met' if wall < SECONDS else 'missed'}")
    print(f"- memory under 300 MiB: {memory / (1 << 20):.0f} MiB, {'met' if memory < MEMORY else 'missed'}")


if __name__ == "__main__":
    main()
