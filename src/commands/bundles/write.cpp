#include "commands/bundles/write.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/signature.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>

namespace commands {

namespace {

namespace fs = std::filesystem;
using base::Fault;

bool is_archive(const fs::path& output) {
  return output.string().ends_with(".tar.zst");
}

/// libcurl's rules for an environment variable.
bool environment_names_a_proxy() {
  return std::ranges::any_of(std::array{"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"},
                             [](const char* name) {
                               const char* value = std::getenv(name);
                               return value && *value != '\0';
                             });
}

/// The given file, or Docker's, if it exists.
Result<bundle::Logins> read_logins(const fs::path& named) {
  if (!named.empty())
    return bundle::Logins::parse(TRY(base::read_private_file(named)).reveal(), named.string());
  const char* folder = std::getenv("DOCKER_CONFIG");
  const fs::path docker =
      (folder && *folder != '\0' ? fs::path(folder) : base::home() / ".docker") / "config.json";
  std::error_code error;
  if (!fs::exists(docker, error)) return bundle::Logins();
  return bundle::Logins::parse(base::Secret(TRY(base::read_file(docker, 1u << 20))).reveal(),
                               docker.string());
}

}  // namespace

Result<> check_output(const std::filesystem::path& output) {
  std::error_code error;
  if (!fs::exists(output, error)) return {};
  if (!is_archive(output) && fs::is_directory(output, error) && fs::is_empty(output, error)) return {};
  return base::fail(Fault::usage, fmt::format("{}: already exists", output.string()),
                    "specify a directory that is empty or does not exist, or a new FILE.tar.zst");
}

Result<bundle::Fetcher> open_fetcher(const BundleSource& source, const spec::Cluster& cluster, Io& io) {
  bundle::Source from{
      .place = source.place.empty() ? "public" : source.place, .registries = {}, .logins = {}, .proxy = {}};
  from.logins = TRY(read_logins(source.logins));
  if (source.place.empty()) from.registries = cluster.mirrors.registries;
  if (!environment_names_a_proxy())
    from.proxy = {cluster.proxy.http, cluster.proxy.https, cluster.proxy.no_proxy, cluster.proxy.login};
  for (const std::string& mirror : source.mirrors) {
    const std::size_t equals = mirror.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::fail(Fault::usage,
                        fmt::format("--mirror {}: expected REGISTRY=URL", base::printable(mirror, 200)),
                        "for example: --mirror registry.k8s.io=https://mirror.example.com");
    from.registries[mirror.substr(0, equals)] = mirror.substr(equals + 1);
  }
  struct LastReport {
    std::string what;
    std::chrono::steady_clock::time_point when;
  };
  const auto reported = std::make_shared<LastReport>();
  return bundle::Fetcher::open(std::move(from), base::cache_directory() / "blobs",
                               [reported, &io](const std::string& what, std::uint64_t bytes) {
                                 constexpr std::chrono::seconds often{5};
                                 const auto now = std::chrono::steady_clock::now();
                                 if (bytes == 0) {
                                   io.err(fmt::format("fetching {}\n", what));
                                   *reported = {what, now};
                                 } else if (now - reported->when > often) {
                                   io.err(fmt::format("  {} so far\n", base::human_bytes(bytes)));
                                   reported->when = now;
                                 }
                               });
}

Result<bundle::BundleFile> fetch_image(bundle::Fetcher& fetcher, const std::string& name,
                                       const std::string& architecture) {
  const base::ImageReference reference = TRY(base::parse_image_reference(name));
  bundle::BundleFile image{.path = {}, .kind = bundle::BundleKind::image, .name = base::full_name(reference)};
  image.parts = TRY(fetcher.image(name, architecture));
  const bundle::BundlePart sum = TRY(bundle::sum_of_image(
      image.name, image.parts, [&](const std::string& sha256) { return fetcher.path_of(sha256); }));
  image.sha256 = sum.sha256;
  image.size = sum.size;
  return image;
}

Result<> write_bundle(const bundle::Bundle& bundle, const std::filesystem::path& key,
                      const bundle::BlobPlace& place, const std::filesystem::path& output, Io& io) {
  const std::string signature = key.empty() ? "" : TRY(bundle::sign(bundle::manifest_of(bundle), key));
  if (is_archive(output))
    TRY(bundle::write_bundle_archive(bundle, signature, place, output));
  else
    TRY(bundle::write_bundle_folder(bundle, signature, place, output));
  std::uint64_t bytes = 0;
  const auto blobs = bundle::blobs_of(bundle);
  for (const auto& [sha256, size] : blobs) bytes += size;
  io.err(fmt::format("{}: {} files, {} blobs of {}{}\n", output.string(), bundle.files.size(), blobs.size(),
                     base::human_bytes(bytes), signature.empty() ? "" : ", signed"));
  return {};
}

}  // namespace commands
