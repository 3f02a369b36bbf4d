#include "report/finding/chains.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using report::Finding;
using report::Severity;
using report::Verdict;

Finding finding(const char* id, Severity severity, const char* cause = "", Verdict verdict = Verdict::fail) {
  Finding made;
  made.id = std::string(id);
  made.severity = severity;
  made.verdict = verdict;
  made.host = std::string("gpu1");
  made.caused_by = std::string(cause);
  return made;
}

/// "cause<symptom,symptom other"
std::string shape(const std::vector<Finding>& all) {
  std::vector<const Finding*> shown;
  for (const Finding& one : all) shown.push_back(&one);
  std::string text;
  for (const report::Chain& chain : report::chains(shown)) {
    text += (text.empty() ? "" : " ") + chain.first->id.text();
    for (const Finding* one : chain.follow) text += "<" + one->id.text();
  }
  return text;
}

}  // namespace

TEST_CASE("a finding follows from its cause, unless that is only a note or unknown") {
  CHECK(shape({finding("symptom", Severity::blocker, "cause"), finding("cause", Severity::warning)}) ==
        "cause<symptom");
  CHECK(shape({finding("symptom", Severity::warning, "cause"), finding("cause", Severity::blocker)}) ==
        "cause<symptom");
  CHECK(shape({finding("symptom", Severity::warning, "cause"), finding("cause", Severity::note)}) ==
        "symptom cause");
  CHECK(shape({finding("symptom", Severity::blocker, "middle"), finding("middle", Severity::warning, "small"),
               finding("small", Severity::note)}) == "middle<symptom small");
  CHECK(shape({finding("symptom", Severity::note, "cause"), finding("cause", Severity::note)}) ==
        "cause<symptom");
  CHECK(shape({finding("symptom", Severity::blocker, "cause"),
               finding("cause", Severity::note, "", Verdict::unknown)}) == "symptom cause");
  CHECK(shape({finding("symptom", Severity::blocker, "gone")}) == "symptom");
}
