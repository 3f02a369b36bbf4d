#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/cluster/idle.hpp"
#include "gpuadm/cluster/usage_report.hpp"

#include "case_text.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

using base::Tree;
using cluster::UsageBy;
using cluster::UsageMeter;
using cluster::UsageReport;
using cluster::UsageRow;
using cluster::UsageState;

namespace {

const auto cases = std::filesystem::path(GPUADM_TESTS_DIR) / "cases/usage";

std::string at_text(double seconds) {
  return base::iso8601(base::Time(std::chrono::duration_cast<base::Time::duration>(
                           std::chrono::duration<double>(seconds))))
             .substr(0, 19) +
         "Z";
}

double real_at(const Tree& tree, const char* key, double otherwise) {
  const Tree* value = tree.find(key);
  return value ? value->as_real().value_or(otherwise) : otherwise;
}

std::vector<std::string> texts_at(const Tree& tree, const char* key) {
  std::vector<std::string> texts;
  if (const Tree* list = tree.find(key))
    for (const Tree& item : list->items()) texts.push_back(item.text());
  return texts;
}

/// A node whose runs a case describes. Its meter goes through its file between two runs.
struct Node {
  UsageMeter meter;
  cluster::IdlePods idle;
  cluster::Moment last;
  std::string file;  ///< usage.jsonl
  double at = 0, uptime = 0;
  std::string boot = "one";

  void run(const Tree& given, const Tree& scene) {
    const double step = real_at(given, "step", 30);
    at += step;
    uptime += step;
    if (given.find("at")) at = base::parse_time(base::text_of(given, "at")).value();
    uptime = real_at(given, "uptime", uptime);
    if (given.find("boot")) boot = base::text_of(given, "boot");
    const cluster::Moment now{at_text(at), at, uptime, boot};

    facts::Nvidia nvidia;
    facts::GpuAllocations allocations{.pods = {}, .complete = !given.find("allocations")};
    cluster::UsageReadings readings{.nvidia = given.find("unread") ? nullptr : &nvidia,
                                    .allocations = &allocations,
                                    .programs = {},
                                    .gpus = 0};
    if (const Tree* gpus = given.find("gpus"))
      for (const Tree& one : gpus->items()) add_gpu(one, nvidia, allocations, readings);
    readings.gpus = static_cast<int>(real_at(scene, "count", static_cast<double>(nvidia.gpus.size())));
    const auto parts = cluster::usage_parts(readings, meter.gpus);
    for (const auto& part : parts)
      for (const std::string& uid : part.pods)
        if (const auto names = texts_at(scene.find("pods") ? *scene.find("pods") : scene, uid.c_str());
            names.size() == 4)
          meter.pods[uid] = {uid, names[0], names[1], names[2], names[3]};
    const double longest = cluster::longest_usage_interval(30);
    cluster::add_usage(meter, now, parts, longest);
    idle = cluster::idle_pods(idle, readings, parts, last, now, longest);
    last = now;

    std::string lines = cluster::usage_lines(meter, now);
    if (given.find("torn")) lines = lines.substr(0, lines.size() / 2) + "\n";
    file += lines;
    if (!lines.empty()) cluster::drop_written_usage(meter, now);
    if (given.find("not_saved")) {
      meter = saved;
      return;
    }
    saved = meter = again(meter);
  }

  [[nodiscard]] std::string output() const {
    return file + "state " + base::json::write(cluster::to_tree(meter), 0) + "\n=== end\n";
  }

 private:
  UsageMeter saved;

  static UsageMeter again(const UsageMeter& meter) {
    const auto tree = base::json::read(base::json::write(cluster::to_tree(meter), 0), "usage.json");
    REQUIRE(tree);
    return cluster::usage_meter_in(*tree);
  }

  static void add_gpu(const Tree& one, facts::Nvidia& nvidia, facts::GpuAllocations& allocations,
                      cluster::UsageReadings& readings) {
    facts::Gpu gpu;
    gpu.uuid = base::text_of(one, "uuid");
    if (one.find("util")) gpu.readings["utilization/gpu_util"] = base::text_of(one, "util") + " %";
    if (one.find("power"))
      gpu.readings["gpu_power_readings/instant_power_draw"] = base::text_of(one, "power") + " W";
    if (one.find("memory")) gpu.memory_mib = static_cast<std::uint64_t>(real_at(one, "memory", 0));
    const auto allocate = [&](const Tree& device) {
      for (const std::string& uid : texts_at(device, "pods"))
        allocations.pods[base::text_of(device, "uuid")].insert(uid);
    };
    allocate(one);
    if (const Tree* instances = one.find("instances")) {
      gpu.mig = "Enabled";
      for (const Tree& instance : instances->items()) {
        facts::MigInstance mig{.index = gpu.mig_devices++,
                               .profile = {},
                               .uuid = base::text_of(instance, "uuid"),
                               .used_mib = {},
                               .total_mib = {}};
        if (instance.find("memory")) mig.total_mib = real_at(instance, "memory", 0);
        gpu.instances.push_back(mig);
        allocate(instance);
      }
    }
    for (const std::string& uid : texts_at(one, "programs")) readings.programs[gpu.uuid].pods.insert(uid);
    if (one.find("others")) readings.programs[gpu.uuid].others = true;
    if (const Tree* measured = one.find("by_pod"))
      for (const auto& [uid, utilization] : measured->entries())
        readings.utilization[gpu.uuid][uid] = utilization.as_real().value_or(0);
    nvidia.gpus.push_back(std::move(gpu));
  }
};

Node node_of(const Tree& scene) {
  Node node;
  const Tree* runs = scene.find("runs");
  REQUIRE(runs);
  for (const Tree& given : runs->items())
    for (int i = 0; i < static_cast<int>(real_at(given, "repeat", 1)); ++i) node.run(given, scene);
  return node;
}

UsageReport report_of(const Node& node, const Tree& scene, UsageBy by) {
  cluster::UsageScope scope{
      .by = by, .from = base::parse_time("2026-11-30T00:00:00Z").value(), .to = node.at, .users = {}};
  if (const Tree* users = scene.find("users"))
    for (const auto& [ns, name] : users->entries()) scope.users[ns] = name.text();
  UsageReport report(scope);
  report.add("gpu1", cluster::read_usage(node.output()));
  return report;
}

/// With GPUADM_REWRITE_CASES, the file is rewritten.
std::string expected_report(const std::filesystem::path& path, const std::string& seen) {
  if (std::getenv("GPUADM_REWRITE_CASES")) REQUIRE(base::write_file(path, seen, 0644));
  return base::read_file(path).value_or("");
}

}  // namespace

TEST_CASE("runs of a node become the report of their case, and nothing is lost or counted twice") {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    CAPTURE(entry.path().string());
    ++count;
    const auto scene = base::yaml::read(case_text(entry.path() / "case.yaml"), "case.yaml");
    REQUIRE(scene);
    const Node node = node_of(*scene);
    std::string text;
    for (const UsageBy by : {UsageBy::user, UsageBy::workload, UsageBy::gpu}) {
      const UsageReport report = report_of(node, *scene, by);
      text += cluster::to_text(report, 80) + "\n";
      const double existed = real_at(*scene, "existed", 0);
      REQUIRE(existed > 0);
      CHECK(std::abs(report.total().all() - existed) <= existed / 100);
      double sum = 0;
      for (const auto& group : report.groups()) sum += group.sum.all();
      CHECK(sum == doctest::Approx(report.total().all()));
    }
    for (const auto& [uid, since] : node.idle) text += fmt::format("{} is idle since {}\n", uid, since);
    CHECK(text == expected_report(entry.path() / "expected.txt", text));
    for (const std::string_view line : base::lines(text)) CHECK(line.size() <= 80);
  }
  CHECK(count >= 12);
}

TEST_CASE("three intervals of the timer are not a gap, and at least five minutes") {
  CHECK(cluster::longest_usage_interval(30) == 300);
  CHECK(cluster::longest_usage_interval(3600) == 10800);
}

TEST_CASE("a row that a host cannot have written is ignored and counted") {
  const std::string good =
      R"({"hour":"2026-11-30T10","batch":1,"gpu":"GPU-1","state":"free","seconds":10,"used":0,"usedOf":10,"joules":5,"joulesOf":10})";
  const auto with = [&](std::string_view from, std::string_view to) {
    return cluster::read_usage(base::replace_all(good, from, to) + "\n=== end\n");
  };
  CHECK(cluster::read_usage(good + "\n=== end\n").rows.size() == 1);
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"seconds\":10", "\"seconds\":-10"},
           {"\"seconds\":10", "\"seconds\":1e300"},
           {"\"seconds\":10", "\"seconds\":\"x\""},
           {"\"used\":0", "\"used\":11.5"},
           {"\"usedOf\":10", "\"usedOf\":3600"},
           {"\"joules\":5", "\"joules\":1e11"},
           {"\"state\":\"free\"", "\"state\":\"mine\""},
           {"\"gpu\":\"GPU-1\"", "\"gpu\":\"\""},
           {"2026-11-30T10", "2026-11-30T25"},
           {"{\"hour\"", "[\"hour\""}}) {
    CAPTURE(to);
    const auto record = with(from, to);
    CHECK(record.rows.empty());
    CHECK(record.damaged == 1);
  }
}

TEST_CASE("an answer without its end is not complete, and a host without a record is named") {
  UsageReport report({.by = UsageBy::node, .from = 0, .to = 1, .users = {}});
  report.add("gpu1", cluster::read_usage("state {}\n"));
  report.add("gpu2", cluster::read_usage("=== end\n"));
  report.add_unreached("gpu3", "no route to host");
  const std::string text = cluster::to_text(report, 80);
  CHECK(text.contains("gpu1: the answer was truncated"));
  CHECK(text.contains("gpu2: no record: run gpuadm health enable"));
  CHECK(text.contains("gpu3: its hours are unknown: no route to host"));
}

TEST_CASE("the page has a chart for each holder, with a bar for each hour or day") {
  UsageReport report({.by = UsageBy::user,
                      .from = base::parse_time("2026-11-30T00:00:00Z").value(),
                      .to = base::parse_time("2026-11-30T12:00:00Z").value(),
                      .users = {{"anna", "anna"}}});
  UsageMeter meter;
  UsageRow row{.hour = "2026-11-30T10",
               .gpu = "GPU-1",
               .mig = {},
               .state = UsageState::held,
               .holder = {"u1", "anna", "nb", "", ""},
               .seconds = 1800,
               .used = 900,
               .used_of = 1800};
  meter.rows.push_back(row);
  row.holder = {"u2", "<b>", "x", "", ""};
  row.hour = "2026-11-30T11";
  meter.rows.push_back(row);
  row.state = UsageState::free;
  row.holder = {};
  meter.rows.push_back(row);
  report.add("gpu1",
             cluster::read_usage("state " + base::json::write(cluster::to_tree(meter), 0) + "\n=== end\n"));
  const auto groups = report.groups();
  REQUIRE(groups.size() == 3);
  CHECK(report.step() == 3600);
  REQUIRE(groups[0].over_time.size() == 12);
  CHECK(groups[0].over_time[10].held == doctest::Approx(1800));
  const std::string page = cluster::to_html(report);
  CHECK(page.contains("2026-11-30 10:00Z: 0.50 GPUs held, 0.25 used"));
  CHECK(page.contains("namespace &lt;b&gt;"));
  CHECK(!page.contains("<b>"));
  CHECK(!page.contains("<script"));
  CHECK(!page.contains("http"));
  std::size_t charts = 0;
  for (std::size_t at = page.find("<svg"); at != std::string::npos; at = page.find("<svg", at + 1)) ++charts;
  CHECK(charts == 2);  // nobody holds what is free
  CHECK(UsageReport({.by = UsageBy::user, .from = 0, .to = 30 * 86400.0, .users = {}}).step() == 86400);
}

TEST_CASE("names of hosts and pods break neither the table nor the CSV") {
  UsageMeter meter;
  UsageRow row{.hour = "2026-11-30T10",
               .gpu = "GPU-1",
               .mig = {},
               .state = UsageState::held,
               .holder = {},
               .seconds = 3600};
  row.holder = {"u1", "a\"b,c\x1b[2J", "p\nq", "", ""};
  meter.rows.push_back(row);
  row.holder = {"u2", "=1+1", "p", "", ""};
  meter.rows.push_back(row);
  UsageReport report({.by = UsageBy::user,
                      .from = 0,
                      .to = base::parse_time("2026-11-30T11:00:00Z").value(),
                      .users = {{"=1+1", "=1+1"}}});
  report.add("gpu1",
             cluster::read_usage("state " + base::json::write(cluster::to_tree(meter), 0) + "\n=== end\n"));
  const std::string csv = cluster::to_csv(report);
  CHECK(base::lines(csv).size() == 4);
  CHECK(csv.contains("\"namespace a\"\"b,c"));
  CHECK(csv.contains("\"'=1+1\""));
  CHECK(!csv.contains('\x1b'));
  CHECK(!cluster::to_text(report, 80).contains('\x1b'));
  CHECK(csv.contains(",1.000,0.000,0.000,,0.000,,0.000\n"));
}

TEST_CASE("more rows than a node keeps are not recorded, and the file stays bounded") {
  UsageMeter meter;
  std::vector<cluster::UsagePart> parts(1);
  parts[0] = {.gpu = "GPU-1",
              .mig = {},
              .share = 1,
              .state = UsageState::held,
              .pods = {},
              .utilization = {},
              .power = {}};
  for (int i = 0; i < 5000; ++i) {
    parts[0].pods = {fmt::format("{:036}", i)};
    cluster::add_usage(meter, {"2026-11-30T10:00:00Z", 0, 1000.0 + i, "one"}, parts, 300);
  }
  CHECK(meter.rows.size() == cluster::most_usage_rows);
}
