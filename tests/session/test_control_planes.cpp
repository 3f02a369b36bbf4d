#include "gpuadm/session/run_playbook.hpp"

#include <doctest/doctest.h>

namespace {

std::string refusal(const base::Result<facts::Facts>& facts) {
  spec::Host host;
  host.name = "two";
  facts::Census census;
  census.emplace("two", facts);
  const auto lost = session::are_lost({host}, census);
  if (lost) return "";
  CHECK(lost.error().fault == base::Fault::blocked);
  return lost.error().what;
}

facts::Facts facts_of(bool admin_conf) {
  facts::Facts facts;
  facts.kubernetes.admin_conf = admin_conf;
  return facts;
}

}  // namespace

TEST_CASE("a lost host is one without a connection, or one that has ceased to be a control-plane node") {
  CHECK(refusal(base::fail(base::Fault::unreachable, "two: no route to host")).empty());
  CHECK(refusal(facts_of(false)).empty());
  CHECK(refusal(facts_of(true)) == "two is not lost: it answers, and is a control-plane node");
  for (const base::Fault fault : {base::Fault::auth, base::Fault::host_key, base::Fault::timeout,
                                  base::Fault::remote, base::Fault::parse})
    CHECK(refusal(base::fail(fault, "two: why")) == "two may not be lost: two: why");
}
