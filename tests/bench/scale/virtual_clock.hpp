#pragma once

#include <chrono>

/// The clock of the simulation. The program defines clock_gettime() and poll() itself, so that the code of
/// gpuadm, which is linked unchanged, waits in simulated time: poll() returns at once and the time of the
/// wait has passed.
namespace scale {

/// Lets time pass that the client is busy, and in which it notices nothing.
void pass(std::chrono::nanoseconds time);

/// Seconds of simulated time since the program started.
[[nodiscard]] double seconds_now();

}  // namespace scale
