#include "gpuadm/base/text.hpp"
#include "gpuadm/report/findings.hpp"
#include "gpuadm/report/metrics.hpp"

#include "report/finding/chains.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace report {

namespace {

/// A label's value: backslash, quote and newline escaped (Prometheus, "Exposition formats").
std::string label(std::string_view text) {
  std::string value = base::replace_all(base::printable(text), "\\", "\\\\");
  value = base::replace_all(std::move(value), "\"", "\\\"");
  return base::replace_all(std::move(value), "\n", "\\n");
}

/// Whole numbers without an exponent, so that times and bytes can be read.
std::string number(double value) {
  constexpr double exact = 1e15;
  if (std::isnan(value)) return "NaN";
  if (std::floor(value) == value && std::abs(value) < exact) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

}  // namespace

void MetricsText::head(std::string_view name, Type type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                       type == Type::counter ? "counter" : "gauge");
}

void MetricsText::sample(const Labels& labels, double value) {
  std::string list;
  for (const auto& [key, text] : labels)
    list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", key, label(text));
  text_ += list.empty() ? fmt::format("{} {}\n", name_, number(value))
                        : fmt::format("{}{{{}}} {}\n", name_, list, number(value));
}

void add_findings(MetricsText& text, std::span<const Finding> findings) {
  std::map<std::pair<std::string, std::string_view>, int> counts;
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::string>>
      open_ones;  // a series must be unique
  for (const Finding& finding : findings) {
    ++counts[{finding.host, name_of(finding.verdict)}];
    if (is_open(finding))
      open_ones.emplace(finding.host, finding.id, name_of(finding.verdict), name_of(finding.severity),
                        finding.caused_by);
  }
  text.head("gpuadm_checks", MetricsText::Type::gauge, "Results of checks by host.");
  for (const auto& [key, count] : counts)
    text.sample({{"host", key.first}, {"result", std::string(key.second)}}, count);
  text.head("gpuadm_finding", MetricsText::Type::gauge, "A check that does not pass: 1 while it fails.");
  for (const auto& [host, id, result, severity, cause] : open_ones)
    text.sample(
        {{"host", host}, {"id", id}, {"result", result}, {"severity", severity}, {"caused_by", cause}}, 1);
}

std::string to_prometheus(std::span<const Finding> findings, base::Time at) {
  MetricsText text;
  text.head("gpuadm_doctor_timestamp_seconds", MetricsText::Type::gauge,
            "Time of the last run of gpuadm doctor.");
  text.sample({}, static_cast<double>(
                      std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count()));
  add_findings(text, findings);
  return text.text();
}

}  // namespace report
