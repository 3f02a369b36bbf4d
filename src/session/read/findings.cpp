#include "gpuadm/session/findings.hpp"

#include "gpuadm/base/host_errors.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/census.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {
namespace {

constexpr std::pair<checks::Stage, std::string_view> stage_names[] = {{checks::Stage::preflight, "preflight"},
                                                                      {checks::Stage::node, "node"},
                                                                      {checks::Stage::cluster, "cluster"},
                                                                      {checks::Stage::security, "security"}};

report::Finding unreached(const std::string& host, const base::Error& error) {
  return {.id = std::string(reachable),
          .severity = report::Severity::blocker,
          .verdict = error.fault == base::Fault::timeout ? report::Verdict::timeout : report::Verdict::fail,
          .host = host,
          .message = base::without_host(error.what, host),
          .evidence = {},
          .remedy = error.hint,
          .caused_by = {}};
}

}  // namespace

std::vector<checks::About> every_check() {
  constexpr auto always = static_cast<unsigned>(checks::Stage::preflight) |
                          static_cast<unsigned>(checks::Stage::node) |
                          static_cast<unsigned>(checks::Stage::security);
  std::vector<checks::About> rows = checks::table();
  rows.insert(rows.begin(), {reachable, "the host is reachable over SSH",
                             "gpuadm cannot check or change a host without a login", always});
  return rows;
}

std::string stages_of(unsigned stages) {
  std::string text;
  for (const auto& [stage, name] : stage_names)
    if ((stages & static_cast<unsigned>(stage)) != 0) text += (text.empty() ? "" : ",") + std::string(name);
  return text;
}

std::optional<checks::Stage> stage_named(std::string_view name) {
  const auto* row = std::ranges::find(stage_names, name, [](const auto& one) { return one.second; });
  return row == std::end(stage_names) ? std::nullopt : std::optional(row->first);
}

std::vector<report::Finding> unreached_in(const facts::Census& census) {
  std::vector<report::Finding> findings;
  for (const auto& [host, facts] : census)
    if (!facts) findings.push_back(unreached(host, facts.error()));
  return findings;
}

Result<std::vector<report::Finding>> find(const spec::Cluster& cluster, const spec::Decisions& decisions,
                                          const facts::Census& census, const assets::Store& assets,
                                          checks::Stage stage) {
  const auto data = TRY(checks::read_data([&](std::string_view path) { return assets.read(path); }));
  std::vector<report::Finding> findings = checks::examine(cluster, decisions, census, *data, stage);
  std::ranges::move(unreached_in(census), std::inserter(findings, findings.begin()));
  return findings;
}

bool stops(std::span<const report::Finding> findings, Io& io) {
  const std::string text = report::stopped(findings, io.err_style);
  if (!text.empty()) io.err(text);
  return !text.empty();
}

bool matches(std::string_view id, std::string_view pattern) {
  if (!id.starts_with(pattern)) return false;
  return id.size() == pattern.size() || pattern.ends_with('.') || id[pattern.size()] == '.';
}

namespace {

/// The nearest id; otherwise up to three ids that contain the word, or have a similar last component. Empty:
/// none.
std::string similar_ids(const std::string& word, const std::vector<std::string>& known,
                        const std::vector<std::string>& ids) {
  constexpr std::size_t most = 3;
  if (const auto near = base::nearest(word, known)) return *near;
  const std::string wanted = base::lower(word);
  std::vector<std::string> found;
  for (const std::string& id : ids)
    if (!wanted.empty() && id.contains(wanted)) found.push_back(id);
  for (const std::string& id : ids) {
    const std::string last = id.substr(id.rfind('.') + 1);
    if (found.size() < most && base::nearest(wanted, std::vector{last}) &&
        std::ranges::find(found, id) == found.end())
      found.push_back(id);
  }
  if (found.size() > most) found.resize(most);
  return base::join(found, ", ");
}

}  // namespace

Result<> known_ids(std::span<const std::string> patterns) {
  return known_among(patterns, every_check());
}

Result<> known_among(std::span<const std::string> patterns, std::span<const checks::About> rows) {
  std::vector<std::string> ids;
  for (const checks::About& about : rows) ids.emplace_back(about.id);
  std::vector<std::string> known = ids;  // and their groups: "gpu", "gpu.health"
  for (const std::string& id : ids)
    for (std::size_t dot = id.find('.'); dot != std::string::npos; dot = id.find('.', dot + 1))
      known.push_back(id.substr(0, dot));
  for (const std::string& pattern : patterns) {
    if (std::ranges::any_of(ids, [&](const std::string& id) { return matches(id, pattern); })) continue;
    const std::string similar = similar_ids(pattern, known, ids);
    return base::fail(base::Fault::usage, fmt::format("unknown check: {}", base::printable(pattern)),
                      similar.empty() ? "gpuadm doctor --list" : fmt::format("did you mean {}?", similar));
  }
  return {};
}

Result<> ignore(std::vector<report::Finding>& findings, std::span<const std::string> ids) {
  TRY(known_ids(ids));
  for (report::Finding& finding : findings)
    if (blocks(finding) &&
        std::ranges::any_of(ids, [&](const std::string& id) { return matches(finding.id, id); }))
      finding.severity = report::Severity::warning;
  return {};
}

}  // namespace session
