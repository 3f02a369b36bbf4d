#include "gpuadm/report/refusal.hpp"

#include "gpuadm/base/text.hpp"

#include "report/paint.hpp"

namespace report {

std::string to_text(const base::Error& error, const Style& style) {
  std::string text = base::printable(error.what) + "\n";
  if (!error.hint.empty()) text += "  do: " + hang_typed(error.hint, 6, style) + "\n";
  return text;
}

}  // namespace report
