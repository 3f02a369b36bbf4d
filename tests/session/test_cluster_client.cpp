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
