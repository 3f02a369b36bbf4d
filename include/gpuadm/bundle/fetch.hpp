#pragma once

#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/bundle/image.hpp"
#include "gpuadm/bundle/logins.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

/// Downloads for a bundle: by URL, and images from registries.
namespace bundle {

/// Version of libcurl and its libraries; empty if this machine has none that can be used.
[[nodiscard]] std::string curl_version();

/// The proxy, if the environment has none.
struct Proxy {
  std::string http, https;            ///< URLs without a login; empty: none
  std::vector<std::string> no_proxy;  ///< in addition to this machine
  base::Secret login;                 ///< "USER:PASSWORD"
};

/// Source of downloads: the public repositories, or a mirror of them.
struct Source {
  /// "public"; otherwise a directory or an http(s) URL below which https://HOST/PATH is HOST/PATH.
  std::string place = "public";
  /// Registry -> URL of its mirror. Default: like every other URL.
  std::map<std::string, std::string> registries;
  Logins logins;
  Proxy proxy;
};

/// A directory of files by SHA-256, filled from a source. Partial downloads are continued, and existing files
/// are not downloaded again. Requests to a server that drops connections are repeated, within a limit; an
/// HTML page instead of a file is rejected.
class Fetcher {
 public:
  /// `folder` contains the files; `progress` gets the current URL and its number of bytes so far.
  using Progress = std::function<void(const std::string& what, std::uint64_t bytes)>;
  /// Fault::usage if libcurl is required but not installed, or if the source directory does not exist.
  [[nodiscard]] static Result<Fetcher> open(Source source, std::filesystem::path folder, Progress progress);

  /// A small text, such as a checksum or an index; at most `limit` bytes.
  [[nodiscard]] Result<std::string> text(const std::string& url, std::size_t limit);
  /// A file. `sha256` empty: any complete response is accepted. At most `limit` bytes.
  [[nodiscard]] Result<BundlePart> file(const std::string& url, const std::string& sha256,
                                        std::uint64_t limit);
  /// An image's manifest for the architecture, its configuration and its layers, in this order.
  [[nodiscard]] Result<std::vector<BundlePart>> image(const std::string& name,
                                                      const std::string& architecture);
  /// Stores a file that was created locally.
  [[nodiscard]] Result<BundlePart> keep(std::string_view bytes);

  [[nodiscard]] std::filesystem::path path_of(const std::string& sha256) const { return folder_ / sha256; }

 private:
  struct Download;
  struct Answer;
  Fetcher(Source source, std::filesystem::path folder, Progress progress)
      : source_(std::move(source)), folder_(std::move(folder)), progress_(std::move(progress)) {}
  [[nodiscard]] std::string place_of(const std::string& url) const;
  [[nodiscard]] Result<Answer> get(const Download& download);
  [[nodiscard]] Result<Answer> ask_server(const Download& download);
  [[nodiscard]] Result<Answer> read_folder(const Download& download, const std::string& place);
  /// Answers the challenge in a registry's 401 response. Fault::auth if that is not possible.
  [[nodiscard]] Result<> authorize(const Download& download, std::string_view challenges);
  [[nodiscard]] Result<std::string> ask_for_token(const Download& download, const TokenRequest& asked);
  /// Fault::auth, with what can be done.
  [[nodiscard]] std::unexpected<base::Error> refused(const Download& download) const;
  [[nodiscard]] const Proxy* proxy() const {
    return source_.proxy.http.empty() && source_.proxy.https.empty() ? nullptr : &source_.proxy;
  }
  [[nodiscard]] Result<std::string> manifest(const base::ImageReference& image, const std::string& which,
                                             const std::string& name);
  [[nodiscard]] std::string api_of(const base::ImageReference& image) const;
  Source source_;
  std::filesystem::path folder_;
  Progress progress_;
  std::map<std::string, base::Secret> authorizations_;  ///< registry and repository -> "Bearer …", "Basic …"
};

}  // namespace bundle
