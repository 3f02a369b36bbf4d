#include "gpuadm/base/files.hpp"

#include "place.hpp"
#include "transport/ssh/keys/bytes.hpp"
#include "transport/ssh/keys/known_hosts.hpp"

#include <doctest/doctest.h>

using namespace testing_transport;
using transport::KnownHosts;

namespace {
std::string blob(const std::string& type, const std::string& body) {
  std::string bytes;
  transport::put_string(bytes, type);
  transport::put_string(bytes, body + std::string(32 - body.size(), '.'));
  return bytes;
}
std::string line(const std::string& names, const std::string& body, const std::string& type = "ssh-ed25519") {
  return names + " " + type + " " + base::base64(blob(type, body)) + " a comment\n";
}
std::vector<int> lines_of(const KnownHosts& known, const std::string& name,
                          const std::vector<std::string>& files) {
  std::vector<int> lines;
  for (const auto* entry : known.find(name, files)) lines.push_back(entry->line);
  return lines;
}
}  // namespace

TEST_CASE(
    "known hosts: names, ports, wildcards, negations, hashes and marks are understood, nonsense is skipped") {
  Place place;
  const std::string file =
      place.write("known", "# comment\n\n" + line("alpha,192.0.2.1", "1") + line("[alpha]:2222", "2") +
                               line("*.lab,!bad.lab", "3") +
                               // ssh-keygen -H of 192.168.1.61
                               line("|1|p3kozjjG5kaoSBtViphsEy8APgQ=|ASffkUVskoT7bXPUJtaw85ce7pE=", "4") +
                               "@revoked " + line("alpha", "5") + "@cert-authority " + line("*.ca", "6") +
                               "one two\n\x01\xff\n|1|broken\n" + line("Mixed.Case", "7"));
  KnownHosts known;
  known.read({file, "/nonexistent"});
  CHECK(lines_of(known, "alpha", {file}) == std::vector{3, 7});
  CHECK(lines_of(known, "192.0.2.1", {file}) == std::vector{3});
  CHECK(lines_of(known, "[alpha]:2222", {file}) == std::vector{4});
  CHECK(lines_of(known, "good.lab", {file}) == std::vector{5});
  CHECK(lines_of(known, "bad.lab", {file}).empty());
  CHECK(lines_of(known, "192.168.1.61", {file}) == std::vector{6});
  CHECK(lines_of(known, "mixed.case", {file}) == std::vector{12});
  CHECK(known.find("x.ca", {file}).at(0)->mark == KnownHosts::Mark::authority);
  CHECK(lines_of(known, "alpha", {"/another"}).empty());
}

TEST_CASE(
    "known hosts: a stored key is found again, in plain and in hash, behind a file without a last newline") {
  Place place;
  for (const auto hash : {KnownHosts::Hash::no, KnownHosts::Hash::yes}) {
    const std::string file = place.write("known", "# no newline").string();
    KnownHosts known;
    known.read({file});
    REQUIRE(known.add("[Beta]:2222", "ssh-ed25519", blob("ssh-ed25519", "x"), file, hash));
    CHECK(known.find("[beta]:2222", {file}).size() == 1);
    KnownHosts again;
    again.read({file});
    REQUIRE(again.find("[beta]:2222", {file}).size() == 1);
    CHECK(again.find("[beta]:2222", {file})[0]->line == 2);
    CHECK(again.find("[beta]:2222", {file})[0]->blob == blob("ssh-ed25519", "x"));
  }
}
