#include "gpuadm/http/client.hpp"
#include "gpuadm/http/server.hpp"

#include "http/answer.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <poll.h>

#include <string>
#include <string_view>

namespace {

/// The body that is read from an answer which arrives in pieces of this size.
std::string body_in_pieces(std::string_view answer, std::size_t piece, bool complete = true) {
  std::string body;
  http::AnswerReader reader(1000, [&](std::string_view part) { body += part; });
  for (std::size_t at = 0; at < answer.size(); at += piece) {
    CHECK(!reader.is_complete(false));
    REQUIRE(reader.take(answer.substr(at, piece)));
  }
  CHECK(reader.is_complete(true) == complete);
  return body;
}

std::string why_refused(std::string_view answer) {
  http::AnswerReader reader(10, nullptr);
  const auto taken = reader.take(answer);
  return taken ? "" : taken.error().what;
}

/// How much of an endless answer is taken before it is refused.
std::size_t taken_of(const std::string& head, const std::string& rest) {
  http::AnswerReader reader(1000, nullptr);
  std::size_t taken = head.size();
  REQUIRE(reader.take(head));
  while (taken < (16u << 20) && reader.take(rest)) taken += rest.size();
  return taken;
}

/// Continues both until the answer is there.
http::Result<http::Answer> answer_of(http::Server& server, http::Call call) {
  http::Exchange exchange(std::move(call));
  for (int i = 0; i < 5000 && !exchange.is_done(); ++i) {
    server.advance();
    exchange.advance();
    ::poll(nullptr, 0, 1);
  }
  REQUIRE(exchange.is_done());
  CHECK(exchange.interest().fd == -1);
  return exchange.answer();
}

}  // namespace

TEST_CASE("an answer is read in pieces of any size: with a length, in chunks, or until the end") {
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 1000U}) {
    CAPTURE(piece);
    CHECK(body_in_pieces("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", piece) == "hello");
    CHECK(body_in_pieces("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: 1\r\n\r\n",
                         piece) == "hello");
    CHECK(body_in_pieces("HTTP/1.0 200 OK\r\n\r\nhello", piece) == "hello");
    CHECK(body_in_pieces("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", piece, false) == "hello");
    CHECK(body_in_pieces("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", piece).empty());
  }
}

TEST_CASE("an answer that is not HTTP, or too long, is refused") {
  CHECK(why_refused("SSH-2.0-OpenSSH\r\n\r\n") == "the answer is not HTTP: it has no status");
  CHECK(why_refused("HTTP/1.1 999 No\r\n\r\n") == "the answer is not HTTP: it has no status");
  CHECK(why_refused("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n") ==
        "the answer is not HTTP: its length is not a number");
  CHECK(why_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n") ==
        "the answer is not HTTP: the size of a chunk is not a number");
  CHECK(why_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n") ==
        "the answer is not HTTP: a chunk is longer than its size");
  CHECK(why_refused("HTTP/1.1 200 OK\r\n\r\n0123456789x") == "the answer is too long");
  CHECK(why_refused(std::string(100000, 'x')) == "the answer is not HTTP: its headers do not end");
}

TEST_CASE("a server of this machine is asked and answers; one that is not there is unreachable") {
  auto server = http::Server::open(
      {.address = "127.0.0.1", .certificate = {}, .key = {}}, [](const http::Request& request) {
        return http::Response{request.path == "/health" ? 200 : 404, "text of " + request.path};
      });
  REQUIRE(server);
  const auto found = answer_of(*server, {.address = "127.0.0.1", .port = server->port(), .path = "/health"});
  REQUIRE(found);
  CHECK(found->status == 200);
  CHECK(found->body == "text of /health");
  const auto missing = answer_of(*server, {.address = "127.0.0.1", .port = server->port(), .path = "/x"});
  REQUIRE(missing);
  CHECK(missing->status == 404);
  const auto long_answer =
      answer_of(*server, {.address = "127.0.0.1", .port = server->port(), .path = "/health", .limit = 3});
  REQUIRE(!long_answer);
  CHECK(long_answer.error().what == "the answer is too long");
  const auto closed = answer_of(*server, {.address = "127.0.0.1", .port = 1});
  REQUIRE(!closed);
  CHECK(closed.error().fault == base::Fault::unreachable);
  CHECK(closed.error().what == "127.0.0.1:1/: Connection refused");
}

TEST_CASE("an answer that does not end is refused, whatever part of it is endless") {
  constexpr std::size_t most = 1u << 20;
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(taken_of("HTTP/1.1 200 OK\r\n", std::string(1000, 'x')) < most);
  CHECK(taken_of(chunked, std::string(1000, '0')) < most);
  CHECK(taken_of(chunked, "1;" + std::string(1000, 'x') + "\r\na\r\n") < most);
  CHECK(taken_of(chunked + "0\r\n", "a: b\r\n") < most);
  CHECK(taken_of(chunked + "0\r\n", std::string(1000, 'x')) < most);
  CHECK(taken_of("HTTP/1.1 200 OK\r\n\r\n", std::string(1000, 'x')) < most);
}
