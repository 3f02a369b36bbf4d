#include "checks/case_files.hpp"
#include "checks/check.hpp"
#include "checks/evidence.hpp"
#include "checks/repository_data.hpp"
#include "facts/sections/section_forms.hpp"

#include <algorithm>
#include <set>

// What could not be read is never called healthy. Every case that fails names where its evidence stands: in
// the sections in which its probe differs from the healthy one. Without them nothing may pass.

namespace {

using namespace case_files;

using Lines = std::vector<std::string>;
using Parts = std::vector<std::pair<std::string, Lines>>;

Parts parts_of(const std::string& probe) {
  Parts parts(1);
  for (const std::string_view line : base::lines(probe)) {
    if (line.starts_with("=== "))
      parts.emplace_back(line.substr(4), Lines());
    else
      parts.back().second.emplace_back(line);
  }
  return parts;
}

std::string text_of(const Parts& parts) {
  std::string text;
  for (const auto& [name, lines] : parts) {
    if (!name.empty()) text += "=== " + name + "\n";
    for (const std::string& line : lines) text += line + "\n";
  }
  return text;
}

/// Names of sections that stand in one probe and not so in the other.
std::set<std::string> differing(const std::string& before, const std::string& after) {
  const Parts old_parts = parts_of(before), new_parts = parts_of(after);
  std::set<std::string> names;
  const auto add = [&](const Parts& from, const Parts& other) {
    for (const auto& part : from)
      if (!part.first.empty() && std::ranges::find(other, part) == other.end()) names.insert(part.first);
  };
  add(old_parts, new_parts);
  add(new_parts, old_parts);
  return names;
}

/// Sections of which any text is in form: names that a vendor chose.
const std::set<std::string> free_text = {"/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor"};

constexpr const char* damages[] = {"missing", "cut", "timed out", "garbage"};

/// The probe with one of its sections damaged; nothing where the damage cannot be: a file has no time limit,
/// and what has no lines cannot be cut.
std::optional<std::string> damaged(const std::string& probe, const std::string& section,
                                   std::string_view damage) {
  Parts parts = parts_of(probe);
  const auto part = std::ranges::find(parts, section, [](const auto& one) { return one.first; });
  if (part == parts.end()) return std::nullopt;
  Lines& lines = part->second;
  const bool ends = !lines.empty() && lines.back().starts_with("? ");
  if (damage == "missing") {
    parts.erase(part);
  } else if (damage == "cut") {
    if (lines.size() < 2) return std::nullopt;
    lines.resize(lines.size() / 2);
    lines.emplace_back("! cut");
  } else if (damage == "timed out") {
    if (!ends) return std::nullopt;
    lines.resize(lines.size() / 2);
    lines.emplace_back("? 124");
  } else {
    const std::string end = ends ? lines.back() : "";
    lines = {"| lorem ipsum dolor sit amet", "| consectetur adipiscing"};
    if (ends) lines.push_back(end);
    if (free_text.contains(section)) return std::nullopt;
  }
  return text_of(parts);
}

bool is_well(const Finding& finding) {
  return finding.verdict == report::Verdict::pass || finding.verdict == report::Verdict::skip;
}

/// Whether a check calls the host healthy, or itself not applicable, by what is left of a probe.
bool calls_it_well(const std::vector<Finding>& findings, const std::string& id) {
  const auto own = [&](const Finding& finding) { return finding.id == id; };
  return std::ranges::any_of(findings, own) &&
         std::ranges::all_of(findings, [&](const Finding& f) { return !own(f) || is_well(f); });
}

}  // namespace

TEST_CASE("no check that fails passes where the sections that its evidence stands in are damaged") {
  const auto data = repository_data();
  std::size_t tried = 0, cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "checks")) {
    if (entry.path().extension() != ".yaml" || ++cases % sample_step(24) != 0) continue;
    const std::string id = entry.path().parent_path().filename();
    const auto test = base::yaml::read(case_text(entry.path()), entry.path().string());
    REQUIRE(test.has_value());
    if (is_of_cluster(*test)) continue;
    const auto probes = probes_of(*test);
    const auto fails = [&](const Finding& f) { return f.id == id && f.verdict == report::Verdict::fail; };
    if (std::ranges::none_of(judge(*test, probes, *data, {}), fails)) continue;
    for (const auto& [host, settings] : hosts_of(*test))
      for (const std::string& section : differing(base_of(settings), probes.at(host)))
        for (const char* damage : damages) {
          auto changed = probes;
          auto text = damaged(probes.at(host), section, damage);
          if (!text) continue;
          changed[host] = *text;
          const auto unread = facts::parse(*text).value().unread;
          // A file or a folder that is not there is a fact.
          if (damage == std::string_view("missing") && !unread.contains(section)) continue;
          ++tried;
          CHECK_MESSAGE(
              !calls_it_well(judge(*test, changed, *data, {}), id),
              fmt::format("{} | {} | {} is {}", id, entry.path().filename().string(), section, damage));
        }
  }
  CHECK(tried > 500 / sample_step(24));
}

TEST_CASE("no check of the cluster that fails passes where a table that its evidence stands in is damaged") {
  const auto data = repository_data();
  const std::string base = case_text(folder / "checks/base/cluster.txt");
  int tried = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "checks")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string id = entry.path().parent_path().filename();
    const auto test = base::yaml::read(case_text(entry.path()), entry.path().string());
    REQUIRE(test.has_value());
    if (!is_of_cluster(*test)) continue;
    const auto probes = probes_of(*test);
    const std::string overview = overview_of(*test);
    const auto fails = [&](const Finding& f) { return f.id == id && f.verdict == report::Verdict::fail; };
    if (std::ranges::none_of(judge(*test, probes, *data, overview), fails)) continue;
    for (const std::string& section : differing(base, overview))
      for (const char* damage : damages) {
        const auto text = damaged(overview, section, damage);
        // Kinds that the cluster does not have are missing, too.
        if (!text || damage == std::string_view("missing")) continue;
        ++tried;
        CHECK_MESSAGE(
            !calls_it_well(judge(*test, probes, *data, *text), id),
            fmt::format("{} | {} | {} is {}", id, entry.path().filename().string(), section, damage));
      }
  }
  CHECK(tried > 50);
}

namespace {

using checks::Stage;

/// A recording of a machine that is well.
struct Machine {
  const char* name;
  Stage stage;
};
constexpr Machine machines[] = {{"machine", Stage::preflight}, {"hgx-node", Stage::node}};

std::vector<Finding> judge_recording(const std::string& machine, Stage stage, const std::string& probe,
                                     const checks::Data& data) {
  auto cluster = spec::parse(
      case_text(fs::path(GPUADM_SOURCE_DIR) / "data/recordings" / machine / "cluster.yaml"), "cluster.yaml");
  REQUIRE_MESSAGE(cluster.has_value(), (cluster ? "" : cluster.error().what));
  auto facts = facts::parse(probe);
  if (!facts) return {};
  facts::Census census;
  census.emplace(cluster->hosts.front().name, std::move(*facts));
  return checks::examine(*cluster, {}, census, data, stage);
}

std::string_view reads_of(std::string_view id) {
  return std::ranges::find(checks::all_checks(), id, &checks::Check::id)->reads;
}

/// What the checks that rest on a section say where it is damaged.
std::string verdict_on(const Machine& machine, const std::string& probe, const std::string& section,
                       std::string_view damage, const checks::Data& data) {
  const auto text = damaged(probe, section, damage);
  if (!text) return "-";
  const bool is_known = facts::parse(*text).value().unread.contains(section);
  std::set<std::string_view> verdicts;
  for (const Finding& finding : judge_recording(machine.name, machine.stage, *text, data))
    if (checks::rests_on(reads_of(finding.id), section)) verdicts.insert(report::name_of(finding.verdict));
  if (!is_known && verdicts.contains("pass")) {
    if (damage != "missing") return "in form";
    return section.starts_with('/') ? "there is no such file" : "there is no such thing";
  }
  // What the cluster file says settles some checks, whatever could not be read.
  verdicts.erase("skip");
  std::vector<std::string> words(verdicts.begin(), verdicts.end());
  return words.empty() ? "no check rests on it here" : base::join(words, ", ");
}

}  // namespace

TEST_CASE("a damaged section of a healthy machine's probe makes every check that rests on it unknown") {
  const auto data = repository_data();
  std::map<std::string, std::string> rows;
  for (const Machine& machine : machines) {
    const std::string probe = recorded_probe(machine.name);
    for (const auto& [section, lines] : parts_of(probe)) {
      if (section.empty() || section == "end") continue;
      std::string row = fmt::format("| `{}` |", section);
      bool rests = false;
      for (const char* damage : damages) {
        const std::string verdict = verdict_on(machine, probe, section, damage, *data);
        CAPTURE(section);
        CAPTURE(damage);
        CHECK(verdict.find("pass") == std::string::npos);
        rests = rests || verdict.find("unknown") != std::string::npos;
        row += fmt::format(" {} |", verdict);
      }
      if (rests) rows[section] = row;
    }
  }
  CHECK(rows.size() > 40);
  std::string table = "| Section | missing | cut | timed out | garbage |\n|---|---|---|---|---|\n";
  for (const auto& [section, row] : rows) table += row + "\n";
  const fs::path file = GPUADM_TESTS_DIR "/faults/unread.md";
  if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(file, table, 0644));
  CHECK(table == case_text(file));
}

TEST_CASE("every check rests on a section whose form is known") {
  std::vector<std::string_view> sections;
  for (const auto& forms : {facts::section_forms(), facts::cluster_forms()})
    for (const facts::SectionForm& form : forms) sections.push_back(form.name.substr(0, form.name.find('*')));
  for (const checks::Check& check : checks::all_checks()) {
    CAPTURE(check.id);
    CHECK(std::ranges::any_of(
        sections, [&](std::string_view section) { return checks::rests_on(check.reads, section); }));
  }
}
