#include "dns.hpp"

#include <doctest/doctest.h>

namespace {

using Bytes = std::vector<std::uint8_t>;

/// An answer to query(7, "a.b", type) with one record.
Bytes answer(unsigned flags, Bytes record) {
  Bytes bytes = {0,
                 7,
                 static_cast<std::uint8_t>(flags >> 8),
                 static_cast<std::uint8_t>(flags),
                 0,
                 1,
                 0,
                 static_cast<std::uint8_t>(record.empty() ? 0 : 1),
                 0,
                 0,
                 0,
                 0};
  const Bytes question = dns::query(7, "a.b", dns::Type::a);
  bytes.insert(bytes.end(), question.begin() + 12, question.end());
  bytes.insert(bytes.end(), record.begin(), record.end());
  return bytes;
}

const Bytes address_record = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 10, 96, 0, 1};

}  // namespace

TEST_CASE("a query has one question, and a name that fits no message has none") {
  const Bytes expected = {0x12, 0x34, 1,   0,   0, 1,   0,   0, 0, 0,  0, 0,
                          3,    'a',  'p', 'i', 2, 'i', 'o', 0, 0, 28, 0, 1};
  CHECK(dns::query(0x1234, "api.io", dns::Type::aaaa) == expected);
  CHECK(dns::query(0x1234, "api.io.", dns::Type::aaaa) == expected);
  for (const std::string& name : {std::string(), std::string("."), std::string("a..b"), std::string(64, 'a'),
                                  std::string(".a"), std::string(254, 'a')})
    CHECK_MESSAGE(dns::query(1, name, dns::Type::a).empty(), name);
}

TEST_CASE("an answer's addresses are read, behind names that are compressed or not") {
  const auto parsed = dns::parse(answer(0x8180, address_record), 7, dns::Type::a);
  REQUIRE(parsed);
  CHECK(parsed->code == 0);
  CHECK(parsed->addresses == std::vector<std::string>{"10.96.0.1"});
  Bytes plain = {1, 'x', 0};
  plain.insert(plain.end(), address_record.begin() + 2, address_record.end());
  CHECK(dns::parse(answer(0x8180, plain), 7, dns::Type::a)->addresses.size() == 1);
}

TEST_CASE("an answer says that there is no such name, that the server failed, or that it is truncated") {
  CHECK(dns::parse(answer(0x8183, {}), 7, dns::Type::a)->code == 3);
  CHECK(dns::parse(answer(0x8182, {}), 7, dns::Type::a)->code == 2);
  CHECK(dns::parse(answer(0x8380, {}), 7, dns::Type::a)->truncated);
}

TEST_CASE("bytes that are not an answer to the query are rejected, wherever they end") {
  const Bytes whole = answer(0x8180, address_record);
  CHECK(!dns::parse(whole, 8, dns::Type::a));
  CHECK(!dns::parse(whole, 7, dns::Type::aaaa));
  CHECK(!dns::parse(answer(0x0100, address_record), 7, dns::Type::a));  // a query
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(!dns::parse({whole.data(), size}, 7, dns::Type::a));
  Bytes loop = whole;
  loop[whole.size() - 16] = 0xff;  // a pointer anywhere ends the name
  CHECK(dns::parse(loop, 7, dns::Type::a));
}

TEST_CASE("resolv.conf gives servers, the last search line and ndots") {
  const auto config = dns::read_config(
      "# kubelet\nnameserver 10.96.0.10\nsearch lost\nsearch gpuadm-verify.svc.cluster.local "
      "svc.cluster.local  "
      "cluster.local\noptions ndots:5 timeout:1\nnameserver fd00::a\n");
  CHECK(config.servers == std::vector<std::string>{"10.96.0.10", "fd00::a"});
  CHECK(config.search.size() == 3);
  CHECK(config.ndots == 5);
  CHECK(dns::read_config("").servers.empty());
  CHECK(dns::read_config("options ndots:99").ndots == 15);
}

TEST_CASE("a name with few dots is completed by the search domains first") {
  const dns::Config config{{}, {"svc.cluster.local", "cluster.local"}, 5};
  CHECK(dns::candidates("kubernetes.default", config) ==
        std::vector<std::string>{"kubernetes.default.svc.cluster.local", "kubernetes.default.cluster.local",
                                 "kubernetes.default"});
  CHECK(dns::candidates("a.b.c.d.e.f", config).front() == "a.b.c.d.e.f");
  CHECK(dns::candidates("a.b.", config) == std::vector<std::string>{"a.b"});
}
