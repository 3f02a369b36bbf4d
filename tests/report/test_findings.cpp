#include "gpuadm/base/json.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/expected.hpp"

#include <algorithm>

namespace {

using report::Finding;
using report::Severity;
using report::Verdict;

std::vector<Finding> of_four_hosts() {
  std::vector<Finding> findings = {
      {.id = "net.route.mtu",
       .severity = Severity::note,
       .host = "cp1",
       .message = "MTU is 1450",
       .evidence = "eth0"},
      {.id = "host.disk.swap-on",
       .severity = Severity::warning,
       .host = "cp1",
       .message = "Swap is on",
       .evidence = "/swapfile file 2097148\n/dev/sda2 partition 1048572",
       .remedy = "os.swap.keep"},
      {.id = "rt.containerd.cri",
       .severity = Severity::blocker,
       .host = "cp1",
       .message = "containerd's CRI is off",
       .evidence = "disabled_plugins = [\"cri\"]",
       .remedy = "remove cri from disabled_plugins"},
      {.id = "kubelet.runtime",
       .severity = Severity::blocker,
       .host = "cp1",
       .message = "The kubelet has no runtime",
       .caused_by = "rt.containerd.cri"},
      {.id = "kubelet.ready",
       .severity = Severity::blocker,
       .host = "cp1",
       .message = "The node is not ready",
       .caused_by = "kubelet.runtime"},
      {.id = "gpu.driver.smi-runs",
       .severity = Severity::blocker,
       .verdict = Verdict::unknown,
       .host = "cp1",
       .message = "nvidia-smi: permission denied"},
      {.id = "host.cpu.count",
       .severity = Severity::blocker,
       .verdict = Verdict::pass,
       .host = "cp1",
       .message = "8 CPUs"},
      {.id = "host.identity.unique-mac",
       .severity = Severity::blocker,
       .message = "gpu1 and gpu2 share a MAC",
       .evidence = "02:00:00:00:00:01",
       .remedy = "give each machine its own"},
  };
  for (const char* host : {"gpu1", "gpu2", "gpu3"}) {
    findings.push_back(
        {.id = "host.cpu.count", .verdict = Verdict::pass, .host = host, .message = "64 CPUs"});
    findings.push_back(
        {.id = "gpu.mig", .verdict = Verdict::skip, .host = host, .message = "no GPU can do MIG"});
  }
  return findings;
}

}  // namespace

TEST_CASE("findings are grouped by host, blockers first, causes with what they explain, passes counted") {
  const std::string text = to_text(of_four_hosts(), {});
  CHECK(text == expected("findings.txt", text));
}

TEST_CASE("a report begins with the first broken link over all hosts") {
  auto findings = of_four_hosts();
  CHECK(headline(findings, {}) ==
        "First broken link: containerd's CRI is off (rt.containerd.cri) on cp1; 2 findings follow from it; "
        "1 check is unknown");
  REQUIRE(first_broken(findings));
  CHECK(first_broken(findings)->first == &findings[2]);
  for (const char* host : {"gpu1", "gpu2"})
    findings.push_back(
        {.id = "rt.containerd.cri", .severity = Severity::blocker, .host = host, .message = "off"});
  CHECK(headline(findings, {}) ==
        "First broken link: containerd's CRI is off (rt.containerd.cri) on cp1 and 2 more hosts; 2 findings "
        "follow from it; 1 check is unknown");
  CHECK(headline(findings, {.color = report::Color::yes}).starts_with("\x1b[31m"));
}

TEST_CASE(
    "a severe consequence puts its cause before warnings, and a blocker that nothing explains before both") {
  std::vector<Finding> findings = {
      {.id = "a", .severity = Severity::warning, .host = "h", .message = "alone"},
      {.id = "b", .severity = Severity::warning, .host = "h", .message = "cause"},
      {.id = "c", .severity = Severity::blocker, .host = "h", .message = "consequence", .caused_by = "b"}};
  CHECK(headline(findings, {}) == "First broken link: cause (b); 1 finding follows from it");
  findings.push_back({.id = "d", .severity = Severity::blocker, .host = "h", .message = "itself"});
  CHECK(headline(findings, {}) == "First broken link: itself (d)");
}

TEST_CASE("where nothing is broken the report says so") {
  CHECK(report::headline({}, {}) == "Nothing was checked");
  std::vector<Finding> findings = {{.id = "a", .severity = Severity::note, .host = "h", .message = "x"}};
  CHECK(headline(findings, {}) == "Nothing is broken");
  findings.push_back({.id = "b", .verdict = Verdict::unknown, .host = "h", .message = "not read"});
  CHECK(headline(findings, {}) == "No problem was found; 1 check is unknown");
  CHECK_FALSE(first_broken(findings));
}

TEST_CASE("verbose findings name passes and what does not apply") {
  const std::string text = to_text(of_four_hosts(), {.verbosity = report::Verbosity::verbose});
  CHECK(text == expected("findings-verbose.txt", text));
}

TEST_CASE("findings as JSON are one object a result and a summary") {
  const std::string text = fmt::format("{}\n", base::json::write(to_tree(of_four_hosts())));
  CHECK(text == expected("findings.json", text));
}

TEST_CASE("findings written in pieces are the same document, a finding a line") {
  const auto findings = of_four_hosts();
  std::string text;
  report::write_json(findings, [&](std::string_view piece) { text += piece; });
  const auto tree = base::json::read(text, "pieces");
  REQUIRE(tree);
  CHECK(base::json::write(*tree) == base::json::write(to_tree(findings)));
  CHECK(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(findings.size()) + 6);
  text.clear();
  report::write_json({}, [&](std::string_view piece) { text += piece; });
  CHECK(base::json::read(text, "none"));
}

TEST_CASE("findings of the whole cluster are summed up as such") {
  const std::vector<Finding> whole = {{.id = "gk.x", .verdict = Verdict::pass, .message = "fine"}};
  CHECK(to_text(whole, {}).ends_with("the whole cluster: 1 passed\n"));
  CHECK(report::to_text(std::vector<Finding>{}, {}) == "Nothing was checked\n\n0 hosts: nothing checked\n");
}

TEST_CASE("findings that cause each other are shown anyway") {
  const std::vector<Finding> circle = {{.id = "a", .host = "h", .message = "first", .caused_by = "b"},
                                       {.id = "b", .host = "h", .message = "second", .caused_by = "c"},
                                       {.id = "c", .host = "h", .message = "third", .caused_by = "a"}};
  const std::string text = to_text(circle, {});
  for (const char* message : {"first", "second", "third"}) CHECK(text.find(message) != std::string::npos);
}

TEST_CASE("evidence from a host cannot reach the terminal as an escape sequence") {
  const std::vector<Finding> hostile = {
      {.id = "x", .host = "h\x1b]0;owned\x07", .message = "\x1b[2J", .evidence = "\xff\x1b"}};
  const std::string text = to_text(hostile, {});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("\\x1b[2J") != std::string::npos);
}

TEST_CASE("only a failed or timed-out check of severity blocker blocks") {
  CHECK(blocks(Finding{.severity = Severity::blocker, .verdict = Verdict::fail}));
  CHECK(blocks(Finding{.severity = Severity::blocker, .verdict = Verdict::timeout}));
  CHECK_FALSE(blocks(Finding{.severity = Severity::blocker, .verdict = Verdict::unknown}));
  CHECK_FALSE(blocks(Finding{.severity = Severity::blocker, .verdict = Verdict::pass}));
  CHECK_FALSE(blocks(Finding{.severity = Severity::warning, .verdict = Verdict::fail}));
}

TEST_CASE("findings as JUnit, as a page and for Prometheus") {
  const auto findings = of_four_hosts();
  const base::Time at{std::chrono::seconds(1'700'000'000)};
  const std::string junit = report::to_junit(findings);
  CHECK(junit == expected("findings.junit.xml", junit));
  const std::string page = report::to_html(findings, "lab <1>", at);
  CHECK(page == expected("findings.html", page));
  const std::string metrics = report::to_prometheus(findings, at);
  CHECK(metrics == expected("findings.prom", metrics));
}

TEST_CASE("what a host says cannot leave its place in a page, a suite or a metric") {
  std::vector<Finding> findings(1);
  findings[0].host = "a\"b";
  findings[0].message = "<script>alert('x')</script>\x1b[31m & \"";
  findings[0].evidence = "]]></failure>\n";
  for (const std::string& text : {report::to_junit(findings), report::to_html(findings, "x", {})}) {
    CHECK(text.find("<script>") == std::string::npos);
    CHECK(text.find("]]></failure>\n<") == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
  }
  CHECK(report::to_prometheus(findings, {}).find("host=\"a\\\"b\"") != std::string::npos);
}

TEST_CASE("a run that is stopped says by which blockers, that nothing was changed, and what to run next") {
  const auto blocker = [](const char* host, const char* id, const char* message) {
    return report::Finding{.id = id, .severity = report::Severity::blocker, .host = host, .message = message};
  };
  const std::vector<report::Finding> findings = {
      blocker("gpu1", "rt.present", "containerd is not installed"),
      {.id = "host.disk.swap-on",
       .severity = report::Severity::warning,
       .host = "gpu1",
       .message = "swap is enabled"},
      blocker("gpu2", "rt.present", "containerd is not installed"),
      blocker("gpu2", "kubeadm.ports-free", "port 6443 is in use")};
  CHECK(report::stopped(findings, {}) ==
        "stopped by 2 blockers; nothing was changed\n"
        "  rt.present: containerd is not installed (gpu1, gpu2)\n"
        "  kubeadm.ports-free: port 6443 is in use (gpu2)\n"
        "  do: correct them, then run the same command again; `gpuadm explain rt.present` describes it\n");
  CHECK(report::stopped(std::vector{findings[1]}, {}).empty());
}

TEST_CASE("on a screen warnings are a line each, and blockers are last, the first broken link at the end") {
  auto findings = of_four_hosts();
  findings.push_back(
      {.id = "host.time.synced",
       .severity = Severity::warning,
       .host = "gpu1",
       .message = "the clock is not synchronized, and the certificates of the cluster may be refused",
       .evidence = "never shown here"});
  const std::string text = short_details(findings, {.view = report::View::live, .width = 80});
  CHECK(text == expected("short-details.txt", text));
  CHECK(text.find("never shown here") == std::string::npos);
  for (const std::string_view line : base::lines(text)) CHECK(line.size() <= 80);
}

TEST_CASE("what is said before a plan is the headline, the other warnings and counts") {
  const std::string text = short_text(of_four_hosts(), {.view = report::View::live, .width = 80});
  CHECK(text == expected("short-text.txt", text));
}

TEST_CASE("what is said before a plan of many hosts with many warnings has at most six rows") {
  std::vector<Finding> findings;
  for (int host = 0; host < 512; ++host)
    for (int i = 0; i < 20; ++i)
      findings.push_back({.id = fmt::format("w.{}", i),
                          .severity = Severity::warning,
                          .host = fmt::format("gpu{}", host),
                          .message = std::string(200, 'w')});
  const std::string text = short_text(findings, {.view = report::View::live, .width = 80});
  INFO(text);
  CHECK(base::lines(text).size() <= 6);
  CHECK(text.find("and 18 more") != std::string::npos);
}

TEST_CASE("a doctor of many hosts with many warnings fits a screen of 24 rows") {
  std::vector<Finding> findings;
  for (int host = 0; host < 50; ++host) {
    const std::string name = fmt::format("gpu{}", host);
    for (int i = 0; i < 20; ++i)
      findings.push_back({.id = fmt::format("w.{}", i),
                          .severity = Severity::warning,
                          .host = name,
                          .message = std::string(200, 'w')});
    findings.push_back({.id = "b",
                        .severity = Severity::blocker,
                        .host = name,
                        .message = "it is broken",
                        .evidence = "1\n2\n3\n4\n5\n6",
                        .remedy = "fix it"});
  }
  const report::Style style{.view = report::View::live, .width = 80};
  const std::string text = headline(findings, style) + "\n" + short_details(findings, style);
  CHECK(base::lines(text).size() <= 20);
  CHECK(text.find("and 15 more") != std::string::npos);
  CHECK(text.find("on gpu0, gpu1 and 48 more") != std::string::npos);
}

TEST_CASE("a warning is not called a broken link") {
  const std::vector<Finding> findings = {
      {.id = "net.x", .severity = Severity::warning, .host = "h", .message = "no name server is set"},
      {.id = "y", .verdict = Verdict::unknown, .host = "h", .message = "not read"}};
  CHECK(headline(findings, {}) == "Warning: no name server is set (net.x); 1 check is unknown");
}
