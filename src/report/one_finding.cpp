#include "report/one_finding.hpp"

#include "gpuadm/base/text.hpp"

#include "report/chains.hpp"
#include "report/paint.hpp"

#include <fmt/format.h>

namespace report {
namespace {

constexpr std::size_t margin = 11;  // of lines below a finding

std::string under(std::string_view word, std::string_view text, const Style& style) {
  const std::string head = fmt::format("{:{}}{} ", "", margin, word);
  return head + hang(text, head.size(), style) + "\n";
}

}  // namespace

std::string message(const Finding& finding, const Style& style) {
  const std::string id = fmt::format("({})", base::printable(finding.id));
  const std::string text = hang(fmt::format("{} {}", base::trim(finding.message), id), margin, style);
  return text.substr(0, text.size() - id.size()) + paint(style, Ink::dim, id);
}

std::string one(const Finding& finding, std::span<const Finding* const> explained, const Style& style) {
  std::string text = fmt::format("  {} {}\n", paint(style, finding, fmt::format("{:<8}", kind(finding))),
                                 message(finding, style));
  if (!finding.evidence.empty()) text += under("seen:", finding.evidence, style);
  if (!finding.remedy.empty()) {
    const std::string head = fmt::format("{:{}}fix:  ", "", margin);
    text += head + indent_typed(remedy_text(finding), head.size(), style) + "\n";
  }
  for (const Finding* other : explained)
    text += under("also:", fmt::format("{} ({})", first_line(other->message), other->id), style);
  return text;
}

}  // namespace report
