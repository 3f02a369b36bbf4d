#pragma once

/// kernels.ptx and tensor.ptx, carried in the program; each ends with a zero byte.
extern "C" const char floats_ptx[];
extern "C" const char halves_ptx[];
