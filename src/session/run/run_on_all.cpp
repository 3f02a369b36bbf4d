#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

using base::Tree;

Tree tree_of(const transport::Completion& completion) {
  Tree tree = Tree::map_of({{"host", completion.host}});
  if (!completion.result) {
    tree.set("error", completion.result.error().what);
    tree.set("hint", completion.result.error().hint);
    return tree;
  }
  const transport::Exit& exit = *completion.result;
  tree.set("status", exit.status);
  tree.set("out", exit.out);
  tree.set("err", exit.err);
  tree.set("droppedBytes", static_cast<std::int64_t>(exit.dropped));
  tree.set("seconds", exit.seconds);
  return tree;
}

/// Why a host has failed; empty if it has not.
std::string failure_of(const transport::Completion& completion) {
  if (!completion.result) {
    return fmt::format("{}: {}", completion.host,
                       base::without_host(completion.result.error().what, completion.host));
  }
  if (completion.result->status == 0) return {};
  return fmt::format("{}: exit status {}", completion.host, completion.result->status);
}

}  // namespace

std::string labelled(std::string_view text, std::string_view label, Shown shown) {
  std::string out;
  for (const std::string_view line : base::lines(text))
    out += fmt::format("{}| {}\n", label,
                       shown == Shown::raw ? std::string(line) : base::printable(line, std::string::npos));
  return out;
}

Result<Outcome> run_on_all(const transport::Command& command, transport::Fleet& fleet, Format format,
                           Shown shown, Io& io) {
  const std::vector<std::string> hosts = fleet.hosts();
  std::size_t width = 0, unreached = 0;
  for (const std::string& host : hosts) {
    width = std::max(width, host.size());
    fleet.submit(host, command);
  }
  std::vector<std::string> failures;
  std::map<std::string, Tree> answers;
  while (const auto completion = fleet.next()) {
    fleet.at(completion->host).close();
    if (const std::string why = failure_of(*completion); !why.empty()) failures.push_back(why);
    // A command that timed out ran on a reachable host.
    if (!completion->result && base::is_connection_fault(completion->result.error().fault)) ++unreached;
    if (format == Format::json) {
      answers[completion->host] = tree_of(*completion);
      continue;
    }
    if (!completion->result) continue;
    const std::string label = fmt::format("{:<{}}", base::printable(completion->host), width);
    io.out(labelled(completion->result->out, label, shown));
    io.err(labelled(completion->result->err, label, shown));
    if (completion->result->dropped > 0)
      io.err(fmt::format("{}| ({} more lines omitted)\n", label,
                         base::human_bytes(completion->result->dropped)));
  }
  if (format == Format::json) {
    Tree list = Tree::list();
    for (auto& [host, answer] : answers) list.push(std::move(answer));
    io.out(base::json::write(
               Tree::map_of({{"hosts", list}, {"failed", static_cast<std::int64_t>(failures.size())}})) +
           "\n");
  }
  if (!failures.empty()) {
    std::ranges::sort(failures);
    io.err(fmt::format("failed on {} of {}:\n", failures.size(),
                       hosts.size() == 1 ? "1 host" : fmt::format("{} hosts", hosts.size())));
    for (const std::string& why : failures) io.err("  " + base::printable(why) + "\n");
  }
  if (fleet.interrupted()) return Outcome::interrupted;
  if (failures.empty()) return Outcome::done;
  return unreached == hosts.size() ? Outcome::unreachable : Outcome::failed;
}

}  // namespace session
