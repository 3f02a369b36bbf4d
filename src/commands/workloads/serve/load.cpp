#include "commands/workloads/serve/load.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <poll.h>

#include <algorithm>
#include <cmath>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// A server that refuses is not flooded.
constexpr int milliseconds_after_error = 100;

void add(Load& load, const Completion& completion) {
  if (const auto result = completion.result(); !result) {
    ++load.errors;
    if (load.error.empty()) load.error = base::printable(result.error().what, 300);
    return;
  }
  ++load.requests;
  load.tokens += completion.tokens();
  load.first_tokens.push_back(completion.first_token());
}

double tokens_a_second(const Load& load) {
  return load.seconds > 0 ? static_cast<double>(load.tokens) / load.seconds : 0;
}

}  // namespace

Result<Load> measure_load(const CompletionTarget& target, int clients, std::chrono::seconds duration,
                          int tokens, base::Interrupt& interrupt) {
  Load load{.clients = clients};
  const base::Instant began = base::Clock::now(), until = began + duration;
  std::vector<Completion> running;
  for (int i = 0; i < clients; ++i) running.emplace_back(target, tokens);
  while (base::Clock::now() < until) {
    std::vector<http::Exchange*> exchanges;
    for (Completion& one : running) exchanges.push_back(&one.exchange());
    if (const auto driven = http::drive(exchanges, until, interrupt); !driven) {
      if (driven.error().fault != Fault::timeout) return std::unexpected(driven.error());
      break;
    }
    const long long errors = load.errors;
    for (Completion& one : running) {
      if (!one.exchange().is_done()) continue;
      add(load, one);
      one = Completion(target, tokens);
    }
    if (load.errors > errors) ::poll(nullptr, 0, milliseconds_after_error);
  }
  load.seconds = std::chrono::duration<double>(base::Clock::now() - began).count();
  return load;
}

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double place = std::ceil(part * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(1.0, place)) - 1];
}

std::string to_text(const Load& load) {
  std::string text = fmt::format(
      "{} client{} for {:.0f}s: {} request{}, {:.1f} tokens a second\n"
      "time to the first token {:.3f}s (p50), {:.3f}s (p95)\n"
      "errors: {}\n",
      load.clients, load.clients == 1 ? "" : "s", load.seconds, load.requests, load.requests == 1 ? "" : "s",
      tokens_a_second(load), quantile(load.first_tokens, 0.5), quantile(load.first_tokens, 0.95),
      load.errors);
  return load.error.empty() ? text : text + "  " + load.error + "\n";
}

Tree to_tree(const Load& load) {
  return Tree::map_of({{"clients", load.clients},
                       {"seconds", load.seconds},
                       {"requests", std::int64_t{load.requests}},
                       {"errors", std::int64_t{load.errors}},
                       {"tokens", std::int64_t{load.tokens}},
                       {"tokensPerSecond", tokens_a_second(load)},
                       {"firstTokenP50", quantile(load.first_tokens, 0.5)},
                       {"firstTokenP95", quantile(load.first_tokens, 0.95)},
                       {"error", load.error}});
}

}  // namespace commands
