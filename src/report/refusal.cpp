#include "gpuadm/report/refusal.hpp"

#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

namespace report {

std::string to_text(const base::Error& error, const Style& style) {
  std::string text = base::printable(base::text_without_secrets(error.what)) + "\n";
  if (!error.hint.empty())
    text += "  do: " + hang_typed(base::text_without_secrets(error.hint), 6, style) + "\n";
  return text;
}

}  // namespace report
