#include "http/request.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace http {

namespace {

constexpr std::pair<int, std::string_view> reasons[] = {
    {200, "OK"},        {400, "Bad Request"},        {403, "Forbidden"},
    {404, "Not Found"}, {405, "Method Not Allowed"}, {503, "Service Unavailable"}};

/// Whether a request can begin with these bytes: a word in capital letters, and a blank.
bool begins_with_method(std::string_view bytes) {
  constexpr std::size_t longest = 16;
  const std::size_t end = std::min(bytes.find(' '), bytes.size());
  return end <= longest &&
         std::ranges::all_of(bytes.substr(0, end), [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// The value of the header Host. Nothing: there are two, and a proxy could have read the other one.
std::optional<std::string> host_in(std::string_view headers) {
  std::optional<std::string> host;
  for (const std::string_view line : base::lines(headers)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || base::lower(line.substr(0, colon)) != "host") continue;
    if (host) return std::nullopt;
    host = base::lower(base::trim(line.substr(colon + 1)));
  }
  return host.value_or("");
}

}  // namespace

std::optional<Request> read_request(std::string_view bytes) {
  if (!begins_with_method(bytes)) return Request{};
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos)
    return bytes.size() >= most_request ? std::optional(Request{}) : std::nullopt;
  const std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == last || end > most_request) return Request{};
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!line.substr(last + 1).starts_with("HTTP/1.") || !target.starts_with('/') ||
      std::ranges::any_of(target, [](char c) { return c <= ' ' || c > '~'; }))
    return Request{};
  const auto host = host_in(bytes.substr(line.size(), end - line.size()));
  if (!host) return Request{};
  Request request{Request::Kind::other_method, std::string(target.substr(0, target.find('?'))), *host};
  if (line.starts_with("GET ")) request.kind = Request::Kind::get;
  if (line.starts_with("HEAD ")) request.kind = Request::Kind::head;
  return request;
}

std::string to_text(const Response& response, bool head) {
  const auto* reason = std::ranges::find(reasons, response.status, &std::pair<int, std::string_view>::first);
  std::string answer = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nX-Content-Type-Options: nosniff\r\n",
      response.status, reason->second, response.type, response.text.size());
  for (const auto& [name, value] : response.headers) answer += fmt::format("{}: {}\r\n", name, value);
  answer += "Connection: close\r\n\r\n";
  if (!head) answer += response.text;
  return answer;
}

}  // namespace http
