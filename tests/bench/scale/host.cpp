#include "host.hpp"

#include "gpuadm/base/text.hpp"

#include "virtual_clock.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scale {

namespace {

// playbooks/depot.sh: a relay gives up after 150 looks without a new byte, or after 25 if its host runs no
// program; ssh notices a host that is away after three keep-alives of 10 s. src/transport/ssh/dial.cpp: the
// client notices it after 15 s and two probes.
constexpr double relay_waits = 30, relay_waits_alone = 5, guest_notices = 30, client_notices = 45;

constexpr int changed = 101, cannot_fetch = 98;  // src/run/program.hpp

base::Instant instant(double seconds) {
  return base::Clock::now() + std::chrono::ceil<std::chrono::microseconds>(
                                  std::chrono::duration<double>(std::max(0.0, seconds - seconds_now())));
}

/// The number that a script assigns to a variable: NAME='17'.
int assigned(std::string_view script, std::string_view name) {
  const std::string head = fmt::format("\n{}=", name);
  const std::size_t at = script.find(head);
  if (at == std::string_view::npos) return Network::nobody;
  std::string_view rest = script.substr(at + head.size());
  rest.remove_prefix(rest.starts_with('\'') ? 1 : 0);
  return static_cast<int>(
      base::to_int(rest.substr(0, rest.find_first_not_of("0123456789"))).value_or(Network::nobody));
}

std::string offer(int host) {
  return fmt::format(
      "offer 192.0.2.1\nport {}\nhost ssh-ed25519 AAAA\n-----BEGIN OPENSSH PRIVATE KEY-----\nA\n"
      "-----END OPENSSH PRIVATE KEY-----\n",
      host);
}

}  // namespace

bool Host::is_cut_off() const {
  return down_ || world_.network.is_dead(number_);
}

void Host::end_after(double seconds, int status, std::string out) {
  const Costs& costs = world_.costs;
  double begin = seconds_now() + (connected_ ? 0 : costs.connect);
  if (costs.shared_cores > 0) {
    double& core = *std::ranges::min_element(world_.cores);
    begin = core = std::max(core, begin) + costs.host_cpu;
  }
  until_ = begin + seconds;
  exit_ = {status, std::move(out), {}, 0, seconds};
}

transport::Result<void> Host::start(transport::Command command) {
  const std::string_view script = command.script.text();
  const auto calls = [&](std::string_view text) { return script.find(text) != std::string_view::npos; };
  transfers_ = false;
  if (down_) {
    until_ = seconds_now() + world_.costs.connect_timeout;
    return {};
  }
  world_.busy[static_cast<std::size_t>(number_)] = true;
  const double program = world_.costs.program;
  if (const bool pulls = calls("depot_step depot_pull\n"); pulls || calls("depot_step depot_receive\n")) {
    transfers_ = true;
    world_.network.advance(seconds_now());
    world_.network.receive(number_, pulls ? assigned(script, "depot_port") : Network::client);
  } else if (calls("depot_step depot_serve\n")) {
    end_after(program, changed, offer(number_));
  } else if (calls("step_upload <")) {
    end_after(program, changed, "");
  } else if (calls("depot_look\nexit")) {
    end_after(program, 1, fmt::format("depot {:.0f}\n", world_.network.has(number_)));
  } else {
    const int sleeps = script.starts_with("sleep ")
                           ? static_cast<int>(base::to_int(base::trim(script.substr(6))).value_or(0))
                           : 0;
    end_after(program + sleeps, 0, "");
  }
  if (!connected_) ++world_.connections;
  connected_ = true;
  return {};
}

std::optional<base::Instant> Host::wake() const {
  if (!transfers_) return instant(is_cut_off() && !down_ ? until_ + client_notices : until_);
  return instant(last_look_ + Network::step);
}

transport::Exit Host::end(int status, std::string out) {
  world_.busy[static_cast<std::size_t>(number_)] = false;
  pass(std::chrono::nanoseconds(static_cast<long>(world_.costs.client_cpu * 1e9)));
  return {status, std::move(out), {}, 0, 0};
}

std::optional<transport::Exit> Host::transfer() {
  Network& network = world_.network;
  const double now = seconds_now();
  network.advance(now);
  last_look_ = now;
  if (network.is_whole(number_)) {
    network.stop(number_);
    return end(changed, "");
  }
  const int source = network.source(number_);
  if (source < 0) return std::nullopt;
  const bool alone = !world_.busy[static_cast<std::size_t>(source)] && !network.is_whole(source);
  const double timeout = network.is_dead(source) ? guest_notices + 5
                         : alone                 ? relay_waits_alone
                                                 : relay_waits;
  if (now - network.last_byte(number_) < timeout) return std::nullopt;
  network.stop(number_);
  return end(cannot_fetch, fmt::format("depot {:.0f}\n", network.has(number_)));
}

transport::Result<std::optional<transport::Exit>> Host::advance() {
  const double now = seconds_now();
  if (is_cut_off()) {
    const double notices =
        down_ ? until_ : (transfers_ ? world_.network.last_byte(number_) : until_) + client_notices;
    if (now < notices) {
      last_look_ = now;
      world_.network.advance(now);
      return std::nullopt;
    }
    world_.network.stop(number_);
    end(0, "");
    return base::fail(base::Fault::unreachable, "no answer");
  }
  if (transfers_) return transfer();
  if (now < until_) return std::nullopt;
  return end(exit_.status, std::move(exit_.out));
}

}  // namespace scale
