#pragma once

/// argv to options, faults to exit codes.
namespace cli {

/// The whole program. 0 done · 1 failed, hosts may have changed · 2 bad command line or cluster file · 3
/// blocked by findings, nothing changed · 4 a host could not be reached · 130 interrupted.
int run(int argc, const char* const* argv);

}  // namespace cli
