#include "gpuadm/session/cluster.hpp"

#include <doctest/doctest.h>

TEST_CASE("only KIND/NAME is the name of an object in what kubectl prints") {
  using Names = std::vector<std::string>;
  CHECK(session::object_names("No resources found\n").empty());
  CHECK(session::object_names("No resources found in default namespace.\n").empty());
  CHECK(session::object_names("").empty());
  CHECK(session::object_names("job.batch/a\npod/a-0\n") == Names{"job.batch/a", "pod/a-0"});
  CHECK(session::object_names(
            "Warning: v1 is deprecated, use v2/v3\nclusterrole.rbac.authorization.k8s.io/system:x\n"
            "/\nx/\n/x\na/b/c\nWarning:a/ b\n") == Names{"clusterrole.rbac.authorization.k8s.io/system:x"});
}

TEST_CASE("a forbidden request is said in plain words, and a quota is not one") {
  CHECK(session::forbidden_request(
            "Error from server (Forbidden): nodes is forbidden: User \"gpuadm:anna:1\" cannot list resource "
            "\"nodes\" in API group \"\" at the cluster scope") == "this user may not list nodes");
  CHECK(session::forbidden_request(
            "Error from server (Forbidden): pods is forbidden: User \"anna\" cannot list resource \"pods\" "
            "in API group \"\" in the namespace \"ben\"") ==
        "this user may not list pods in the namespace ben");
  CHECK(
      session::forbidden_request("Error from server (Forbidden): pods \"two\" is forbidden: exceeded quota: "
                                 "gpuadm-user-anna, requested: requests.nvidia.com/gpu=1")
          .empty());
  for (const char* cut : {"", "User \"a\" cannot ", "User \"a\" cannot list", "\" cannot list resource \"",
                          "\" cannot list resource \"pods"})
    CHECK_MESSAGE(session::forbidden_request(cut).size() < 60, cut);
}

TEST_CASE("a request with a kubeconfig fails with what the operator can do") {
  const auto of = [](const char* message) { return session::request_error("read pods", message); };
  CHECK(of("error: You must be logged in to the server (Unauthorized)").fault == base::Fault::auth);
  CHECK(of("error: You must be logged in to the server (Unauthorized)").hint.find("--renew") !=
        std::string::npos);
  CHECK(of("Unable to connect to the server: x509: certificate signed by unknown authority").fault ==
        base::Fault::auth);
  CHECK(of("Unable to connect to the server: dial tcp 192.0.2.1:6443: i/o timeout").fault ==
        base::Fault::unreachable);
  CHECK(
      of("The connection to the server 192.0.2.1:6443 was refused - did you specify the right host or port?")
          .fault == base::Fault::unreachable);
  const auto other = of("Error from server: etcdserver: request timed out\x1b[31m");
  CHECK(other.fault == base::Fault::remote);
  CHECK(other.what.find("cannot read pods: Error from server") == 0);
  CHECK(other.what.find('\x1b') == std::string::npos);
}
