#include "gpuadm/workload/objects.hpp"

#include <doctest/doctest.h>

TEST_CASE("a name must be a DNS label that leaves space for suffixes") {
  CHECK(workload::check_name("notebook", "anna-2"));
  for (const char* bad : {"", "Anna", "a_b", "-a", "a-", "a.b", "ä", "a b"})
    CHECK_MESSAGE(!workload::check_name("notebook", bad), bad);
  CHECK(!workload::check_name("notebook", std::string(51, 'a')));
  const auto error = workload::check_name("notebook", "Anna");
  CHECK(error.error().what == "invalid name of a notebook: Anna: 'A' is not allowed");
}

TEST_CASE("the selector of all workloads needs the label of a kind") {
  CHECK(workload::selector_of("notebook", "anna") ==
        "app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind=notebook,gpuadm.io/name=anna");
  CHECK(workload::selector_of("") == "app.kubernetes.io/managed-by=gpuadm,gpuadm.io/kind");
}

TEST_CASE("quantities are those of Kubernetes") {
  CHECK(*workload::bytes_of("--size", "10Gi") == 10LL << 30);
  CHECK(*workload::bytes_of("--size", "500M") == 500'000'000);
  CHECK(*workload::bytes_of("--size", "1.5Ki") == 1536);
  CHECK(*workload::millicpus_of("--cpus", "0.5") == 500);
  CHECK(*workload::millicpus_of("--cpus", "500m") == 500);
  for (const char* bad : {"", "0", "-1", "10GB", "ten", "1e3", "nan", "inf", "Gi", "9999999999Pi"})
    CHECK_MESSAGE(!workload::bytes_of("--size", bad), bad);
}
