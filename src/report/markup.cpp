#include "report/markup.hpp"

#include "gpuadm/base/text.hpp"

namespace report {

std::string escape(std::string_view text) {
  std::string safe = base::printable(text);
  for (const auto& [from, to] :
       {std::pair{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}})
    safe = base::replace_all(std::move(safe), from, to);
  return safe;
}

}  // namespace report
