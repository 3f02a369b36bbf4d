#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include "bundle/download.hpp"
#include "bundle/http.hpp"

#include <fmt/format.h>

#include <cctype>

// https://github.com/opencontainers/distribution-spec/blob/main/spec.md and
// https://distribution.github.io/distribution/spec/auth/token/

namespace bundle {

namespace {

using base::Fault;

constexpr std::uint64_t largest_layer = std::uint64_t{64} << 30;
constexpr std::size_t largest_token = 1u << 20;

constexpr const char* accept =
    "Accept: application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.docker.distribution.manifest.v2+json";

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
        std::string_view("-._~").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

/// The repository of an image's name.
std::string_view repository_of(std::string_view scope) {
  return scope.substr(scope.find('/') + 1);
}

/// "harbor.lab:8443" of a URL.
std::string host_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);
  return std::string(url.substr(0, url.find('/')));
}

}  // namespace

std::string Fetcher::api_of(const base::ImageReference& image) const {
  const auto mirror = source_.registries.find(image.registry);
  if (mirror == source_.registries.end()) {
    const std::string host = image.registry == "docker.io" ? "registry-1.docker.io" : image.registry;
    return fmt::format("https://{}/v2/{}", host, image.repository);
  }
  // Like containerd's override_path: a path with /v2/ in it is used unchanged.
  const std::string& url = mirror->second;
  const bool whole = url.ends_with("/v2") || url.find("/v2/") != std::string::npos;
  return fmt::format("{}{}/{}", url, whole ? "" : "/v2", image.repository);
}

Result<std::string> Fetcher::ask_for_token(const Download& download, const TokenRequest& asked) {
  const std::string host = host_of(download.url);
  const base::Secret* login = source_.logins.find(host, repository_of(download.scope));
  if (login && download.url.starts_with("https:") && !asked.realm.starts_with("https:"))
    return base::fail(Fault::auth,
                      fmt::format("{}: requires the login of {} over plain http", asked.realm, host));
  http::Request request{.url = fmt::format("{}{}service={}&scope={}", asked.realm,
                                           asked.realm.find('?') == std::string::npos ? "?" : "&",
                                           encoded(asked.service), encoded(asked.scope)),
                        .headers = {},
                        .from = 0,
                        .limit = largest_token,
                        .proxy = proxy()};
  if (login) request.headers.push_back("Authorization: Basic " + login->reveal());
  std::string body;
  Result<http::Response> response;
  const auto later = [&] {
    return response ? !response->whole || is_busy(response->head.status)
                    : response.error().fault == Fault::unreachable;
  };
  for (int attempt = 0; attempt < most_tries && (attempt == 0 || later()); ++attempt) {
    wait_before(attempt);
    body.clear();
    response = http::get(request, [&](const http::Head&, std::string_view piece) {
      body += piece;
      return body.size() < largest_token;
    });
  }
  if (!response) return std::unexpected(response.error());
  const long status = response->head.status;
  if (later())
    return base::fail(
        Fault::unreachable,
        fmt::format("{}: {} (tried {} times)", asked.realm,
                    response->whole ? fmt::format("HTTP status {}", status) : response->how, most_tries),
        "run the same command again");
  if (status == 401 || status == 403) return refused(download);
  if (status != 200)
    return base::fail(Fault::auth,
                      fmt::format("{}: HTTP status {}, no token for {}", asked.realm, status, download.scope),
                      "the image may have another name, or a proxy may answer instead of its registry");
  const auto tree = base::json::read(body, asked.realm);
  const base::Tree* token = tree ? tree->find("token") : nullptr;
  if (tree && !token) token = tree->find("access_token");
  if (!token || token->text().empty() || token->text().find_first_of("\r\n") != std::string::npos)
    return base::fail(Fault::auth, fmt::format("{}: no token for {}", asked.realm, download.scope),
                      "the image may be private or have another name");
  return token->text();
}

Result<> Fetcher::authorize(const Download& download, std::string_view challenges) {
  bool basic = false;
  for (const std::string_view challenge : base::lines(challenges)) {
    basic |= base::lower(challenge.substr(0, 5)) == "basic";
    const auto asked = parse_challenge(challenge);
    if (!asked || !asked->realm.starts_with("http")) continue;
    authorizations_[download.scope] = base::Secret("Bearer " + TRY(ask_for_token(download, *asked)));
    return {};
  }
  const base::Secret* login = source_.logins.find(host_of(download.url), repository_of(download.scope));
  if (!basic || !login) return refused(download);
  authorizations_[download.scope] = base::Secret("Basic " + login->reveal());
  return {};
}

std::unexpected<base::Error> Fetcher::refused(const Download& download) const {
  const std::string host = host_of(download.url);
  if (source_.logins.find(host, repository_of(download.scope)))
    return base::fail(Fault::auth,
                      fmt::format("{}: rejects the login in {}", download.scope, source_.logins.source()),
                      "check that its password is correct and not expired, and that it may pull this image");
  return base::fail(Fault::auth, fmt::format("{}: the registry requires a login", download.scope),
                    "the image may have another name; otherwise " + source_.logins.advice(host));
}

Result<std::string> Fetcher::manifest(const base::ImageReference& image, const std::string& which,
                                      const std::string& name) {
  const std::string digest = which.starts_with("sha256:") ? which.substr(7) : "";
  const auto answer = get({.url = fmt::format("{}/manifests/{}", api_of(image), which),
                           .scope = image.registry + "/" + image.repository,
                           .headers = {accept},
                           .sha256 = digest,
                           .limit = largest_manifest});
  if (answer) return base::read_file(answer->file, largest_manifest);
  return base::fail(answer.error().fault, fmt::format("image {}: {}", name, answer.error().what),
                    answer.error().hint);
}

Result<std::vector<BundlePart>> Fetcher::image(const std::string& name, const std::string& architecture) {
  const base::ImageReference reference = TRY(base::parse_image_reference(name));
  std::string text =
      TRY(manifest(reference, reference.digest.empty() ? reference.tag : reference.digest, name));
  if (const auto chosen = TRY(choose_platform(text, architecture, fmt::format("image {}", name))))
    text = TRY(manifest(reference, *chosen, name));
  const ImageManifest read = TRY(parse_image_manifest(text, fmt::format("the manifest of {}", name)));
  std::vector<BundlePart> parts = {TRY(keep(text))};
  for (const BundlePart& part : read.parts) {
    if (part.size > largest_layer)
      return base::fail(Fault::parse, fmt::format("image {}: a layer of {} is too large", name,
                                                  base::human_bytes(part.size)));
    const auto answer = get({.url = fmt::format("{}/blobs/sha256:{}", api_of(reference), part.sha256),
                             .scope = reference.registry + "/" + reference.repository,
                             .headers = {},
                             .sha256 = part.sha256,
                             .limit = part.size});
    if (!answer)
      return base::fail(answer.error().fault, fmt::format("image {}: {}", name, answer.error().what),
                        answer.error().hint);
    parts.push_back(part);
  }
  // The configuration of an image shows its platform, which its index may omit or misstate.
  const std::string config = TRY(base::read_file(path_of(parts[1].sha256), largest_manifest));
  const base::Tree tree = TRY(base::json::read(config, fmt::format("the configuration of {}", name)));
  const base::Tree* made_for = tree.find("architecture");
  if (made_for && made_for->text() != architecture)
    return base::fail(Fault::usage,
                      fmt::format("image {}: built for {}, not for {}", name,
                                  base::printable(made_for->text(), 50), architecture),
                      "use an image for the architecture of the hosts");
  return parts;
}

}  // namespace bundle
