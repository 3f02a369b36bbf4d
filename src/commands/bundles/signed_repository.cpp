#include "commands/bundles/signed_repository.hpp"

#include "gpuadm/base/digest.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/pack.hpp"
#include "gpuadm/transport/run_local.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

namespace fs = std::filesystem;
namespace debian = bundle::debian;
using base::Fault;

constexpr std::size_t largest_key = 1u << 20;
constexpr std::size_t largest_release = 16u << 20;
/// Decompressed size; Debian's main has 50 MB.
constexpr std::size_t largest_index = 512u << 20;
/// Of playbooks/verify-release.sh.
constexpr int no_gpgv = 4;

}  // namespace

std::string Repository::release() const {
  return suite.empty() ? url : fmt::format("{}/dists/{}", url, suite);
}

std::string RepositoryReader::as_mirrored(const std::string& url) const {
  return public_source_ || !url.starts_with("http://") ? url : "https://" + url.substr(7);
}

Result<std::map<std::string, debian::Sum>> RepositoryReader::release(const Repository& repository) {
  return debian::parse_release(TRY(release_text(repository)), repository.release());
}

Result<std::string> RepositoryReader::release_text(const Repository& repository) {
  const std::string url = as_mirrored(repository.release());
  const std::string text = TRY(fetcher_.text(url + "/InRelease", largest_release));
  std::error_code error;
  const bool is_signed = text.starts_with("-----BEGIN PGP SIGNED MESSAGE-----");
  const bool is_pinned = !repository.key_url.empty();
  if (is_pinned && !is_signed)
    return base::fail(Fault::parse, fmt::format("{}/InRelease is not signed", url),
                      "check the mirror and the proxy; a mirror that signs with its own key needs "
                      "mirrors.packageKeys in the cluster file");
  if (is_pinned || (is_signed && fs::is_regular_file(repository.keyring, error))) {
    auto verified = verified_text(repository, url, text);
    if (verified || is_pinned || verified.error().fault != Fault::blocked) return verified;
  }
  if (public_source_ && !repository.url.starts_with("https://"))
    return base::fail(
        Fault::blocked,
        fmt::format("{}/InRelease was fetched over http, and its signature cannot be verified", url),
        fmt::format("install gpgv and the keyring {}, or use a mirror that you trust: --source",
                    repository.keyring));
  io_.err(
      fmt::format("{}: its signature is not verified: {}\n", url,
                  !is_signed ? "there is none" : "this machine has no gpgv, or no " + repository.keyring));
  return debian::signed_text(text);
}

Result<std::string> RepositoryReader::verified_text(const Repository& repository, const std::string& url,
                                                    const std::string& text) {
  base::Variables variables = {{"keyring", repository.keyring},
                               {"key", ""},
                               {"key_url", repository.key_url},
                               {"fingerprints", repository.fingerprints}};
  if (!repository.key_url.empty()) {
    const auto key = TRY(fetcher_.file(as_mirrored(repository.key_url), "", largest_key));
    variables["key"] = fetcher_.path_of(key.sha256).string();
  }
  variables["file"] = fetcher_.path_of(TRY(fetcher_.keep(text)).sha256).string();
  std::string script;
  for (const char* name : {"playbooks/prelude.sh", "playbooks/packages.sh", "playbooks/verify-release.sh"})
    script += TRY(store_.read(name)) + "\n";
  const auto exit = TRY(
      transport::run_local("verify the signature of " + url, variables, script, std::chrono::seconds(60)));
  if (exit.status == 0) return exit.out;
  if (exit.status == no_gpgv)
    return base::fail(
        Fault::blocked,
        fmt::format("the signature of {}/InRelease cannot be verified: gpgv is not installed", url),
        "apt-get install gpgv");
  const std::string of = repository.key_url.empty() ? repository.keyring : repository.key_url;
  return base::fail(Fault::parse,
                    fmt::format("{}/InRelease is not signed by a key of {}: {}", url, of,
                                base::printable(base::tail(exit.err, 2))),
                    repository.key_url.empty()
                        ? "try again, or update the keyring; if the mirror signs with its "
                          "own key, set its keyring in data/system-repositories.yaml (gpuadm assets)"
                        : "check the mirror and the proxy; a mirror that signs with its own key needs "
                          "mirrors.packageKeys in the cluster file");
}

Result<std::string> RepositoryReader::index(const Repository& repository, const std::string& path,
                                            const debian::Sum& sum) {
  const std::string url = fmt::format("{}/{}", as_mirrored(repository.release()), path);
  if (sum.size == 0) return "";
  const bundle::BundlePart file = TRY(fetcher_.file(url, sum.sha256, sum.size));
  if (sum.sha256.empty() &&
      base::sha512(TRY(base::read_file(fetcher_.path_of(file.sha256), sum.size))) != sum.sha512)
    return base::fail(Fault::parse, fmt::format("{}: its SHA-512 does not match the release", url),
                      "the mirror may be updating: try again later");
  bundle::ArchiveReader reader = TRY(bundle::ArchiveReader::plain(fetcher_.path_of(file.sha256)));
  if (!TRY(reader.next())) return "";
  std::string text;
  std::vector<char> piece(1u << 20);
  while (const std::size_t count = TRY(reader.read(piece.data(), piece.size()))) {
    if (text.size() + count > largest_index)
      return base::fail(Fault::parse, fmt::format("{}: larger than {} when unpacked", url,
                                                  base::human_bytes(largest_index)));
    text.append(piece.data(), count);
  }
  return text;
}

}  // namespace commands
