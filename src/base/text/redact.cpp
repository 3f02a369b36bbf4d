#include "gpuadm/base/redact.hpp"

#include "gpuadm/base/text.hpp"

#include "base/text/redact_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace base {

namespace {

constexpr auto npos = std::string_view::npos;

/// A part of a line, as offsets: from `begin`, up to `end`.
struct Span {
  std::size_t begin = 0, end = 0;
};
using Found = std::optional<Span>;

/// From `from` up to the first of `ends`, or to the end of the line.
Span up_to(std::string_view text, std::size_t from, std::string_view ends) {
  return {from, std::min(text.find_first_of(ends, from), text.size())};
}

/// Whether an HTTP header of this name holds a secret; its value goes to the end of the line or of the quote.
bool is_secret_header(std::string_view name) {
  const std::string low = lower(name);
  return low == "authorization" || low == "proxy-authorization" || low == "cookie" || low == "set-cookie" ||
         low == "x-auth-token" || low == "private-token";
}

/// Words that hold no secret; "%s" is where a printf puts one.
bool is_plain(std::string_view value) {
  return value.empty() || value == "%s" || value == "true" || value == "false" || value == "null" || value == "none" ||
         value.starts_with("***") || is_block_sign(value);
}

Found unless_plain(std::string_view text, Span span) {
  if (is_plain(text.substr(span.begin, span.end - span.begin))) return std::nullopt;
  return span;
}

/// A value that begins at `from`: quoted, a list, or one word. `outer`: the quote around the whole setting,
/// or '\0': "key=a value" ends there; '?' in the query of a URL.
Found value_at(std::string_view text, std::size_t from, char outer) {
  const bool query = outer == '?';
  if (from >= text.size() || text[from] == '{') return std::nullopt;
  const char first = text[from];
  if (first == '[') {
    const std::size_t end = std::min(text.find(']', from), text.size());
    const bool empty = trim(text.substr(from + 1, end - from - 1)).empty();
    return empty ? std::nullopt : Found(Span{from + 1, end});
  }
  if (first == '"' || first == '\'')
    return unless_plain(text, {from + 1, std::min(text.find(first, from + 1), text.size())});
  if (outer != '\0' && !query)
    return unless_plain(text, {from, std::min(text.find(outer, from), text.size())});
  return unless_plain(text, up_to(text, from, query ? " \t\"'&#" : " \t,;}]\"'<"));
}

/// The value of `name = value`, `name: value`, `"name": "value"` or `<name>value</name>`, with `end` the end
/// of the name and `outer` the quote before it.
Found setting(std::string_view text, std::size_t begin, std::size_t end, char outer) {
  if (begin > 0 && text[begin - 1] == '<' && end < text.size() && text[end] == '>')
    return unless_plain(text, up_to(text, end + 1, "<"));
  const bool inside = outer != '\0' && end < text.size() && text[end] == '=';
  auto from = text.find_first_not_of("\"' \t\\", end);
  if (from == npos || (text[from] != '=' && text[from] != ':')) return std::nullopt;
  if (text.substr(from).starts_with(":=") || text.substr(from).starts_with("=>")) ++from;
  from = text.find_first_not_of(" \t\\", from + 1);
  return from == npos ? std::nullopt : value_at(text, from, inside ? outer : '\0');
}

/// The value of a pair whose name ends at `end`, as kubectl prints environment variables:
/// `"name":"DB_PASSWORD","value":"X"`, `{name: DB_PASSWORD, value: X}`.
Found pair(std::string_view text, std::size_t end) {
  const auto from = text.find_first_not_of("\"' \t\\,;", end);
  constexpr std::string_view value = "value";
  if (from == npos || !text.substr(from).starts_with(value)) return std::nullopt;
  const std::size_t behind = from + value.size();
  return behind < text.size() && is_name(text[behind]) ? std::nullopt : setting(text, from, behind, '\0');
}

/// The word after an option's name: `--password X`, and in a list of arguments `"--password", "X"`.
Found next_word(std::string_view text, std::size_t end) {
  auto from = end;
  if (from < text.size() && (text[from] == '"' || text[from] == '\'')) {
    from = text.find_first_not_of(" \t", from + 1);
    if (from == npos || text[from] != ',') return std::nullopt;
    ++from;
  } else if (from >= text.size() || (text[from] != ' ' && text[from] != '\t')) {
    return std::nullopt;
  }
  from = text.find_first_not_of(" \t", from);
  if (from == npos || text[from] == '-' || text[from] == '|') return std::nullopt;
  return value_at(text, from, '\0');
}

/// The password of `u:p` after `-u`, `--user=` and similar; nothing for numbers, as in `--user 1000:1000`.
Found password_of(std::string_view text, Span person) {
  const auto colon = text.find(':', person.begin);
  if (colon == npos || colon >= person.end) return std::nullopt;
  const std::string_view password = text.substr(colon + 1, person.end - colon - 1);
  if (std::ranges::all_of(text.substr(person.begin, person.end - person.begin),
                          [](char c) { return is_digit(c) || c == ':'; }))
    return std::nullopt;
  return is_plain(password) ? std::nullopt : Found(Span{colon + 1, person.end});
}

/// Whether a program that takes `-p PASSWORD` is earlier in the line.
bool takes_password(std::string_view before) {
  return before.find("sshpass ") != npos || before.find(" login ") != npos;
}

/// Whether a program that takes `-pPASSWORD` is.
bool takes_attached_password(std::string_view before) {
  return before.ends_with("sshpass -") || before.find("mysql") != npos || before.find("mariadb") != npos;
}

/// The secret of an option whose name, after its dashes, is from `begin` to `end`.
Found option(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view name = text.substr(begin, end - begin);
  const bool one_dash = begin < 2 || text[begin - 2] != '-';
  for (const std::string_view person : {"u", "U", "user", "proxy-user", "creds", "src-creds", "dest-creds"})
    if (name == person) {
      if (end < text.size() && text[end] == '=') {
        const auto value = value_at(text, end + 1, '\0');
        return value ? password_of(text, *value) : std::nullopt;
      }
      const auto value = next_word(text, end);
      return value ? password_of(text, *value) : std::nullopt;
    }
  if (one_dash && name == "p" && takes_password(text.substr(0, begin))) return next_word(text, end);
  if (one_dash && (name == "passin" || name == "passout" || name == "pass")) return next_word(text, end);
  if (one_dash && name == "a" && text.substr(0, begin).find("redis-cli ") != npos)
    return next_word(text, end);
  if (one_dash && name.starts_with("p") && name.size() > 1 && takes_attached_password(text.substr(0, begin)))
    return Span{begin + 1, up_to(text, begin, " \t\"'").end};
  if (is_secret_name(name)) return next_word(text, end);
  return std::nullopt;
}

/// The value of a header with a secret; of "Bearer X", "Basic X" and "Token X" the second word.
Found header(std::string_view text, std::size_t end) {
  auto from = text.find_first_not_of("\"' \t", end);
  if (from == npos || (text[from] != ':' && text[from] != '=')) return std::nullopt;
  from = text.find_first_not_of(" \t\"'[", from + 1);
  if (from == npos || text[from] == '{') return std::nullopt;
  const Span all = up_to(text, from, "\"']\\");
  const auto blank = text.find(' ', from);
  const bool scheme = blank < all.end && std::ranges::all_of(text.substr(from, blank - from), is_name);
  return unless_plain(text, {scheme ? blank + 1 : from, all.end});
}

/// The user info of a URL whose scheme ends at `end`: the part before the @ of the host. A password may
/// contain a slash and an @, so it ends at the last @; one before a digest does not count.
Found people(std::string_view text, std::size_t end) {
  if (!text.substr(end).starts_with("://")) return std::nullopt;
  const std::size_t begin = end + 3;
  std::string_view url = text.substr(0, up_to(text, begin, " \t\"'<>").end);
  if (const auto digest = url.find("@sha256:", begin); digest != npos) url = url.substr(0, digest);
  const std::string_view authority = url.substr(0, up_to(url, begin, "/?#").end);
  const bool password = authority.find(':', begin) != npos;
  const auto at = (password ? url : authority).rfind('@');
  if (at == npos || at < begin) return std::nullopt;
  return unless_plain(text, {begin, at});
}

/// "Bearer X" and "Basic X" without a header name.
Found scheme(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string word = lower(text.substr(begin, end - begin));
  if ((word != "bearer" && word != "basic") || end >= text.size() || text[end] != ' ') return std::nullopt;
  const Span value = up_to(text, end + 1, " \t\"',;");
  return value.end - value.begin < 8 ? std::nullopt : unless_plain(text, value);
}

/// A private key in one line, as in JSON.
Found private_key(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(at);
  if (!rest.starts_with("-----BEGIN ")) return std::nullopt;
  const auto title = rest.find("-----", 11);
  if (title == npos || rest.substr(0, title).find("PRIVATE KEY") == npos) return std::nullopt;
  const auto end = rest.find("-----END ", title);
  const Span key{at + title + 5, end == npos ? text.size() : at + end};
  return key.begin == key.end ? std::nullopt : Found(key);
}

/// The secret that the word from `begin` to `end` is, or precedes.
Found secret_at(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view name = text.substr(begin, end - begin);
  if (is_key(name)) return Span{begin, end};
  if (const auto found = people(text, end)) return found;
  const char before = begin > 0 ? text[begin - 1] : ' ';
  if (before == '-')
    if (const auto found = option(text, begin, end)) return found;
  if (is_secret_header(name))
    if (const auto found = header(text, end)) return found;
  if (const auto found = scheme(text, begin, end)) return found;
  // The signature of a pre-signed URL.
  const bool query = before == '?' || before == '&';
  const bool quoted = before == '"' || before == '\'';
  if (is_secret_name(name) || (query && (name == "sig" || name == "key")))
    if (const auto found = setting(text, begin, end, query ? '?' : quoted ? before : '\0')) return found;
  if (is_secret_name(name))
    if (const auto found = pair(text, end)) return found;
  // netrc: machine HOST login NAME password X
  if (name == "password" && text.substr(0, begin).find("login ") != npos) return next_word(text, end);
  return std::nullopt;
}

}  // namespace

std::string starred(std::string_view text, std::string_view part) {
  const auto at = static_cast<std::size_t>(part.data() - text.data());
  return fmt::format("{}***{}", text.substr(0, at), text.substr(at + part.size()));
}

bool begins_word(std::string_view text, std::size_t at) {
  if (at == 0 || !is_word(text[at - 1])) return true;
  const bool escape = at > 1 && text[at - 2] == '\\';
  return escape && (text[at - 1] == 'n' || text[at - 1] == 't' || text[at - 1] == 'r');
}

std::string without_secrets(std::string_view line, std::size_t& count) {
  std::string out;
  std::size_t at = 0;
  const auto copy_to = [&](std::size_t end) {
    out += line.substr(at, end - at);
    at = end;
  };
  while (at < line.size()) {
    if (line[at] == '\\' && at + 1 < line.size()) {
      copy_to(at + 2);
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && is_name(line[end])) ++end;
    const std::size_t begin = std::min(end, line.find_first_not_of("-.", at));
    Found secret = private_key(line, at);
    if (!secret && begin < end) secret = secret_at(line, begin, end);
    if (secret) {
      copy_to(secret->begin);
      out += "***";
      at = secret->end;
      ++count;
    } else {
      copy_to(std::max(end, at + 1));
    }
  }
  return out;
}

}  // namespace base
