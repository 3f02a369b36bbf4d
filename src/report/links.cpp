#include "gpuadm/report/links.hpp"

#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

#include <fmt/format.h>

namespace report {

namespace {

constexpr std::size_t link_width = 12;

struct VerdictWord {
  std::string_view text;
  Ink ink;
};

VerdictWord word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return {"ok", Ink::green};
    case Verdict::skip:
      return {"skipped", Ink::dim};
    default:
      return {"broken", Ink::red};
  }
}

}  // namespace

std::string link_text(const Finding& finding, std::size_t width, const Style& style) {
  const VerdictWord word = word_of(finding.verdict);
  const bool good = finding.verdict == Verdict::pass;
  std::string text = good && !finding.evidence.empty() ? finding.evidence : finding.message;
  if (!good && !finding.evidence.empty()) text += ": " + finding.evidence;
  const std::size_t margin = width + 2 + 9 + link_width + 1;
  std::string line = fmt::format("{:<{}}  {}{:{}} {:<{}} {}\n", base::printable(finding.host), width,
                                 paint(style, word.ink, word.text), "", 8 - word.text.size(),
                                 finding.id.substr(finding.id.find('.') + 1), link_width, hang(text, margin));
  if (!good && !finding.remedy.empty())
    line += fmt::format("{:{}}fix: {}\n", "", margin, indent_typed(remedy_text(finding), margin + 5, style));
  return line;
}

}  // namespace report
