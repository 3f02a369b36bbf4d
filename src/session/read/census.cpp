#include "gpuadm/session/census.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/spec/storage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {
namespace {

using base::Fault;

constexpr std::chrono::seconds probe_timeout{120};  // each command in it has a shorter limit

}  // namespace

Result<std::string> reading_script(const assets::Store& assets, std::string_view path) {
  return script_of(std::string(path), assets);
}

Result<transport::Command> probe_command(const assets::Store& assets, Reasons reasons,
                                         const spec::Cluster* cluster) {
  std::string script, storages;
  if (cluster)
    for (const spec::Storage& storage : cluster->storage)
      storages += fmt::format("{} {}\n", storage.name, spec::place_of(storage));
  if (!storages.empty()) script += base::assignments({{"storages", storages}});
  if (reasons == Reasons::read)
    script += base::assignments({{"reasons", "yes"}}) + TRY(assets.read("playbooks/reasons.sh")) + "\n";
  script += TRY(reading_script(assets, "playbooks/probe.sh"));
  return transport::Command{.label = "read the facts", .script = std::move(script), .timeout = probe_timeout};
}

Result<facts::Facts> read_probe(const std::string& host, const transport::Exit& exit, base::Time answered) {
  auto facts = facts::parse(exit.out);
  if (!facts && exit.status == 0)
    return base::fail(facts.error().fault, fmt::format("{}: {}", host, facts.error().what),
                      facts.error().hint);
  if (!facts)
    return base::fail(Fault::remote, fmt::format("{}: the probe ended with status {}: {}", host, exit.status,
                                                 base::tail(exit.err.empty() ? exit.out : exit.err, 3)));
  if (facts->clock.probe_begin && facts->clock.probe_end) {
    // The login precedes the probe and may take seconds, so only the end is compared: the network delay of
    // the answer is short.
    const std::chrono::duration<double> probed(*facts->clock.probe_end - *facts->clock.probe_begin);
    facts::place_clock(facts->clock, answered - std::chrono::duration_cast<base::Time::duration>(probed),
                       answered);
  }
  return facts;
}

namespace {

base::Tree host_tree(const Result<facts::Facts>& facts) {
  if (facts) return facts::to_tree(*facts);
  const base::Error& error = facts.error();
  return base::Tree::map_of(
      {{"error", base::Tree::map_of(
                     {{"fault", base::name_of(error.fault)}, {"what", error.what}, {"hint", error.hint}})}});
}

}  // namespace

bool is_unreachable(base::Fault fault) {
  return base::is_connection_fault(fault) || fault == Fault::timeout;
}

bool Survey::none_reached() const {
  return !census.empty() && std::ranges::all_of(census, [](const auto& entry) {
    return !entry.second && is_unreachable(entry.second.error().fault);
  });
}

Result<> all_read(const facts::Census& census, const std::function<bool(const std::string&)>& needed) {
  std::vector<base::Error> errors;
  for (const auto& [host, facts] : census)
    if (!facts && (!needed || needed(host))) errors.push_back(facts.error());
  if (errors.empty()) return {};
  return std::unexpected(base::joined(errors));
}

Result<Survey> take_census(transport::Fleet& fleet, const assets::Store& assets, Afterwards afterwards,
                           Texts texts, Reasons reasons, const spec::Cluster* cluster) {
  const transport::Command probe = TRY(probe_command(assets, reasons, cluster));
  for (const std::string& host : fleet.hosts()) fleet.submit(host, probe);
  Survey survey;
  while (auto completion = fleet.next()) {
    auto& [host, result, answered] = *completion;
    Result<facts::Facts> facts =
        result ? read_probe(host, *result, answered) : std::unexpected(result.error());
    const bool keep =
        afterwards == Afterwards::keep_connection ||
        (afterwards == Afterwards::keep_to_control_planes && facts && facts->kubernetes.admin_conf);
    if (!keep) fleet.at(host).close();
    survey.census.insert_or_assign(host, std::move(facts));
    if (!result) continue;
    if (texts == Texts::kept) survey.probes.insert_or_assign(host, std::move(result->out));
  }
  if (fleet.interrupted()) return base::fail(Fault::interrupted, "interrupted while reading facts");
  return survey;
}

base::Tree to_tree(const facts::Census& census) {
  base::Tree tree = base::Tree::map();
  for (const auto& [host, facts] : census) tree.set(host, host_tree(facts));
  return tree;
}

void write_json(const facts::Census& census, const base::Sink& write) {
  base::json::Members members(write);
  for (const auto& [host, facts] : census) members.add(host, host_tree(facts));
  members.end();
  write("\n");
}

std::string to_json(const facts::Census& census) {
  std::string text;
  write_json(census, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace session
