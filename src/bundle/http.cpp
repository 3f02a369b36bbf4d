#include "bundle/http.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/fetch.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <memory>

namespace bundle::http {

namespace {

using base::Fault;

constexpr long connect_seconds = 15, slow_bytes = 1024, slow_seconds = 30, most_redirects = 5;
/// A request may take two minutes, and one second more for each 16 KiB of its limit.
constexpr std::uint64_t least_seconds = 120, least_bytes = 16u << 10, most_seconds = 1'000'000;
/// The limit of an error response's body.
constexpr std::size_t largest_excuse = 64u << 10;

/// The functions of libcurl that are used.
struct Curl {
  decltype(&curl_easy_init) init = nullptr;
  decltype(&curl_easy_cleanup) cleanup = nullptr;
  decltype(&curl_easy_setopt) set = nullptr;
  decltype(&curl_easy_perform) perform = nullptr;
  decltype(&curl_easy_strerror) message = nullptr;
  decltype(&curl_slist_append) append = nullptr;
  decltype(&curl_slist_free_all) free_list = nullptr;
  decltype(&::curl_version) version = nullptr;

  [[nodiscard]] bool complete() const {
    return init && cleanup && set && perform && message && append && free_list && version;
  }
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

/// Loaded once.
const Curl& curl() {
  static const Curl loaded = [] {
    Curl functions;
    void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = ::dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) return functions;
    find(library, "curl_easy_init", functions.init);
    find(library, "curl_easy_cleanup", functions.cleanup);
    find(library, "curl_easy_setopt", functions.set);
    find(library, "curl_easy_perform", functions.perform);
    find(library, "curl_easy_strerror", functions.message);
    find(library, "curl_slist_append", functions.append);
    find(library, "curl_slist_free_all", functions.free_list);
    find(library, "curl_version", functions.version);
    return functions;
  }();
  return loaded;
}

struct Transfer {
  Head head;
  const std::function<bool(const Head&, std::string_view)>* sink = nullptr;
  std::size_t excuse = 0;
  bool stopped = false;
};

std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* user) {
  Head& head = static_cast<Transfer*>(user)->head;
  const std::string_view line = base::trim(std::string_view(bytes, count));
  if (line.starts_with("HTTP/")) {  // another response: after a redirect, or of a proxy
    const auto words = base::words(line);
    head = {.status = words.size() > 1 ? static_cast<long>(base::to_int(words[1]).value_or(0)) : 0,
            .headers = {}};
  } else if (const std::size_t colon = line.find(':');
             colon != std::string_view::npos && head.headers.size() < 200) {
    std::string& value = head.headers[base::lower(line.substr(0, colon))];
    value += (value.empty() ? "" : "\n") + std::string(base::trim(line.substr(colon + 1)));
  }
  return count;
}

std::size_t on_body(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const bool file = transfer.head.status == 200 || transfer.head.status == 206;
  if (!file) transfer.excuse += count;
  if (transfer.excuse <= largest_excuse && (*transfer.sink)(transfer.head, std::string_view(bytes, count)))
    return count;
  transfer.stopped = true;
  return count + 1;  // aborts the transfer
}

/// The strings must outlive the transfer.
struct Way {
  std::string proxy, no_proxy, user, password;
};

Way way_for(const Request& request) {
  if (!request.proxy) return {};
  const Proxy& proxy = *request.proxy;
  const std::string& login = proxy.login.reveal();
  const std::size_t colon = login.find(':');
  Way way{.proxy = request.url.starts_with("https:") && !proxy.https.empty() ? proxy.https : proxy.http,
          .no_proxy = "localhost,127.0.0.1,::1",
          .user = login.substr(0, colon),
          .password = colon == std::string::npos ? "" : login.substr(colon + 1)};
  for (const std::string& name : proxy.no_proxy) way.no_proxy += "," + name;
  return way;
}

}  // namespace

bool is_this_machine(std::string_view url) {
  for (const std::string_view start : {"http://localhost", "http://127.0.0.1", "http://[::1]"})
    if (url.starts_with(start)) {
      const std::string_view rest = url.substr(start.size());
      if (rest.empty() || rest.front() == ':' || rest.front() == '/') return true;
    }
  return false;
}

Result<> available() {
  if (curl().complete()) return {};
  return base::fail(Fault::usage, "libcurl is not installed; gpuadm downloads files with it",
                    "install it: `apt-get install libcurl4`, or `dnf install libcurl`");
}

Result<Response> get(const Request& request,
                     const std::function<bool(const Head& head, std::string_view piece)>& sink) {
  TRY(available());
  const Curl& c = curl();
  const std::unique_ptr<CURL, decltype(c.cleanup)> handle(c.init(), c.cleanup);
  curl_slist* list = nullptr;
  for (const std::string& header : request.headers) list = c.append(list, header.c_str());
  const std::unique_ptr<curl_slist, decltype(c.free_list)> headers(list, c.free_list);
  Transfer transfer{.head = {}, .sink = &sink};
  std::array<char, CURL_ERROR_SIZE> message{};
  CURL* h = handle.get();
  c.set(h, CURLOPT_URL, request.url.c_str());
  c.set(h, CURLOPT_HTTPHEADER, headers.get());
  c.set(h, CURLOPT_USERAGENT, "gpuadm/" GPUADM_VERSION);
  c.set(h, CURLOPT_NOSIGNAL, 1L);
  c.set(h, CURLOPT_FOLLOWLOCATION, 1L);
  c.set(h, CURLOPT_MAXREDIRS, most_redirects);
  // The old names, which every libcurl.so.4 supports; the newer ones exist since 7.85.
  constexpr auto protocols = static_cast<CURLoption>(181), redirected = static_cast<CURLoption>(182);
  c.set(h, protocols, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  const bool https = request.url.starts_with("https:");
  c.set(h, redirected, static_cast<long>(https ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
  const Way way = way_for(request);
  if (is_this_machine(request.url)) {
    c.set(h, CURLOPT_PROXY, "");  // nor one of the environment
  } else if (!way.proxy.empty()) {
    c.set(h, CURLOPT_PROXY, way.proxy.c_str());
    c.set(h, CURLOPT_NOPROXY, way.no_proxy.c_str());
  }
  if (!way.proxy.empty() && !way.user.empty()) {
    c.set(h, CURLOPT_PROXYUSERNAME, way.user.c_str());
    c.set(h, CURLOPT_PROXYPASSWORD, way.password.c_str());
  }
  c.set(h, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  c.set(h, CURLOPT_LOW_SPEED_LIMIT, slow_bytes);
  c.set(h, CURLOPT_LOW_SPEED_TIME, slow_seconds);
  c.set(h, CURLOPT_TIMEOUT,
        static_cast<long>(std::min(least_seconds + request.limit / least_bytes, most_seconds)));
  const std::string range = fmt::format("{}-", request.from);
  if (request.from > 0) c.set(h, CURLOPT_RANGE, range.c_str());
  c.set(h, CURLOPT_ERRORBUFFER, message.data());
  c.set(h, CURLOPT_HEADERFUNCTION, &on_header);
  c.set(h, CURLOPT_HEADERDATA, &transfer);
  c.set(h, CURLOPT_WRITEFUNCTION, &on_body);
  c.set(h, CURLOPT_WRITEDATA, &transfer);
  const CURLcode code = c.perform(h);
  // libcurl puts the credentials of an invalid proxy URL into its message.
  const bool quotes = code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_URL_MALFORMAT;
  const std::string how = message[0] != '\0' && !quotes ? message.data() : c.message(code);
  if (code == CURLE_OK || transfer.stopped) return Response{transfer.head, true, {}};
  // A truncated response, or one to an unsupported range: the status distinguishes them.
  const bool hopeless =
      code == CURLE_URL_MALFORMAT || code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_UNSUPPORTED_PROTOCOL;
  if (transfer.head.status >= 200 && !hopeless)
    return Response{transfer.head, false, base::printable(how, 200)};
  const bool tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR;
  return base::fail(
      hopeless ? Fault::parse
      : tls    ? Fault::auth
               : Fault::unreachable,
      fmt::format("{}: {}", request.url, base::printable(how, 200)),
      way.proxy.empty()
          ? "check that this machine can reach it; to use a proxy, set https_proxy"
          : fmt::format("check that this machine can reach it through the cluster file's proxy, {}, "
                        "or set another one in https_proxy",
                        way.proxy));
}

}  // namespace bundle::http

namespace bundle {

std::string curl_version() {
  return http::curl().complete() ? http::curl().version() : "";
}

}  // namespace bundle
