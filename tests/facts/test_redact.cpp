#include "gpuadm/base/json.hpp"
#include "gpuadm/base/network.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/facts/redact.hpp"

#include <doctest/doctest.h>

namespace {

facts::Redactor with_names() {
  facts::Redactor redactor("salt");
  redactor.learn_from(
      "=== /proc/sys/kernel/hostname\n| trainer7.lab.acme.example\n=== /etc/resolv.conf\n| search "
      "acme.example\n"
      "=== mounts\n| /home/alice/x\n");
  return redactor;
}

/// One line, without its end.
std::string one(facts::Redactor& redactor, std::string_view text) {
  std::string result = redactor(text);
  result.pop_back();
  return result;
}

}  // namespace

TEST_CASE("redact: names of hosts, domains and people are the same other name everywhere") {
  auto redactor = with_names();
  CHECK(
      one(redactor, "TRAINER7 trainer7.lab.acme.example http://proxy.acme.example:3128 /home/alice/.kube") ==
      "host1 host1.domain1 http://proxy.domain2:3128 /home/user1/.kube");
  CHECK(one(redactor, "trainer70 trainers root localhost") == "trainer70 trainers root localhost");
  CHECK(redactor.name("Trainer7") == "host1");
  // A name that is a word of its own elsewhere is replaced only where it must be a name.
  redactor.learn("gpu", "host");
  CHECK(redactor("=== /proc/sys/kernel/hostname\n| gpu\n=== x\n| gpu\n") ==
        "=== /proc/sys/kernel/hostname\n| host2\n=== x\n| gpu\n");
  // Nor is a model of GPU the host that is called like it.
  redactor.learn("h200", "host");
  CHECK(one(redactor, "GPU 0: NVIDIA H200 of h200") == "GPU 0: NVIDIA H200 of host3");
}

TEST_CASE("redact: names that are learned one by one are replaced with their parts") {
  facts::Redactor redactor("salt");
  redactor.learn("db7.acme-bank.invalid", "host");
  redactor.learn_host("db7.acme-bank.invalid");
  redactor.learn_host("10.1.2.3");
  redactor.learn_people("identityFile: /home/janedoe/.ssh/id /home/bob");
  CHECK(one(redactor, "db7.acme-bank.invalid db7: x.acme-bank.invalid janedoe@h bob") ==
        "host1 host2: x.domain1 user1@h user2");
  CHECK(one(redactor, "10 1.2.3") == "10 1.2.3");
}

TEST_CASE("redact: addresses keep their networks") {
  facts::Redactor redactor("salt");
  const auto map = [&](std::string_view text) { return *base::Cidr::parse(one(redactor, text)); };
  CHECK(map("10.1.2.0/24").contains(map("10.1.2.77")));
  CHECK_FALSE(map("10.1.2.0/24").contains(map("10.1.3.77")));
  CHECK(map("10.1.2.0/24").is_network());
  CHECK(map("10.1.2.0/24").text() != "10.1.2.0/24");
  CHECK(base::Cidr::parse("10.0.0.0/8")->contains(map("10.1.2.3")));
  CHECK(base::Cidr::parse("172.16.0.0/12")->contains(map("172.20.2.3")));
  CHECK(base::Cidr::parse("192.168.0.0/16")->contains(map("192.168.2.3")));
  CHECK_FALSE(base::Cidr::parse("192.168.0.0/16")->contains(map("192.0.2.9")));
  CHECK(map("fd00:1::/32").contains(map("fd00:1::7")));
  for (const char* kept :
       {"0.0.0.0/0", "0.0.0.0:*", "127.0.0.1:6443", "[::]:22", "::1", "169.254.169.254", "224.0.0.1",
        "255.255.255.255", "580.159.04", "1.2.3.4.5", "0000:00:06.0", "12:34:56", "v1.33.2", "::/0"})
    CHECK(one(redactor, kept) == kept);
  const std::string endpoint = one(redactor, "https://10.1.2.3:6443");
  CHECK(endpoint.starts_with("https://10."));
  CHECK(endpoint.ends_with(":6443"));
  CHECK(endpoint != "https://10.1.2.3:6443");
}

TEST_CASE("redact: ids keep their form, MAC addresses their vendor, and what is not set stays so") {
  facts::Redactor redactor("salt");
  const std::string uuid = one(redactor, "GPU-1b2c3d4e-0000-1111-2222-333344445555");
  CHECK(uuid.starts_with("GPU-"));
  CHECK(uuid.size() == 40);
  CHECK(uuid != "GPU-1b2c3d4e-0000-1111-2222-333344445555");
  CHECK(uuid == one(redactor, "GPU-1b2c3d4e-0000-1111-2222-333344445555"));
  const std::string mac = one(redactor, "address=52:54:00:ab:cd:ef mtu=1500");
  CHECK(mac.starts_with("address=52:54:00:"));
  CHECK(mac.ends_with(" mtu=1500"));
  CHECK(mac.find("ab:cd:ef") == std::string::npos);
  CHECK(one(redactor, "0123456789abcdef0123456789abcdef") != "0123456789abcdef0123456789abcdef");
  for (const char* kept :
       {"00000000-0000-0000-0000-000000000000", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "10de:2335"})
    CHECK(one(redactor, kept) == kept);
  CHECK(one(redactor, "|   <serial>1650224012345</serial>") == "|   <serial>***</serial>");
  CHECK(one(redactor, "|   <serial>N/A</serial>") == "|   <serial>N/A</serial>");
}

TEST_CASE("redact: secrets are gone") {
  facts::Redactor redactor("salt");
  CHECK(one(redactor, "|   password = \"s3cret word\" # x") == "|   password = \"***\" # x");
  CHECK(one(redactor, "| {\"auths\":{\"r\":{\"auth\":\"dXNlcjpwdw==\"}}}") ==
        "| {\"auths\":{\"r\":{\"auth\":\"***\"}}}");
  CHECK(one(redactor, "| client-key-data: LS0tLS1") == "| client-key-data: ***");
  CHECK(one(redactor, "| http_proxy=http://bob:pw@p:1/") == "| http_proxy=http://***@p:1/");
  CHECK(one(redactor, "| token abcdef.0123456789abcdef") == "| token ***");
  CHECK(redactor("| a\n| -----BEGIN RSA PRIVATE KEY-----\n| MIIE\n| -----END RSA PRIVATE KEY-----\n| b\n") ==
        "| a\n| ***\n| b\n");
  CHECK(one(redactor, "| Environment=DB_PASSWORD=hunter2 MODE=a") == "| Environment=DB_PASSWORD=*** MODE=a");
  CHECK(one(redactor, "| Environment=\"DB_PASSWORD=hunter2 and more\" A=b") ==
        "| Environment=\"DB_PASSWORD=***\" A=b");
  CHECK(one(redactor, "| dbPassword: x, clientSecret: y, kept: z") ==
        "| dbPassword: ***, clientSecret: ***, kept: z");
  CHECK(one(redactor, "| --token=s3cret then token=other") == "| --token=*** then token=***");
  CHECK(one(redactor, "| Authorization: Bearer abcdefghijkl") == "| Authorization: Bearer ***");
  CHECK(one(redactor, "| http://a:b@h/ https://c:d@h/") == "| http://***@h/ https://***@h/");
  CHECK(one(redactor, R"({"text": "a\npassword: s3cret b"})") == R"({"text": "a\npassword: *** b"})");
  CHECK(one(redactor, R"({"text": "a\n10.1.2.3\n"})").find("10.1.2.3") == std::string::npos);
  CHECK(redactor.name("10.1.2.3") == one(redactor, "10.1.2.3"));
  CHECK(redactor.replaced().secrets > 10);
  for (const char* kept : {"| --authentication-token-webhook=true", "| authorization-mode=Node,RBAC",
                           "| token: true", "| authentication: {}", "=== /etc/containerd/config.toml"})
    CHECK(one(redactor, kept) == kept);
}

TEST_CASE("redact: a key that never ends hides no more than its section") {
  facts::Redactor redactor("salt");
  CHECK(redactor("=== a\n| -----BEGIN KEY-----\n| MIIE\n=== b\n| c\n") == "=== a\n=== b\n| c\n");
}

TEST_CASE(
    "redact: what a control plane calls its nodes is a host's name, also where it could be another word") {
  facts::Redactor redactor("salt");
  redactor.learn_from("=== nodes\n| node\t{}\n| gpu7.acme.example\t{}\n=== people\n| carol\n");
  CHECK(redactor("=== pods\n| default\tx\tNode\tnode\tRunning\n| a\tb\tNode\tgpu7.acme.example\tRunning\n") ==
        "=== pods\n| default\tx\tNode\thost1\tRunning\n| a\tb\tNode\thost2.domain1\tRunning\n");
  CHECK(redactor("=== nodes\n| node\t{\"kubernetes.io/hostname\":\"node\"}\n") ==
        "=== nodes\n| host1\t{\"kubernetes.io/hostname\":\"host1\"}\n");
  CHECK(one(redactor, "| a node of carol's, gpu7") == "| a node of user1's, host2");
}

TEST_CASE("facts have no passwords of a runtime's configuration, wherever they are in a line") {
  facts::Facts facts;
  facts.runtime.docker = facts::Docker{};
  facts.runtime.docker->daemon_json =
      R"({"proxies": {"http-proxy": "http://me:hunter22@proxy:3128"}, "debug": false, "x": {"password": "hunter22"}})";
  facts.runtime.containerd = facts::Containerd{};
  facts.runtime.containerd->config =
      "endpoint = [\"https://me:hunter22@mirror\"]\n  password = \"hunter22\"\n";
  const std::string text = base::json::write(facts::to_tree(facts));
  CHECK(text.find("hunter22") == std::string::npos);
  CHECK(text.find("mirror") != std::string::npos);
}
