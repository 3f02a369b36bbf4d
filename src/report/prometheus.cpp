#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"

#include "report/chains.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

namespace report {

namespace {

/// A label's value: backslash, quote and newline escaped (Prometheus, "Exposition formats").
std::string label(std::string_view text) {
  std::string value = base::replace_all(base::printable(text), "\\", "\\\\");
  value = base::replace_all(std::move(value), "\"", "\\\"");
  return base::replace_all(std::move(value), "\n", "\\n");
}

}  // namespace

std::string to_prometheus(std::span<const Finding> findings, base::Time at) {
  std::map<std::pair<std::string, std::string_view>, int> counts;
  std::set<std::string> open_ones;  // a series must be unique
  for (const Finding& finding : findings) {
    ++counts[{finding.host, name_of(finding.verdict)}];
    if (is_open(finding))
      open_ones.insert(fmt::format(
          "gpuadm_finding{{host=\"{}\",id=\"{}\",result=\"{}\",severity=\"{}\",caused_by=\"{}\"}} 1\n",
          label(finding.host), label(finding.id), name_of(finding.verdict), name_of(finding.severity),
          label(finding.caused_by)));
  }
  std::string text =
      "# HELP gpuadm_doctor_timestamp_seconds Time of the last run of gpuadm doctor.\n"
      "# TYPE gpuadm_doctor_timestamp_seconds gauge\n";
  text += fmt::format("gpuadm_doctor_timestamp_seconds {}\n",
                      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count());
  text +=
      "# HELP gpuadm_checks Results of checks by host.\n"
      "# TYPE gpuadm_checks gauge\n";
  for (const auto& [key, count] : counts)
    text +=
        fmt::format("gpuadm_checks{{host=\"{}\",result=\"{}\"}} {}\n", label(key.first), key.second, count);
  text +=
      "# HELP gpuadm_finding A check that does not pass: 1 while it fails.\n"
      "# TYPE gpuadm_finding gauge\n";
  for (const std::string& line : open_ones) text += line;
  return text;
}

}  // namespace report
