#include "run/distribution.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using run::Distribution;
using Came = Distribution::Came;

namespace {

run::Offer offer(const std::string& port) {
  return {"192.0.2.1", port, "ssh-ed25519 AAAA", "key"};
}

}  // namespace

TEST_CASE("distribution: the client sends to the first, and each passes on what comes to it") {
  Distribution d;
  for (const char* host : {"a", "b", "c", "d"}) {
    CHECK(!d.has_answered(host, "x"));
    d.offers(host, "x", offer(host));
    CHECK(d.has_answered(host, "x"));
  }
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "x")->host == "a");
  const auto way = d.route("c", "x");
  REQUIRE(way);
  CHECK(way->host == "b");
  CHECK(way->offer.port == "b");
  CHECK(d.route("d", "x")->host == "c");
  for (const char* host : {"a", "b", "c", "d"}) d.arrived(host, "x");
  CHECK(d.route("e", "x")->host == "a");
}

TEST_CASE("distribution: a host passes a file on to two at a time, and those that are too many wait") {
  Distribution d;
  d.offers("a", "x", offer("1"));
  for (const char* host : {"b", "c", "d"}) d.offers(host, "x", {});
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "x")->host == "a");
  CHECK(d.route("c", "x")->host == "a");
  CHECK(!d.route("d", "x"));
  d.arrived("b", "x");
  CHECK(d.route("d", "x")->host == "a");
}

TEST_CASE("distribution: where hosts cannot pass it on, the client sends to all at once") {
  Distribution d;
  for (const char* host : {"a", "b", "c"}) d.offers(host, "x", {});
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "x")->host.empty());
  d.arrived("a", "x");
  CHECK(d.route("c", "x")->host.empty());
}

TEST_CASE("distribution: whom nobody sends to is nobody's source, and no host waits for itself") {
  Distribution d;
  for (const char* host : {"a", "b", "c"}) d.offers(host, "x", offer(host));
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "x")->host == "a");
  CHECK(d.route("c", "x")->host == "b");
  d.failed("a", "x");
  // What came to b came from a, and c gets it from b: b's next source is the client, and c's stays b.
  CHECK(!d.cannot_fetch("b", "x", Came::nothing));
  CHECK(d.route("b", "x")->host.empty());
  CHECK(d.cannot_fetch("c", "x", Came::nothing));
}

TEST_CASE("distribution: one that fails frees its slot, and one that cannot fetch gets it from the client") {
  Distribution d;
  for (const char* host : {"a", "b", "c", "d", "e"}) d.offers(host, "x", offer(host));
  CHECK(d.route("a", "x")->host.empty());
  d.failed("a", "x");
  CHECK(d.route("b", "x")->host.empty());
  d.arrived("b", "x");
  CHECK(d.route("c", "x")->host == "b");
  CHECK(d.cannot_fetch("c", "x", Came::nothing));
  CHECK(d.route("c", "x")->host.empty());
  CHECK(d.route("d", "x")->host == "b");
  CHECK(d.route("c", "y")->host.empty());
}

TEST_CASE("distribution: a chain branches when it is long, so that no host is far from the client") {
  Distribution d;
  std::map<std::string, std::pair<std::string, int>> way;  // source, hosts before it
  for (int i = 0; i < 200; ++i) d.offers(fmt::format("h{:03}", i), "x", offer("1"));
  for (int i = 0; i < 200; ++i) {
    const std::string host = fmt::format("h{:03}", i);
    const auto route = d.route(host, "x");
    REQUIRE(route);
    way[host] = {route->host, route->host.empty() ? 0 : way[route->host].second + 1};
    if (i > 0 && i <= 16) CHECK(route->host == fmt::format("h{:03}", i - 1));
    CHECK(way[host].second <= 32);
  }
}

TEST_CASE(
    "distribution: hosts behind one that has stopped look elsewhere, and do not all come to the client") {
  Distribution d;
  for (const char* host : {"a", "b", "c", "d"}) d.offers(host, "x", offer(host));
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "x")->host == "a");
  CHECK(d.route("c", "x")->host == "b");
  CHECK(d.route("d", "x")->host == "c");
  // b is away, which is not known yet: nothing more comes to c, nor to d.
  CHECK(!d.cannot_fetch("d", "x", Came::some));
  CHECK(d.route("d", "x")->host == "a");
  CHECK(!d.cannot_fetch("c", "x", Came::some));
  d.failed("b", "x");
  CHECK(d.route("c", "x")->host == "d");
}

TEST_CASE("distribution: files are distributed one by one") {
  Distribution d;
  CHECK(d.route("a", "x")->host.empty());
  CHECK(d.route("b", "y")->host.empty());
}

TEST_CASE("distribution: an offer is read whole or not at all, and holds nothing that a shell would act on") {
  const std::string good =
      "depot 7\noffer 192.0.2.1 fd00::1\nport 20001\nhost ssh-ed25519 AAAA+/=\n-----BEGIN OPENSSH PRIVATE "
      "KEY-----\n"
      "abc\n-----END OPENSSH PRIVATE KEY-----\n";
  const auto read = run::read_offer(good);
  REQUIRE(read);
  CHECK(read->addresses == "192.0.2.1 fd00::1");
  CHECK(read->port == "20001");
  CHECK(read->host_key == "ssh-ed25519 AAAA+/=");
  CHECK(read->key == "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----");
  CHECK(!run::read_offer(good.substr(0, good.size() - 20)));
  std::string bad = good;
  bad.replace(bad.find("20001"), 5, "1;a b");
  CHECK(!run::read_offer(bad));
  CHECK(!run::read_offer(""));
}

TEST_CASE("distribution: what a host says it holds is believed up to the file's size") {
  CHECK(run::read_held("depot whole\n", 9).whole);
  CHECK(run::read_held("x\ndepot 7\n", 9).bytes == 7);
  CHECK(run::read_held("depot 10\n", 9).bytes == 0);
  CHECK(run::read_held("depot -1\n", 9).bytes == 0);
  CHECK(run::read_held("", 9).bytes == 0);
}
