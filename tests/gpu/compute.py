#!/usr/bin/env python3
"""Uses a GPU through the driver's own library, without CUDA: `compute.py LIBRARIES work|rest SECONDS` keeps a GiB of its memory, and writes it all
the time or not at all; `compute.py LIBRARIES energy` prints what NVML has counted, in J. LIBRARIES: the folder of libcuda.so.1."""
import ctypes
import sys
import time

GIBIBYTE = 1 << 30
folder, what = sys.argv[1], sys.argv[2]


def library(name):
    """From the folder of the driver, or wherever the linker finds it."""
    try:
        return ctypes.CDLL(f"{folder}/{name}")
    except OSError:
        return ctypes.CDLL(name)


def check(status, call):
    if status != 0:
        sys.exit(f"{call}: error {status}")


if what == "energy":
    nvml = library("libnvidia-ml.so.1")
    device, energy = ctypes.c_void_p(), ctypes.c_ulonglong()
    check(nvml.nvmlInit_v2(), "nvmlInit")
    check(nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)), "nvmlDeviceGetHandleByIndex")
    check(nvml.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(energy)), "nvmlDeviceGetTotalEnergyConsumption")
    print(energy.value / 1000)
    sys.exit()

cuda = library("libcuda.so.1")
device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_ulonglong()
check(cuda.cuInit(0), "cuInit")
check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device), "cuCtxCreate")
check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(GIBIBYTE)), "cuMemAlloc")
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    if what == "rest":
        time.sleep(1)
        continue
    for value in range(100):
        check(cuda.cuMemsetD32_v2(memory, value, ctypes.c_size_t(GIBIBYTE // 4)), "cuMemsetD32")
    check(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
