"""An all-reduce between the ranks of a training job, for `gpuadm train check`. Runs once in each pod, and starts GPUADM_LOCAL processes: with
NCCL if the ranks have GPUs (GPUADM_GPUS) that PyTorch sees, otherwise with gloo. Lines for gpuadm begin with MARK and end with JSON."""
import datetime
import json
import os
import subprocess
import sys
import time

MARK = "gpuadm-all-reduce "
MIB = 1 << 20
SECONDS = 2.0  # of measurement, about


def say(**values):
    print(MARK + json.dumps(values), flush=True)


def mtu():
    """The MTU of the link with the default route; None: not read."""
    try:
        with open("/proc/net/route") as routes:
            link = next(row.split()[0] for row in routes if row.split()[1] == "00000000")
        with open(f"/sys/class/net/{link}/mtu") as value:
            return int(value.read())
    except (OSError, StopIteration, ValueError):
        return None


def limits():
    """What the process may use: bytes of locked memory and open files (-1: no limit), bytes of /dev/shm."""
    seen = {}
    try:
        seen["shm"] = os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize
    except OSError:
        pass
    try:
        import resource

        seen["memlock"] = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        seen["nofile"] = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    except (ImportError, OSError):
        pass
    return seen


def nccl(torch):
    try:
        version = torch.cuda.nccl.version()
    except Exception:  # of any library below: not read
        return ""
    return ".".join(str(part) for part in version) if isinstance(version, tuple) else str(version)


def measure(torch, distributed, device, ranks):
    """Bytes, repetitions, seconds of each, and whether the sum was right."""

    def timed(size, times):
        data = torch.zeros(size // 4, dtype=torch.float32, device=device)
        distributed.all_reduce(data)
        distributed.barrier()
        began = time.monotonic()
        for _ in range(times):
            distributed.all_reduce(data)
        if device != "cpu":
            torch.cuda.synchronize()
        return (time.monotonic() - began) / times

    values = torch.full((MIB // 4,), float(distributed.get_rank() + 1), dtype=torch.float32, device=device)
    distributed.all_reduce(values)
    right = bool((values == ranks * (ranks + 1) / 2).all().item())
    # All ranks must agree on the size and the number of repetitions: those of rank 0.
    large = 256 * MIB if device != "cpu" else 16 * MIB
    size = large if timed(MIB, 1) < 0.1 else MIB
    chosen = torch.tensor([size], dtype=torch.int64, device=device)
    distributed.broadcast(chosen, 0)
    size = int(chosen.item())
    chosen = torch.tensor([max(1, min(50, int(SECONDS / max(timed(size, 1), 1e-6))))], dtype=torch.int64, device=device)
    distributed.broadcast(chosen, 0)
    times = int(chosen.item())
    return size, times, timed(size, times), right


def reduce(local):
    import torch
    import torch.distributed as distributed

    processes = int(os.environ["GPUADM_LOCAL"])
    rank = int(os.environ["RANK"]) * processes + local
    ranks = int(os.environ["WORLD_SIZE"]) * processes
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    with_gpus = int(os.environ["GPUADM_GPUS"]) > 0 and gpus > 0
    backend = "nccl" if with_gpus and distributed.is_nccl_available() else "gloo"
    device = f"cuda:{local % gpus}" if backend == "nccl" else "cpu"
    model = torch.cuda.get_device_name(local % gpus) if with_gpus else ""
    if device != "cpu":
        torch.cuda.set_device(device)
    seen = {"process": rank, "torch": torch.__version__, "cuda": torch.version.cuda, "gpus": gpus, "model": model, "backend": backend}
    say(**seen, **limits(), mtu=mtu(), nccl=nccl(torch) if backend == "nccl" else "")
    step = "meet"
    try:
        meeting = datetime.timedelta(seconds=int(os.environ["GPUADM_MEET"]))
        distributed.init_process_group(backend, init_method="env://", rank=rank, world_size=ranks, timeout=meeting)
        distributed.barrier()
        step = "all-reduce"
        if rank == 0:
            say(step=step)
        size, times, seconds, right = measure(torch, distributed, device, ranks)
        if rank == 0:
            say(ranks=ranks, bytes=size, times=times, seconds=seconds, right=right, backend=backend)
        elif not right:
            say(process=rank, right=False)
        distributed.destroy_process_group()
    except Exception as error:  # of any library below: gpuadm shows it
        lines = str(error).strip().splitlines() or [type(error).__name__]
        say(process=rank, step=step, error=lines[0][:400])
        return 1
    return 0


def main():
    os.environ.setdefault("USE_LIBUV", "0")  # PyTorch may have been built without libuv
    if len(sys.argv) > 1:
        return reduce(int(sys.argv[1]))
    processes = int(os.environ["GPUADM_LOCAL"])
    if processes == 1:
        return reduce(0)
    children = [subprocess.Popen([sys.executable, sys.argv[0], str(local)]) for local in range(processes)]
    return max(abs(child.wait()) for child in children)


if __name__ == "__main__":
    sys.exit(main())
