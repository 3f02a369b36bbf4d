#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/chains.hpp"
#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace report {

namespace {

/// One finding as a test case. An unknown result is an error.
std::string test_case(const std::string& host, const Finding& finding) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escape(host), escape(finding.id));
  if (finding.verdict == Verdict::pass) return head + "/>\n";
  if (finding.verdict == Verdict::skip)
    return fmt::format("{}>\n      <skipped message=\"{}\"/>\n    </testcase>\n", head,
                       escape(finding.message));
  const bool failed = finding.verdict == Verdict::fail;
  std::string more;
  for (const auto& [word, text] :
       {std::pair{"seen", finding.evidence}, {"fix", finding.remedy}, {"follows from", finding.caused_by}})
    if (!text.empty()) more += fmt::format("{}: {}\n", word, text);
  return fmt::format("{0}>\n      <{1} type=\"{2}\" message=\"{3}\">{4}</{1}>\n    </testcase>\n", head,
                     failed ? "failure" : "error",
                     failed ? name_of(finding.severity) : name_of(finding.verdict), escape(finding.message),
                     escape(base::trim(more)));
}

}  // namespace

std::string to_junit(std::span<const Finding> findings) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuadm doctor\">\n";
  for (const auto& [host, of_host] : by_host(findings)) {
    const auto count = [&](auto... verdict) {
      return std::ranges::count_if(of_host,
                                   [&](const Finding* f) { return ((f->verdict == verdict) || ...); });
    };
    text +=
        fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
                    escape(host), of_host.size(), count(Verdict::fail),
                    count(Verdict::unknown, Verdict::timeout), count(Verdict::skip));
    for (const Finding* finding : of_host) text += test_case(host, *finding);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace report
