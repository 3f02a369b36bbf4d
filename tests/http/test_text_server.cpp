#include "gpuadm/base/files.hpp"
#include "gpuadm/http/text_server.hpp"

#include "http/request.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

namespace {

using http::read_request;
using Kind = http::Request::Kind;

}  // namespace

TEST_CASE("a request is read when it is complete, and what is not HTTP/1 is invalid at once") {
  CHECK(!read_request(""));
  CHECK(!read_request("GET /met"));
  CHECK(!read_request("GET /metrics HTTP/1.1\r\nHost: a\r\n"));
  const auto request = read_request("GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n");
  REQUIRE(request);
  CHECK(request->kind == Kind::get);
  CHECK(request->path == "/metrics");
  CHECK(read_request("HEAD /metrics HTTP/1.0\r\n\r\n")->kind == Kind::head);
  CHECK(read_request("POST /metrics HTTP/1.1\r\n\r\n")->kind == Kind::other_method);
  for (const char* junk :
       {"\x16\x03\x01\x02", "get / HTTP/1.1\r\n\r\n", "GET metrics HTTP/1.1\r\n\r\n", "GET /metrics\r\n\r\n",
        "GET /metrics HTTP/2\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n", "VERYLONGMETHODNAMEX", "\r\n\r\n"})
    CHECK_MESSAGE(read_request(junk)->kind == Kind::invalid, junk);
  CHECK(read_request("GET /" + std::string(http::most_request, 'a'))->kind == Kind::invalid);
}

TEST_CASE("a request of random bytes is incomplete or invalid, and never a request") {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 60, ' ');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const auto request = read_request(bytes);
    CHECK((!request || request->kind == Kind::invalid));
  }
}

TEST_CASE("an answer has the length of its text, which HEAD does not get") {
  const std::string text = "gpuadm_gpus 8\n";
  CHECK(http::to_text({.text = text}, false)
            .ends_with("Content-Length: 14\r\nX-Content-Type-Options: nosniff\r\n"
                       "Connection: close\r\n\r\n" +
                       text));
  CHECK(http::to_text({.text = text}, true).ends_with("\r\n\r\n"));
  CHECK(
      http::to_text({.status = 405, .text = text}, true).starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
}

TEST_CASE(
    "a certificate is kept while its address and name are the same, and its key is for the owner only") {
  const auto folder = std::filesystem::temp_directory_path() / "gpuadm-test-certificate";
  std::filesystem::remove_all(folder);
  http::Endpoint endpoint{"192.0.2.7", 0, folder / "tls.crt", folder / "tls.key"};
  REQUIRE(http::ensure_certificate(endpoint, "gpu1"));
  const auto first = base::read_file(endpoint.certificate);
  REQUIRE(first);
  struct stat status{};
  REQUIRE(::stat(endpoint.key.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(http::ensure_certificate(endpoint, "gpu1"));
  CHECK(*base::read_file(endpoint.certificate) == *first);

  REQUIRE(http::ensure_certificate(endpoint, "gpu2"));
  const auto second = base::read_file(endpoint.certificate);
  CHECK(*second != *first);
  endpoint.address = "2001:db8::7";
  REQUIRE(http::ensure_certificate(endpoint, "gpu2"));
  CHECK(*base::read_file(endpoint.certificate) != *second);
  std::filesystem::remove(endpoint.key);
  REQUIRE(http::ensure_certificate(endpoint, "gpu2"));
  CHECK(std::filesystem::exists(endpoint.key));
  endpoint.address = "127.0.0.1";
  CHECK(http::TextServer::open(endpoint));
  std::ofstream(endpoint.key) << "junk";
  CHECK(!http::TextServer::open(endpoint));
  std::filesystem::remove_all(folder);
}
