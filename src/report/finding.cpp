#include "gpuadm/report/finding.hpp"

#include "gpuadm/report/findings.hpp"

namespace report {

bool is_open(const Finding& finding) {
  return finding.verdict != Verdict::pass && finding.verdict != Verdict::skip;
}

bool is_broken(const Finding& finding) {
  return (finding.verdict == Verdict::fail || finding.verdict == Verdict::timeout) &&
         finding.severity != Severity::note;
}

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::blocker:
      return "blocker";
  }
  return "?";
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::skip:
      return "skip";
    case Verdict::unknown:
      return "unknown";
    case Verdict::timeout:
      return "timeout";
  }
  return "?";
}

base::Tree to_tree(const Finding& finding) {
  return base::Tree::map_of({{"id", finding.id},
                             {"host", finding.host},
                             {"result", name_of(finding.verdict)},
                             {"severity", name_of(finding.severity)},
                             {"message", finding.message},
                             {"evidence", finding.evidence},
                             {"remedy", finding.remedy},
                             {"caused_by", finding.caused_by},
                             {"fixable", finding.fixable}});
}

bool blocks(const Finding& finding) {
  return finding.severity == Severity::blocker &&
         (finding.verdict == Verdict::fail || finding.verdict == Verdict::timeout);
}

}  // namespace report
