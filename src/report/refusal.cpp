#include "gpuadm/report/refusal.hpp"

#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

namespace report {

std::string to_text(const base::Error& error, const Style& style) {
  const auto [fault, what, hint] = base::error_without_secrets(error);
  std::string text = base::printable(what) + "\n";
  if (!hint.empty()) text += "  do: " + indent_typed(hint, 6, style) + "\n";
  return text;
}

}  // namespace report
