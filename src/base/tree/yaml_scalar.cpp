#include "base/tree/yaml_scalar.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

namespace base::yaml {

namespace {

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// By YAML 1.2's core schema.
Tree typed(const std::string& text) {
  if (is_null(text)) return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size()) return number;
  const bool numeric = digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                       digits.find_first_of("0123456789") != std::string_view::npos;
  if (numeric)
    if (auto real = to_real(digits)) return *real;
  return text;
}

/// `yes`, `Yes` and `YES`, but not `yEs`.
std::optional<bool> truth_of(std::string_view text) {
  constexpr std::array<std::string_view, 4> yes = {"y", "yes", "true", "on"},
                                            no = {"n", "no", "false", "off"};
  const std::string small = lower(text);
  std::string capital = small;
  if (!capital.empty() && !text.empty()) capital[0] = text[0];
  const bool all_capitals = std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (text != small && text != capital && !all_capitals) return std::nullopt;
  if (std::ranges::find(yes, small) != yes.end()) return true;
  if (std::ranges::find(no, small) != no.end()) return false;
  return std::nullopt;
}

enum class Form { valid, too_large, other };

/// As Go's strconv.ParseInt with base 0: the prefix gives the base.
Form read_integer(std::string_view text, Tree& tree) {
  const bool negative = text.starts_with('-');
  const bool has_sign = negative || text.starts_with('+');
  if (has_sign) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || end != text.data() + text.size()) return Form::other;
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || (has_sign && number > most + (negative ? 1 : 0)))
    return base == 10 ? Form::other : Form::too_large;
  if (number > most && !negative) {  // JSON keeps its digits
    tree = static_cast<double>(number);
    tree.written = std::to_string(number);
  } else {
    tree = static_cast<std::int64_t>(negative ? 0 - number : number);
  }
  return Form::valid;
}

std::size_t digits_in(std::string_view text, std::size_t from) {
  const std::size_t end = text.find_first_not_of("0123456789", from);
  return (end == std::string_view::npos ? text.size() : end) - from;
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_decimal(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::size_t at = digits_in(text, 0);
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = digits_in(text, at + 1);
    if (at == 0 && fraction == 0) return false;
    at += 1 + fraction;
  }
  if (at == 0) return false;
  if (at == text.size()) return true;
  if (text[at] != 'e' && text[at] != 'E') return false;
  ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t exponent = digits_in(text, at);
  return exponent > 0 && at + exponent == text.size();
}

std::optional<Tree> number_of(const std::string& text) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  const std::string small = lower(text);
  if (small == ".nan" || small == ".inf" || small == "+.inf" || small == "-.inf") return std::nullopt;
  if (text[0] == '.' && text.find('_') != std::string::npos) return text;
  std::string plain = text;
  std::erase(plain, '_');
  Tree tree = text;
  const Form form = read_integer(plain, tree);
  if (form == Form::valid) return tree;
  if (form == Form::too_large) return std::nullopt;
  if (!is_decimal(plain)) return text;
  const auto real = to_real(std::string_view(plain).substr(plain.starts_with('+') ? 1 : 0));
  if (!real) return text;  // too large for a double
  if (std::abs(*real) <= exact && std::trunc(*real) == *real) return static_cast<std::int64_t>(*real);
  return *real;
}

}  // namespace

Tree core_scalar(const std::string& text) {
  Tree tree = typed(text);
  tree.written = text;
  return tree;
}

std::optional<Tree> kubernetes_scalar(const std::string& plain) {
  Tree value;
  if (is_null(plain)) {
    value = Tree();
  } else if (const auto truth = truth_of(plain)) {
    value = *truth;
  } else if (std::string_view("+-.0123456789").contains(plain[0])) {
    const auto number = number_of(plain);
    if (!number) return std::nullopt;
    value = *number;
  } else {
    value = plain;
  }
  if (typed(plain) == value && value.written.empty()) value.written = plain;
  return value;
}

}  // namespace base::yaml
