#include "gpuadm/base/text.hpp"

#include "facts/redact_text.hpp"

#include <fmt/format.h>

#include <array>

namespace facts {

namespace {

/// The names of settings whose value is a secret.
constexpr std::array secret_keys = std::to_array<std::string_view>(
    {"password", "passwd", "passphrase", "secret", "token", "auth", "identitytoken", "identity_token",
     "registrytoken", "apikey", "api_key", "api-key", "access_key", "secret_key", "client_secret",
     "client-key-data", "private_key"});

/// The value of `key = value`, `key: value` or `"key": "value"` whose key ends at `at`; empty where it has
/// none, or one that is no secret.
std::string_view value_after(std::string_view text, std::size_t at) {
  auto from = text.find_first_not_of("\"' \t", at);
  if (from == text.npos || (text[from] != '=' && text[from] != ':')) return {};
  from = text.find_first_not_of(" \t", from + 1);
  if (from == text.npos || text[from] == '{' || text[from] == '[') return {};
  const bool quoted = text[from] == '"' || text[from] == '\'';
  const auto end = quoted ? text.find(text[from], from + 1) : text.find_first_of(" \t,}", from);
  const auto begin = quoted ? from + 1 : from;
  const std::string_view value = text.substr(begin, end == text.npos ? end : end - begin);
  const bool plain = value == "true" || value == "false" || value == "null";
  return plain ? std::string_view() : value;
}

}  // namespace

std::string starred(std::string_view text, std::string_view part) {
  const auto at = static_cast<std::size_t>(part.data() - text.data());
  return fmt::format("{}***{}", text.substr(0, at), text.substr(at + part.size()));
}

std::string without_secrets(std::string text) {
  for (const std::string_view key : secret_keys) {
    const std::string low = base::lower(text);
    for (auto at = low.find(key); at != low.npos; at = low.find(key, at + 1)) {
      if (at > 0 && (is_word(low[at - 1]) || low[at - 1] == '-')) continue;
      const std::string_view value = value_after(text, at + key.size());
      if (value.empty()) continue;
      text = starred(text, value);
      break;  // one setting of a name stands in a line
    }
  }
  if (const auto scheme = text.find("://"); scheme != text.npos) {
    const std::string_view authority =
        std::string_view(text).substr(scheme + 3, text.find_first_of("/ \"'", scheme + 3) - scheme - 3);
    if (const auto at = authority.rfind('@'); at != authority.npos)
      text = starred(text, authority.substr(0, at));
  }
  return text;
}

std::string_view serial_in(std::string_view text) {
  const std::string low = base::lower(text);
  const auto at = low.find("serial");
  if (at == low.npos) return {};
  const auto from = text.find_first_of(">:", at);
  if (from == text.npos) return {};
  const std::string_view value = base::trim(text.substr(from + 1, text.find('<', from) - from - 1));
  return value == "N/A" || value.size() < 4 ? std::string_view() : value;
}

}  // namespace facts
