#pragma once

#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/bundle/image.hpp"
#include "gpuadm/bundle/logins.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

/// What is fetched from elsewhere, to become a bundle: by URL, and images from registries.
namespace bundle {

/// Of libcurl and what it is made with; empty where this machine has none that can be used.
[[nodiscard]] std::string curl_version();

/// The way out, where the environment names none.
struct Proxy {
  std::string http, https;            ///< URLs without a login; empty: none
  std::vector<std::string> no_proxy;  ///< beside this machine
  base::Secret login;                 ///< "USER:PASSWORD"
};

/// Where things come from: the public repositories, or a mirror of them.
struct Source {
  /// "public"; else a folder or an http(s) URL below which https://HOST/PATH is HOST/PATH.
  std::string place = "public";
  /// Registry -> the URL of one that answers for it. Without: as every other URL.
  std::map<std::string, std::string> registries;
  Logins logins;
  Proxy proxy;
};

/// Files by their SHA-256 in a folder, which is filled from a source. What was begun is gone on with, what is
/// there is not fetched again. A server that drops connections is asked again, within a limit; a page of HTML
/// in place of a file is refused by name.
class Fetcher {
 public:
  /// `folder` holds the files; `progress` is told what is fetched, and its bytes so far.
  using Progress = std::function<void(const std::string& what, std::uint64_t bytes)>;
  /// Fault::usage where libcurl is needed and this machine has none, or the folder of the source is not
  /// there.
  [[nodiscard]] static Result<Fetcher> open(Source source, std::filesystem::path folder, Progress progress);

  /// A small text, such as a checksum or an index; at most `limit` bytes.
  [[nodiscard]] Result<std::string> text(const std::string& url, std::size_t limit);
  /// A file. `sha256` empty: what comes is taken, once, whole. At most `limit` bytes.
  [[nodiscard]] Result<BundlePart> file(const std::string& url, const std::string& sha256,
                                        std::uint64_t limit);
  /// An image's manifest for the architecture, its configuration and its layers, in this order.
  [[nodiscard]] Result<std::vector<BundlePart>> image(const std::string& name,
                                                      const std::string& architecture);
  /// What is made here instead of fetched.
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
  /// Answers what a registry asks for in its 401. Fault::auth where that cannot be.
  [[nodiscard]] Result<> authorize(const Download& download, std::string_view challenges);
  [[nodiscard]] Result<std::string> ask_for_token(const Download& download, const TokenRequest& asked);
  /// Fault::auth, and what can be done.
  [[nodiscard]] std::unexpected<base::Error> refused(const Download& download) const;
  [[nodiscard]] const Proxy* proxy() const {
    return source_.proxy.http.empty() && source_.proxy.https.empty() ? nullptr : &source_.proxy;
  }
  [[nodiscard]] Result<std::string> manifest(const ImageReference& image, const std::string& which,
                                             const std::string& name);
  [[nodiscard]] std::string api_of(const ImageReference& image) const;
  Source source_;
  std::filesystem::path folder_;
  Progress progress_;
  std::map<std::string, base::Secret> authorizations_;  ///< registry and repository -> "Bearer …", "Basic …"
};

}  // namespace bundle
