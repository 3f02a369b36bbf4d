#pragma once

#include "commands/app.hpp"

#include <cstdint>

/// `gpuadm dashboard`: hosts, GPUs and workloads as a page.
namespace commands {

struct DashboardOptions {
  Common common;
  Hosts hosts;
  std::uint16_t port = 0;  ///< on loopback; 0: any that is free
  int interval = 2;        ///< seconds between two samples of the GPUs
  int count = 1;           ///< samples of a page that is written
  Format format = Format::text;
};
/// Prints the address of a page on loopback, below a random token, and serves it until Ctrl-C; it shows what
/// hosts and a control-plane node report, and changes nothing. With HTML, writes the same page after `count`
/// samples instead: Outcome::unreachable if no host answered.
[[nodiscard]] Result<Outcome> dashboard(const DashboardOptions& options, Io& io);

}  // namespace commands
