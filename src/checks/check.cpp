#include "checks/check.hpp"

#include "gpuadm/base/text.hpp"

namespace checks {

void Verdicts::add(report::Verdict verdict, Severity severity, const std::string& says,
                   const std::string& evidence, std::string remedy) {
  // Both quote what a host said.
  into_.push_back({.id = std::string(id_),
                   .severity = severity,
                   .verdict = verdict,
                   .host = host_,
                   .says = base::printable(says, 400),
                   .evidence = base::printable(evidence, 1000),
                   .remedy = std::move(remedy),
                   .caused_by = {}});
  ++count_;
}

void Verdicts::fail(Severity severity, const std::string& says, const std::string& evidence,
                    std::string remedy) {
  add(report::Verdict::fail, severity, says, evidence, std::move(remedy));
}

void Verdicts::pass(const std::string& says) {
  add(report::Verdict::pass, Severity::note, says, {}, {});
}

void Verdicts::skip(const std::string& why) {
  add(report::Verdict::skip, Severity::note, why, {}, {});
}

void Verdicts::unknown(const std::string& why) {
  add(report::Verdict::unknown, Severity::note, why, {}, {});
}

}  // namespace checks
