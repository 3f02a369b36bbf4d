#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"

#include "base/text/redact_names.hpp"

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

/// Whether a text begins with a position in a file: "3:5:", "3:".
bool is_position(std::string_view text) {
  const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
  return end > 0 && end < text.size() && text[end] == ':';
}

/// The offset of the first colon that ends a place, as in "password: is empty" and "token:1:1: expected a
/// map"; the size of the text if there is none. JSON's `"password": "x"` is not a place.
std::size_t end_of_place(std::string_view text) {
  for (auto at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    const bool ends = rest.empty() || rest.front() == ' ' || is_position(rest);
    if (ends && at > 0 && text[at - 1] != '"') return at;
  }
  return text.size();
}

/// Whether the text before the colon number `index` of a message is a place.
bool is_place(Fault fault, std::string_view text, std::size_t index) {
  if (fault == Fault::parse) return index == 0;
  if (fault == Fault::auth) return trim(text).starts_with('/');
  return fault == Fault::usage || fault == Fault::spec;
}

/// A line of a message: places are separated from their reasons, so that they are not names of settings.
std::string message_without_secrets(std::string_view line, Fault fault) {
  std::string out;
  std::size_t count = 0, begin = 0;
  for (std::size_t index = 0, from = 0; from < line.size(); ++index) {
    const std::size_t end = from + end_of_place(line.substr(from));
    if (end < line.size() && is_place(fault, line.substr(from, end - from), index)) {
      out += without_secrets(line.substr(begin, end - begin), count) + ":";
      begin = end + 1;
    }
    from = end + 1;
  }
  return out + without_secrets(line.substr(std::min(begin, line.size())), count);
}

/// The text with `redact` applied to each line outside of secret blocks and private keys.
template <class Redact>
std::string line_by_line(std::string_view text, Redact redact) {
  std::string out;
  SecretBlock block;
  bool key = false;
  for (const std::string_view line : lines(text)) {
    if (block.hides(line)) continue;
    const bool ends = line.find("-----END ") != std::string_view::npos;
    if (!key || ends) out += redact(line) + "\n";
    const auto begins = line.find("-----BEGIN ");
    key = !ends && (key || (begins != std::string_view::npos &&
                            line.find("PRIVATE KEY", begins) != std::string_view::npos));
  }
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
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
  std::size_t count = 0;
  return line_by_line(text, [&](std::string_view line) { return without_secrets(line, count); });
}

Error error_without_secrets(const Error& error) {
  std::size_t line_number = 0;
  const auto redact = [&](std::string_view line) {
    // Text of a host may follow on later lines.
    const bool own = line_number++ == 0 || error.fault != Fault::parse;
    return message_without_secrets(line, own ? error.fault : Fault::remote);
  };
  return {error.fault, line_by_line(error.what, redact), text_without_secrets(error.hint)};
}

}  // namespace base
