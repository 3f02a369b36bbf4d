#include "gpuadm/bundle/hub.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "bundle/download.hpp"
#include "bundle/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace bundle {

namespace {

using base::Fault;
using base::Result;

constexpr const char* usual_endpoint = "https://huggingface.co";
constexpr const char* token_page = "https://huggingface.co/settings/tokens";
constexpr int most_hub_tries = 3;

/// Names of Hugging Face, and revisions with slashes such as refs/pr/1.
bool is_name(std::string_view text, bool slashes) {
  return !text.empty() && text.size() <= 200 && base::is_inside(text) &&
         std::ranges::all_of(text, [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '_' || c == '.' || (slashes && c == '/');
         });
}

Result<std::string> hub_endpoint() {
  const char* set = std::getenv("HF_ENDPOINT");
  std::string endpoint = set && *set != '\0' ? set : usual_endpoint;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool is_url = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool plain =
      std::ranges::none_of(endpoint, [](char c) { return c <= ' ' || c == '@' || c == '?' || c == '#'; });
  if (is_url && plain) return endpoint;
  return base::fail(Fault::usage,
                    fmt::format("HF_ENDPOINT: '{}' is not an http(s) URL", base::printable(endpoint, 200)),
                    "for example: HF_ENDPOINT=https://hf-mirror.com");
}

std::string header_of(const http::Head& head, const char* name) {
  const auto found = head.headers.find(name);
  return found == head.headers.end() ? "" : base::printable(found->second, 200);
}

std::string shown(const HubModel& model) {
  return fmt::format("hf:{}@{}", model.repository, model.revision);
}

/// What the status of a refusal means: https://huggingface.co/docs/hub/api, and the header X-Error-Code.
std::unexpected<base::Error> refusal(const HubModel& model, const http::Head& head) {
  const std::string name = shown(model), code = header_of(head, "x-error-code");
  const std::string at = fmt::format("{} ({})", model.endpoint, head.status);
  const std::string with_token =
      fmt::format("create a token at {}, and pass its file, mode 0600: --token-file FILE", token_page);
  const std::string license = fmt::format("accept the license at {}/{}, then use a token of that account",
                                          model.endpoint, model.repository);
  switch (head.status) {
    case 401:
      if (code == "GatedRepo")
        return base::fail(Fault::auth, fmt::format("{}: gated: {} requires a token", name, at), license);
      if (!model.token.empty())
        return base::fail(
            Fault::auth, fmt::format("{}: {} refuses the token, or has no such model", name, at), with_token);
      return base::fail(
          Fault::auth, fmt::format("{}: {} has no such public model: it is private, or misspelled", name, at),
          with_token);
    case 403:
      return base::fail(Fault::auth, fmt::format("{}: gated: {} gives this account no access", name, at),
                        license);
    case 404:
      return base::fail(Fault::usage,
                        code == "RevisionNotFound"
                            ? fmt::format("{}: {} has no revision {}", name, at, model.revision)
                            : fmt::format("{}: {} has no such model", name, at),
                        "check the name and the revision: hf:ORG/NAME@REVISION");
    case 429: {
      const auto seconds = base::to_int(header_of(head, "retry-after"));
      return base::fail(Fault::remote, fmt::format("{}: {}: too many requests", name, at),
                        seconds && *seconds > 0
                            ? fmt::format("try again in {}s, or log in with --token-file FILE", *seconds)
                            : "try again later, or log in with --token-file FILE");
    }
    default:
      return base::fail(Fault::remote,
                        fmt::format("{}: {} answers with HTTP status {}", name, model.endpoint, head.status),
                        "try again later, or use a mirror: HF_ENDPOINT=URL");
  }
}

}  // namespace

Result<HubModel> parse_hub_model(const std::string& text) {
  const std::size_t at = text.find('@');
  HubModel model{
      TRY(hub_endpoint()), text.substr(0, at), at == std::string::npos ? "main" : text.substr(at + 1), {}};
  const std::size_t slash = model.repository.find('/');
  if (slash != std::string::npos && is_name(model.repository.substr(0, slash), false) &&
      is_name(model.repository.substr(slash + 1), false) && is_name(model.revision, true))
    return model;
  return base::fail(Fault::usage, fmt::format("hf:{}: not a model of a hub", base::printable(text, 200)),
                    "hf:ORG/NAME or hf:ORG/NAME@REVISION, for example hf:Qwen/Qwen3-8B");
}

Result<std::optional<HubFile>> read_hub_file(const HubModel& model, const std::string& name,
                                             std::uint64_t limit) {
  std::string revision = base::replace_all(model.revision, "/", "%2F");
  http::Request request{
      .url = fmt::format("{}/{}/resolve/{}/{}", model.endpoint, model.repository, revision, name),
      .headers = {},
      .from = 0,
      .limit = limit};
  if (!model.token.empty()) {
    if (!model.endpoint.starts_with("https://") && !http::is_this_machine(model.endpoint))
      return base::fail(Fault::usage, fmt::format("{}: a token is not sent without TLS", model.endpoint),
                        "use an https URL in HF_ENDPOINT");
    request.headers.push_back("Authorization: Bearer " + model.token.reveal());
  }
  for (int attempt = 0;; ++attempt) {
    wait_before(attempt);
    HubFile file;
    const auto response = http::get(request, [&](const http::Head& head, std::string_view piece) {
      if (head.status != 200) return true;
      file.head += piece.substr(0, limit - file.head.size());
      return file.head.size() < limit;
    });
    const bool last = attempt + 1 >= most_hub_tries;
    if (!response) {
      if (response.error().fault != Fault::unreachable || last) return std::unexpected(response.error());
      continue;
    }
    const http::Head& head = response->head;
    const bool is_missing = head.status == 404 && header_of(head, "x-error-code") == "EntryNotFound";
    if (is_missing) return std::nullopt;
    if (head.status == 200 && (response->whole || file.head.size() >= limit)) {
      const auto size = base::to_int(header_of(head, "content-length"));
      if (size && *size >= 0) file.size = static_cast<std::uint64_t>(*size);
      file.commit = header_of(head, "x-repo-commit");
      return file;
    }
    if (!last && (head.status == 200 || (is_busy(head.status) && head.status != 429))) continue;
    if (head.status == 200)
      return base::fail(Fault::unreachable, fmt::format("{}: {}", request.url, response->how), "try again");
    return refusal(model, head);
  }
}

}  // namespace bundle
