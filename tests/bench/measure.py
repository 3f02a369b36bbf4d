"""Runs one command and says what it cost: wall time, CPU of every process it started, their memory together at its peak,
and the CPU that the hosts spent meanwhile."""
import ctypes
import dataclasses
import os
import resource
import signal
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Cost:
    wall: float
    cpu: float
    hosts_cpu: float
    memory: int  # bytes; 0 where it was not sampled
    status: int
    output: bytes
    tail: float  # seconds between the end of the hosts' last session and the end of the command


def adopt_orphans():
    """Children of commands that end before them become ours, so that their CPU is counted."""
    pr_set_child_subreaper = 36
    if ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0):
        raise OSError("cannot adopt orphans")


def processes():
    """Parent and CPU seconds (with reaped children) of every process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            found[int(name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICK
        except (OSError, IndexError):
            pass  # it has just ended
    return found


def descendants(root, table):
    children = {}
    for pid, (parent, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        new = children.get(todo.pop(), [])
        found += new
        todo += new
    return found


def tree_cpu(root):
    table = processes()
    return sum(table[pid][1] for pid in [root, *descendants(root, table)] if pid in table)


def proportional_memory(pid):
    """Bytes of memory, shared pages divided among those who share them."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


class MemorySampler(threading.Thread):
    """Looks at all that hangs below this process, as often as costs a tenth of one core."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = 0
        self.ended = threading.Event()

    def run(self):
        pause = 0.0
        while not self.ended.wait(pause):
            begun = time.monotonic()
            self.peak = max(self.peak, sum(map(proportional_memory, descendants(os.getpid(), processes()))))
            pause = max(0.005, 9 * (time.monotonic() - begun))


class SessionWatch(threading.Thread):
    """Notes when the hosts' sshd last had a session."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.children = f"/proc/{server}/task/{server}/children"
        self.last = time.monotonic()
        self.ended = threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            with open(self.children, encoding="ascii") as file:
                if file.read():
                    self.last = time.monotonic()


def wait_until_idle(server, limit=10.0):
    """Until the hosts' sshd has buried the sessions of the last command."""
    end = time.monotonic() + limit
    while descendants(server, processes()) and time.monotonic() < end:
        time.sleep(0.02)


def reap_orphans():
    for how in (0, signal.SIGTERM, signal.SIGKILL):
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if how:
                for pid in descendants(os.getpid(), processes()):
                    os.kill(pid, how)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.01)


def measure(command, env, server, limit, sample_memory):
    """`command`: argv. `server`: pid of the hosts' sshd. `limit`: seconds after which it is ended."""
    wait_until_idle(server)
    sampler, sessions = MemorySampler(), SessionWatch(server)
    before, hosts_before = resource.getrusage(resource.RUSAGE_CHILDREN), tree_cpu(server)
    begun = time.monotonic()
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as child:
        if sample_memory:
            sampler.start()
        sessions.start()
        killer = threading.Timer(limit, os.killpg, (child.pid, signal.SIGKILL))
        killer.start()
        output = child.stdout.read()
        status = child.wait()
        killer.cancel()
    wall = time.monotonic() - begun
    tail = begun + wall - sessions.last
    sampler.ended.set()
    sessions.ended.set()
    reap_orphans()
    wait_until_idle(server)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall, cpu, tree_cpu(server) - hosts_before, sampler.peak, status, output, max(0.0, tail))
