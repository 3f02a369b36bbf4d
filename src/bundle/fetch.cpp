#include "gpuadm/bundle/fetch.hpp"

#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include "bundle/download.hpp"
#include "bundle/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace bundle {

namespace {

namespace fs = std::filesystem;
using base::Fault;

/// Minimum progress that resets the number of attempts.
constexpr std::uint64_t least_progress = 4096;

bool is_url(std::string_view place) {
  return place.starts_with("https://") || place.starts_with("http://");
}

bool is_html(const http::Head& head, std::string_view body) {
  const auto type = head.headers.find("content-type");
  if (type != head.headers.end() && base::lower(type->second).starts_with("text/html")) return true;
  const std::string start = base::lower(base::trim(body.substr(0, 200)));
  return start.starts_with("<!doctype html") || start.starts_with("<html");
}

/// A partial file with a running checksum.
class Growing {
 public:
  explicit Growing(fs::path path) : path_(std::move(path)) {}
  /// Continues with the existing bytes, or starts from the beginning.
  Result<> open(bool restart) {
    sum_ = base::Sha256();
    size_ = 0;
    if (!restart) {
      std::ifstream in(path_, std::ios::binary);
      std::vector<char> buffer(1u << 20);
      while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
        sum_.add(std::string_view(buffer.data(), static_cast<std::size_t>(in.gcount())));
        size_ += static_cast<std::uint64_t>(in.gcount());
      }
    }
    out_.close();
    out_.clear();
    out_.open(path_, std::ios::binary | (restart ? std::ios::trunc : std::ios::app));
    if (!out_) return cannot();
    return {};
  }
  Result<> add(std::string_view piece) {
    sum_.add(piece);
    size_ += piece.size();
    if (out_.write(piece.data(), static_cast<std::streamsize>(piece.size()))) return {};
    return cannot();
  }
  /// Closes it and returns its checksum.
  Result<std::string> end() {
    out_.close();
    if (!out_) return cannot();
    return sum_.end();
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  [[nodiscard]] std::unexpected<base::Error> cannot() const {
    return base::fail(Fault::usage, fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)),
                      "free space on its file system, or set XDG_CACHE_HOME to another one");
  }
  fs::path path_;
  std::ofstream out_;
  base::Sha256 sum_;
  std::uint64_t size_ = 0;
};

}  // namespace

bool is_busy(long status) {
  return status == 408 || status == 429 || status >= 500;
}

void wait_before(int attempt) {
  if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(200) * (1 << std::min(attempt, 5)));
}

Result<Fetcher> Fetcher::open(Source source, std::filesystem::path folder, Progress progress) {
  const bool folder_source = source.place != "public" && !is_url(source.place);
  if (const std::string why = folder_source ? base::why_no_directory(source.place) : ""; !why.empty())
    return base::fail(Fault::usage, fmt::format("--source {}: {}", source.place, why),
                      "use `public`, a directory, or an http(s) URL");
  if (!folder_source || !source.registries.empty()) TRY(http::available());
  while (source.place.ends_with('/')) source.place.pop_back();
  for (auto& [registry, url] : source.registries) {
    if (!is_url(url))
      return base::fail(Fault::usage, fmt::format("--mirror {}={}: expected an http(s) URL", registry, url));
    while (url.ends_with('/')) url.pop_back();
  }
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);
  if (error)
    return base::fail(Fault::usage,
                      fmt::format("cannot create the directory {}: {}", folder.string(), error.message()),
                      "set XDG_CACHE_HOME to a directory that you can write to");
  return Fetcher(std::move(source), std::move(folder), std::move(progress));
}

std::string Fetcher::place_of(const std::string& url) const {
  if (source_.place == "public" || !url.starts_with("https://")) return url;
  for (const auto& [registry, mirror] : source_.registries)
    if (url.starts_with(mirror + "/")) return url;
  return source_.place + "/" + url.substr(8);
}

Result<Fetcher::Answer> Fetcher::read_folder(const Download& download, const std::string& place) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(place, error);
  if (error || !fs::is_regular_file(place, error))
    return base::fail(Fault::usage,
                      fmt::format("{}: no such file in the source (for {})", place, download.url),
                      "copy the file there, or use another --source");
  if (size > download.limit)
    return base::fail(Fault::usage,
                      fmt::format("{}: {} bytes, expected at most {}", place, size, download.limit));
  const std::string sum = TRY(base::sha256_of_file(place));
  if (!download.sha256.empty() && sum != download.sha256)
    return base::fail(Fault::parse,
                      fmt::format("{}: its SHA-256 is {}, expected {}", place, sum, download.sha256),
                      "the file in the source is damaged or a different one");
  const fs::path file = folder_ / sum, beside = folder_ / (sum + ".part");
  fs::copy_file(place, beside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(beside, file, error);
  if (error)
    return base::fail(Fault::usage, fmt::format("cannot write {}: {}", file.string(), error.message()),
                      "free space on its file system");
  return Answer{file, sum, size};
}

Result<Fetcher::Answer> Fetcher::ask_server(const Download& download) {
  // A partial file with a known checksum is continued; others may have changed on the server.
  const std::string name = download.sha256.empty() ? base::sha256(download.url) : download.sha256;
  const fs::path part = folder_ / (name + ".part");
  Growing file(part);
  TRY(file.open(download.sha256.empty()));
  bool renewed = false;
  std::uint64_t best = file.size();
  std::string last, hint;
  for (int attempt = 0; attempt < most_tries; ++attempt) {
    wait_before(attempt);
    const std::uint64_t had = file.size();
    http::Request request{.url = download.url,
                          .headers = download.headers,
                          .from = had,
                          .limit = download.limit,
                          .proxy = proxy()};
    if (const auto message = authorizations_.find(download.scope); message != authorizations_.end())
      request.headers.push_back("Authorization: " + message->second.reveal());
    Result<> kept;
    bool too_large = false, html = false, begun = false;
    const auto response = http::get(request, [&](const http::Head& head, std::string_view piece) {
      if (head.status != 200 && head.status != 206)
        return true;  // the body of an error response is not stored
      if (!std::exchange(begun, true)) {
        html = is_html(head, piece);
        if (!html && head.status == 200 && had > 0)
          kept = file.open(true);  // the server does not support ranges
      }
      too_large = file.size() + piece.size() > download.limit;
      if (html || too_large || !kept) return false;
      kept = file.add(piece);
      progress_(download.url, file.size());
      return kept.has_value();
    });
    if (!kept) return std::unexpected(kept.error());
    if (!response && response.error().fault != Fault::unreachable) return std::unexpected(response.error());
    if (html)
      return base::fail(Fault::parse,
                        fmt::format("{}: the server sent an HTML page instead of the file", download.url),
                        "a proxy or login page may answer instead: open the URL in a browser");
    if (too_large)
      return base::fail(Fault::parse, fmt::format("{}: larger than expected (at most {})", download.url,
                                                  base::human_bytes(download.limit)));
    if (!download.sha256.empty() && file.size() >= best + least_progress) {  // there is progress
      best = file.size();
      attempt = 0;
      renewed = false;
    }
    const long status = response ? response->head.status : 0;
    last = !response         ? response.error().what
           : response->whole ? fmt::format("{}: HTTP status {}", download.url, status)
                             : fmt::format("{}: {}", download.url, response->how);
    hint = response ? "" : response.error().hint;
    if (status == 401 && !download.scope.empty()) {
      if (std::exchange(renewed, true)) return refused(download);
      const auto challenge = response->head.headers.find("www-authenticate");
      TRY(authorize(download, challenge == response->head.headers.end() ? "" : challenge->second));
      --attempt;
      continue;
    }
    if (status == 416) {  // the local file is complete, or belongs to another version
      const std::string sum = TRY(file.end());
      if (sum == download.sha256) {
        std::error_code error;
        fs::rename(part, folder_ / sum, error);
        return Answer{folder_ / sum, sum, file.size()};
      }
      TRY(file.open(true));
      continue;
    }
    if (status >= 400 && !is_busy(status))
      return base::fail(status == 401 || status == 403 || status == 407 ? Fault::auth : Fault::usage, last,
                        status == 404 ? "check that the version exists, or use another --source"
                        : status == 407
                            ? "the proxy rejects the login: correct https_proxy, or proxy.loginFile of the "
                              "cluster file"
                            : "check whether it requires a login");
    if (!response || !response->whole || is_busy(status)) {
      if (download.sha256.empty()) TRY(file.open(true));
      continue;
    }
    if (status != 200 && status != 206)
      return base::fail(Fault::parse,
                        fmt::format("{}: HTTP status {} instead of the file", download.url, status),
                        "a proxy or login page may answer instead: open the URL in a browser");
    const std::string sum = TRY(file.end());
    if (!download.sha256.empty() && sum != download.sha256) {
      std::error_code error;
      fs::remove(part, error);
      return base::fail(
          Fault::parse, fmt::format("{}: its SHA-256 is {}, expected {}", download.url, sum, download.sha256),
          "it was damaged in transfer or is a different file: try again, or use another --source");
    }
    std::error_code error;
    fs::rename(part, folder_ / sum, error);
    if (error)
      return base::fail(Fault::usage,
                        fmt::format("cannot write {}: {}", (folder_ / sum).string(), error.message()));
    return Answer{folder_ / sum, sum, file.size()};
  }
  return base::fail(
      Fault::unreachable, fmt::format("{} (tried {} times)", last, most_tries),
      hint.empty() ? "partial downloads are kept: run the same command again to continue" : hint);
}

Result<Fetcher::Answer> Fetcher::get(const Download& download) {
  std::error_code error;
  if (!download.sha256.empty())
    if (const auto sum = base::sha256_of_file(folder_ / download.sha256); sum && *sum == download.sha256)
      return Answer{folder_ / download.sha256, *sum, fs::file_size(folder_ / download.sha256, error)};
  progress_(download.url, 0);
  Download actual = download;
  actual.url = place_of(download.url);
  if (!is_url(actual.url)) return read_folder(download, actual.url);
  return ask_server(actual);
}

Result<std::string> Fetcher::text(const std::string& url, std::size_t limit) {
  const Answer answer = TRY(get({.url = url, .scope = {}, .headers = {}, .sha256 = {}, .limit = limit}));
  return base::read_file(answer.file, limit);
}

Result<BundlePart> Fetcher::file(const std::string& url, const std::string& sha256, std::uint64_t limit) {
  const Answer answer = TRY(get({.url = url, .scope = {}, .headers = {}, .sha256 = sha256, .limit = limit}));
  return BundlePart{answer.sha256, answer.size};
}

Result<BundlePart> Fetcher::keep(std::string_view bytes) {
  const std::string sum = base::sha256(bytes);
  TRY(base::write_file(folder_ / sum, bytes));
  return BundlePart{sum, bytes.size()};
}

}  // namespace bundle
