#include "gpuadm/http/server.hpp"

#include "commands/workloads/serve/completion.hpp"
#include "commands/workloads/serve/load.hpp"

#include <doctest/doctest.h>

#include <poll.h>

#include <atomic>
#include <string>
#include <thread>

namespace {

/// What first_model finds at a server that answers /v1/models so.
std::string model_of(const http::Response& response) {
  auto server = http::Server::open({.address = "127.0.0.1", .certificate = {}, .key = {}},
                                   [&](const http::Request& request) {
                                     return request.path == "/v1/models" ? response : http::Response{404, ""};
                                   });
  REQUIRE(server);
  std::atomic<bool> ended = false;
  std::thread serving([&] {
    while (!ended) {
      server->advance();
      ::poll(nullptr, 0, 1);
    }
  });
  base::Interrupt interrupt;
  const auto model = commands::first_model({"127.0.0.1", server->port(), {}, base::Secret("key")},
                                           std::chrono::seconds(5), interrupt);
  ended = true;
  serving.join();
  REQUIRE(model);
  return *model;
}

}  // namespace

TEST_CASE("a server has OpenAI's API if it names a model") {
  CHECK(model_of({200, R"({"object":"list","data":[{"id":"qwen","object":"model"},{"id":"b"}]})"}) == "qwen");
  for (const char* other :
       {"", "ok", "{}", R"({"data":{}})", R"({"data":[]})", R"({"data":["qwen"]})", "[1]"})
    CHECK(model_of({200, other}).empty());
  CHECK(model_of({404, R"({"data":[{"id":"qwen"}]})"}).empty());
}

TEST_CASE("the quantile is a value that was measured") {
  CHECK(commands::quantile({}, 0.5) == 0);
  CHECK(commands::quantile({3}, 0.95) == 3);
  CHECK(commands::quantile({4, 1, 3, 2}, 0.5) == 2);
  CHECK(commands::quantile({4, 1, 3, 2}, 0.95) == 4);
}

TEST_CASE("the result of a load has requests, tokens a second, first tokens and errors") {
  const commands::Load load{.clients = 2,
                            .seconds = 10,
                            .requests = 3,
                            .errors = 1,
                            .tokens = 96,
                            .first_tokens = {0.25, 0.5, 1},
                            .error = "a completion was answered with the status 503"};
  CHECK(commands::to_text(load) ==
        "2 clients for 10s: 3 requests, 9.6 tokens a second\n"
        "time to the first token 0.500s (p50), 1.000s (p95)\n"
        "errors: 1\n"
        "  a completion was answered with the status 503\n");
  CHECK(commands::to_tree(load).find("tokensPerSecond")->as_real() == 9.6);
}

TEST_CASE("a server that is not there is an error of each request, and the load ends in time") {
  base::Interrupt interrupt;
  const auto load = commands::measure_load({"127.0.0.1", 1, "tiny", base::Secret("key")}, 2,
                                           std::chrono::seconds(1), 8, interrupt);
  REQUIRE(load);
  CHECK(load->requests == 0);
  CHECK(load->errors > 0);
  CHECK(load->error == "127.0.0.1:1/v1/completions: Connection refused");
  CHECK(load->seconds < 3);
}
