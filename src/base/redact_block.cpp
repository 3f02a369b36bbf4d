#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include "base/redact_names.hpp"

#include <algorithm>
#include <utility>

namespace base {

namespace {

constexpr std::string_view quotes = " \t\"',";

std::string_view unquoted(std::string_view text) {
  const auto begin = std::min(text.find_first_not_of(quotes), text.size());
  return text.substr(begin, text.find_last_not_of(quotes) + 1 - begin);
}

/// The name and the value of a line of YAML or JSON: `name: value`, `"name": "value",`. The name is empty for
/// other lines.
std::pair<std::string_view, std::string_view> pair_of(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  return {unquoted(text.substr(0, colon)), unquoted(text.substr(colon + 1))};
}

}  // namespace

bool SecretBlock::hides(std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(" \t|+-"), line.size());
  if (indent_ && (indent == line.size() || indent > *indent_)) return true;
  indent_.reset();
  const auto [name, value] = pair_of(line.substr(indent));
  if (std::exchange(value_follows_, false) && name == "value") {
    if (is_block_sign(value)) indent_ = indent;
    return true;
  }
  value_follows_ = (name == "name" || name == "key") && is_secret_name(value);
  const std::string_view text = trim(line);
  const auto colon = text.rfind(": ");
  if (colon == std::string_view::npos || !is_block_sign(trim(text.substr(colon + 2)))) return false;
  std::size_t begin = colon;
  while (begin > 0 && (is_name(text[begin - 1]) || text[begin - 1] == '"')) --begin;
  if (is_secret_name(text.substr(begin, colon - begin))) indent_ = indent;
  return false;
}

std::string text_without_secrets(std::string_view text) {
  std::string out;
  SecretBlock block;
  bool key = false;
  std::size_t count = 0;
  for (const std::string_view line : lines(text)) {
    if (block.hides(line)) continue;
    const bool ends = line.find("-----END ") != std::string_view::npos;
    if (!key || ends) out += without_secrets(line, count) + "\n";
    const auto begins = line.find("-----BEGIN ");
    key = !ends && (key || (begins != std::string_view::npos &&
                            line.find("PRIVATE KEY", begins) != std::string_view::npos));
  }
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

}  // namespace base
