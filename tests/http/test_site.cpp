#include "gpuadm/http/site.hpp"

#include "http/request.hpp"

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace {

using http::Request;
using http::Response;

constexpr const char* secret_token = "0011223344556677";

http::Site small_site() {
  http::Site site{base::Secret(secret_token)};
  site.add("", "text/html", [] { return std::string("page"); });
  site.add("live.json", "application/json", [] { return std::string("{}"); });
  return site;
}

Response get(const std::string& path, const std::string& host) {
  return small_site().answer({Request::Kind::get, path, host});
}

std::string header(const Response& response, std::string_view name) {
  const auto found =
      std::ranges::find_if(response.headers, [&](const auto& one) { return one.first == name; });
  return found == response.headers.end() ? "" : found->second;
}

/// Sends bytes to a server on loopback, and drives it until it has closed the connection.
std::string ask_server(http::Server& server, const std::string& bytes) {
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(server.port());
  REQUIRE(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  std::string answer;
  for (int round = 0; round < 200; ++round) {
    std::vector<pollfd> waits;
    server.interests(waits);
    ::poll(waits.data(), waits.size(), 5);
    server.advance();
    char buffer[4096];
    const ssize_t got = ::recv(client, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0) break;
    if (got > 0) answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(client);
  return answer;
}

}  // namespace

TEST_CASE("a page is answered below its token and under a loopback name only") {
  const std::string root = std::string("/") + secret_token + "/";
  CHECK(get(root, "127.0.0.1:4711").text == "page");
  CHECK(get(root + "live.json", "localhost:4711").text == "{}");
  CHECK(get(root + "live.json", "[::1]:4711").type == "application/json");
  CHECK(get(root, "localhost").status == 200);
  for (const char* host : {"", "attacker.example", "127.0.0.1.attacker.example:4711", "localhost:4711:80",
                           "127.0.0.1:", "127.0.0.1:x", "attacker.example:127.0.0.1", "[::1", "0.0.0.0:4711"})
    CHECK_MESSAGE(get(root, host).status == 403, host);
  for (const char* path : {"/", "/live.json", "/001122334455667/", "/00112233445566778/",
                           "/0011223344556678/", "//0011223344556677/", "/?token=0011223344556677", ""})
    CHECK_MESSAGE(get(path, "localhost").status == 403, path);
  for (const std::string& path :
       {root + "other", root + "../live.json", root + "/", root.substr(0, root.size() - 1)})
    CHECK_MESSAGE(get(path, "localhost").status == 404, path);
  CHECK(http::Site{base::Secret()}.answer({Request::Kind::get, "//", "localhost"}).status == 403);
  CHECK(small_site().address(4711) == "http://127.0.0.1:4711/0011223344556677/");
}

TEST_CASE("every answer forbids other origins, caches and frames") {
  for (const char* path : {"/0011223344556677/", "/wrong/", "/0011223344556677/missing"}) {
    const Response response = get(path, "localhost");
    CHECK(header(response, "Content-Security-Policy").starts_with("default-src 'none'; script-src 'self';"));
    CHECK(header(response, "Cache-Control") == "no-store");
    CHECK(header(response, "Referrer-Policy") == "no-referrer");
    CHECK(header(response, "X-Frame-Options") == "DENY");
    CHECK(header(response, "Access-Control-Allow-Origin").empty());
  }
}

TEST_CASE("the header Host is read whatever its case, and two of them are invalid") {
  const auto request = http::read_request("GET /a HTTP/1.1\r\nAccept: x\r\nhOST:  LocalHost:80 \r\n\r\n");
  REQUIRE(request);
  CHECK(request->kind == Request::Kind::get);
  CHECK(request->host == "localhost:80");
  CHECK(http::read_request("GET /a HTTP/1.1\r\nX-Host: a\r\n\r\n")->host.empty());
  CHECK(http::read_request("GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")->kind == Request::Kind::invalid);
}

TEST_CASE("a server that another poll loop drives answers, and no junk stops it") {
  const http::Site site = small_site();
  auto server = http::Server::open({"127.0.0.1", 0, {}, {}},
                                   [&](const Request& request) { return site.answer(request); });
  REQUIRE(server);
  REQUIRE(server->port() != 0);
  const std::string good = std::string("GET /") + secret_token + "/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::string bytes = round % 2 == 0 ? good : std::string(random() % 3000 + 1, ' ');
    for (std::size_t i = 0; i < 1 + bytes.size() / 20; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    if (bytes.find("\r\n\r\n") == std::string::npos) bytes += std::string(http::most_request, 'A');
    (void)ask_server(*server, bytes);
  }
  CHECK(ask_server(*server, good).ends_with("\r\n\r\npage"));
  CHECK(ask_server(*server, "HEAD " + good.substr(4)).ends_with("\r\n\r\n"));
  CHECK(ask_server(*server, "POST " + good.substr(4)).starts_with("HTTP/1.1 405 "));
  CHECK(ask_server(*server, "\x16\x03\x01").starts_with("HTTP/1.1 400 "));
  const auto second = http::Server::open({"127.0.0.1", server->port(), {}, {}}, {});
  REQUIRE(!second);
  CHECK(second.error().what.find("Address already in use") != std::string::npos);
}
