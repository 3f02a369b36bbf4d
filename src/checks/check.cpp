#include "checks/check.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace checks {

void Verdicts::add(report::Verdict verdict, Severity severity, const std::string& message,
                   const std::string& evidence, const std::string& remedy) {
  // All three may quote output of a host.
  into_.push_back({.id = texts_.get(id_),
                   .severity = severity,
                   .verdict = verdict,
                   .host = host_,
                   .message = texts_.get(base::printable(message, 400)),
                   .evidence = texts_.get(base::printable(evidence, 1000)),
                   .remedy = texts_.get(base::printable(remedy)),
                   .caused_by = {}});
  ++count_;
}

void Verdicts::fail(Severity severity, const std::string& message, const std::string& evidence,
                    const std::string& remedy) {
  add(report::Verdict::fail, severity, message, evidence, remedy);
}

void Verdicts::follows(std::string_view check) {
  if (count_ > 0 && !check.empty()) into_.back().caused_by = texts_.get(std::string(check));
}

void Verdicts::pass(const std::string& message) {
  add(report::Verdict::pass, Severity::note, message, {}, {});
}

void Verdicts::skip(const std::string& why) {
  add(report::Verdict::skip, Severity::note, why, {}, {});
}

void Verdicts::not_applicable(const std::string& why) {
  skip(why);
  decided_ = true;
}

void Verdicts::withhold(const std::string& why) {
  if (decided_) return;
  const auto own = into_.end() - count_;
  const bool rests = std::all_of(own, into_.end(), [](const report::Finding& finding) {
    return finding.verdict == report::Verdict::pass || finding.verdict == report::Verdict::skip;
  });
  if (!rests) return;
  into_.erase(own, into_.end());
  count_ = 0;
  unknown(why);
}

void Verdicts::unknown(const std::string& why) {
  add(report::Verdict::unknown, Severity::note, why, {}, {});
}

}  // namespace checks
