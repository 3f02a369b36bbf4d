#include "gpuadm/base/image_reference.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace base {

namespace {

constexpr std::size_t longest_repository = 255, longest_tag = 128, sha256_digits = 64;
constexpr std::string_view default_registry = "docker.io", decimal_digits = "0123456789",
                           hexadecimal_digits = "0123456789abcdef", digest_prefix = "sha256:";

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_letter_or_digit(char c) {
  return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// Lowercase letters and digits; between them ".", "_", "__", or any number of "-".
bool is_component(std::string_view text) {
  if (text.empty() || !is_lower_or_digit(text.front()) || !is_lower_or_digit(text.back())) return false;
  while (!text.empty()) {
    const auto after = std::ranges::find_if_not(text, is_lower_or_digit);
    text.remove_prefix(static_cast<std::size_t>(after - text.begin()));
    const auto next = std::ranges::find_if(text, is_lower_or_digit);
    const std::string_view separator = text.substr(0, static_cast<std::size_t>(next - text.begin()));
    if (!separator.empty() && separator != "." && separator != "_" && separator != "__" &&
        !consists_of(separator, "-"))
      return false;
    text.remove_prefix(separator.size());
  }
  return true;
}

bool is_repository(std::string_view text) {
  return std::ranges::all_of(split(text, '/'), is_component);
}

/// HOST[:PORT]; an IPv6 address is in brackets.
bool is_registry(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : std::string_view::npos;
  const std::size_t end = bracket == std::string_view::npos ? text.find(':') : bracket + 1;
  const std::string_view host = text.substr(0, end);
  if (host.size() < text.size() && (text[end] != ':' || !consists_of(text.substr(end + 1), decimal_digits)))
    return false;
  if (bracket != std::string_view::npos)
    return consists_of(lower(host.substr(1, host.size() - 2)), "0123456789abcdef:");
  return std::ranges::all_of(split(host, '.'), [](std::string_view part) {
    return !part.empty() && part.front() != '-' && part.back() != '-' &&
           std::ranges::all_of(part, [](char c) { return is_letter_or_digit(c) || c == '-'; });
  });
}

bool is_tag(std::string_view text) {
  return !text.empty() && text.size() <= longest_tag && text.front() != '.' && text.front() != '-' &&
         std::ranges::all_of(
             text, [](char c) { return is_letter_or_digit(c) || std::string_view("._-").contains(c); });
}

bool is_digest(std::string_view text) {
  return text.size() == digest_prefix.size() + sha256_digits && text.starts_with(digest_prefix) &&
         consists_of(text.substr(digest_prefix.size()), hexadecimal_digits);
}

/// Whether the part before the first slash is a registry.
bool names_registry(std::string_view first) {
  return first.find_first_of(".:") != std::string_view::npos || first == "localhost";
}

/// What is wrong with the text as a whole; empty: nothing.
std::string problem_of_text(std::string_view text) {
  if (text.empty()) return "it is empty";
  if (text.find("://") != std::string_view::npos) return "a scheme such as http:// is not allowed";
  if (text.size() == sha256_digits && consists_of(text, hexadecimal_digits)) return "it is an ID";
  for (const char& c : text)
    if (!is_letter_or_digit(c) && !std::string_view("._-/:@[]").contains(c))
      return fmt::format("'{}' is not allowed", printable(std::string_view(&c, 1)));
  return {};
}

/// The parts of the text, which are not valid yet.
struct Parts {
  std::string_view registry = default_registry, repository;
  std::optional<std::string_view> tag, digest;
};

Parts parts_of(std::string_view text) {
  Parts parts;
  if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
    parts.digest = text.substr(at + 1);
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && names_registry(text.substr(0, slash))) {
    parts.registry = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    parts.tag = text.substr(colon + 1);
    text = text.substr(0, colon);
  }
  parts.repository = text;
  return parts;
}

std::string problem_of(const Parts& parts) {
  if (!is_registry(parts.registry))
    return fmt::format("the registry is not HOST or HOST:PORT: '{}'", parts.registry);
  if (parts.repository.empty()) return "it has no repository";
  if (lower(parts.repository) != parts.repository)
    return fmt::format("the repository has capital letters: '{}'", parts.repository);
  if (!is_repository(parts.repository))
    return fmt::format("the repository is not NAME or NAME/NAME: '{}'", parts.repository);
  if (parts.repository.size() > longest_repository)
    return fmt::format("the repository is longer than {} characters", longest_repository);
  if (parts.tag && parts.tag->size() > longest_tag)
    return fmt::format("the tag is longer than {} characters", longest_tag);
  if (parts.tag && !is_tag(*parts.tag)) return fmt::format("invalid tag: '{}'", *parts.tag);
  if (parts.digest && !is_digest(*parts.digest))
    return "the digest is not sha256: with 64 hexadecimal digits";
  return {};
}

}  // namespace

Result<ImageReference> parse_image_reference(std::string_view text) {
  const Parts parts = parts_of(text);
  std::string problem = problem_of_text(text);
  if (problem.empty()) problem = problem_of(parts);
  if (!problem.empty())
    return fail(Fault::usage, fmt::format("invalid image name '{}': {}", printable(text, 200), problem),
                "for example registry.k8s.io/pause:3.9");
  ImageReference reference{std::string(parts.registry), std::string(parts.repository),
                           std::string(parts.tag.value_or("")), std::string(parts.digest.value_or(""))};
  if (reference.registry == default_registry && reference.repository.find('/') == std::string::npos)
    reference.repository = "library/" + reference.repository;
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
  return reference;
}

std::string full_name(const ImageReference& image) {
  return image.digest.empty() ? fmt::format("{}/{}:{}", image.registry, image.repository, image.tag)
                              : fmt::format("{}/{}@{}", image.registry, image.repository, image.digest);
}

}  // namespace base
