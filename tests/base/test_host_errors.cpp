#include "gpuadm/base/host_errors.hpp"

#include <doctest/doctest.h>

#include <vector>

using base::Error;
using base::Fault;

TEST_CASE("host errors: a single error is unchanged") {
  const std::vector<Error> one = {{Fault::auth, "cp1: login refused", "ssh cp1"}};
  CHECK(joined(one).what == "cp1: login refused");
  CHECK(joined(one).hint == "ssh cp1");
}

TEST_CASE("host errors: every host is named, with the hint that all have in common") {
  const std::vector<Error> two = {{Fault::unreachable, "cp1: no address", "check the name"},
                                  {Fault::unreachable, "gpu1: no address", "check the name"}};
  const Error all = base::joined(two);
  CHECK(all.fault == Fault::unreachable);
  CHECK(all.what == "2 hosts are unreachable:\n  cp1: no address\n  gpu1: no address");
  CHECK(all.hint == "check the name");
}

TEST_CASE("host errors: different hints follow their hosts, and ten hosts are shown") {
  std::vector<Error> many = {{Fault::unreachable, "cp1: no address", "check the name"}};
  for (int i = 1; i <= 11; ++i) many.push_back({Fault::remote, "gpu: status 1", ""});
  const Error all = base::joined(many);
  CHECK(all.what.starts_with("12 hosts failed:\n  cp1: no address\n    check the name\n  gpu: status 1\n"));
  CHECK(all.what.ends_with("\n  and 2 more"));
  CHECK(all.hint.empty());
}

TEST_CASE("host errors: the host is removed only where it begins the message") {
  CHECK(base::without_host("cp1: no address", "cp1") == "no address");
  CHECK(base::without_host("cp10: no address", "cp1") == "cp10: no address");
  CHECK(base::without_host("no address", "cp1") == "no address");
}
