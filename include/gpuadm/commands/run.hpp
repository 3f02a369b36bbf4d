#pragma once

/// Command line to options, faults to exit codes.
namespace commands {

/// The whole program. 0 success · 1 failed, hosts may have changed · 2 invalid command line or cluster file ·
/// 3 blocked by findings, nothing changed · 4 host unreachable · 130 interrupted.
int run(int argc, const char* const* argv);

}  // namespace commands
