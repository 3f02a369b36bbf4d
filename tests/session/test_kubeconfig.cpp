#include "gpuadm/base/files.hpp"
#include "gpuadm/session/connections.hpp"

#include <doctest/doctest.h>

#include <stdlib.h>

#include <filesystem>

namespace {

namespace fs = std::filesystem;

/// A folder with a kubeconfig of mode 0600, as long as this exists.
struct Kubeconfig {
  Kubeconfig() {
    std::string pattern = (fs::temp_directory_path() / "gpuadm-test-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  explicit Kubeconfig(std::string_view text) : Kubeconfig() { REQUIRE(base::write_file(file(), text, 0600)); }
  ~Kubeconfig() { fs::remove_all(folder); }
  Kubeconfig(const Kubeconfig&) = delete;
  Kubeconfig& operator=(const Kubeconfig&) = delete;
  [[nodiscard]] fs::path file() const { return folder / "anna.kubeconfig"; }
  fs::path folder;
};

std::string with_context(const std::string& context) {
  return "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncurrent-context: mine\ncontexts:\n  - { "
         "name: "
         "other, context: { cluster: other, namespace: other } }\n  - { name: mine, context: " +
         context + " }\n";
}

std::string problem_of(const Kubeconfig& kubeconfig) {
  const auto ns = session::namespace_in_kubeconfig(kubeconfig.file());
  if (ns) return "";
  CHECK(ns.error().fault == base::Fault::usage);
  return ns.error().what + " / " + ns.error().hint;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the namespace of a kubeconfig is that of its current context, or default") {
  CHECK(session::namespace_in_kubeconfig(
            Kubeconfig(with_context("{ cluster: lab, user: anna, namespace: team }")).file()) == "team");
  CHECK(session::namespace_in_kubeconfig(Kubeconfig(with_context("{ cluster: lab }")).file()) == "default");
}

TEST_CASE("a kubeconfig that is missing, invalid or readable by others is refused with what to do") {
  const Kubeconfig none;
  CHECK(has(problem_of(none), "No such file"));
  CHECK(has(problem_of(none), "gpuadm user add NAME"));
  CHECK(has(problem_of(Kubeconfig("just text")), "is not a kubeconfig"));
  CHECK(has(problem_of(Kubeconfig("a: [")), "is not a kubeconfig"));
  CHECK(has(problem_of(Kubeconfig("contexts: []\n")), "has no current context"));
  CHECK(has(problem_of(Kubeconfig(with_context("{ namespace: '-A; reboot' }"))), "invalid namespace"));
  const Kubeconfig open(with_context("{ cluster: lab }"));
  fs::permissions(open.file(), fs::perms::group_read, fs::perm_options::add);
  CHECK(has(problem_of(open), "other users can read it (mode 0640)"));
  CHECK(has(problem_of(open), "chmod 600"));
}

TEST_CASE("a certificate that has ended is refused before the cluster is asked, with who renews it") {
  const Kubeconfig ended(
      base::read_file(fs::path(GPUADM_TESTS_DIR) / "cases/kubeconfig/ended.yaml", 1u << 20).value());
  CHECK(has(problem_of(ended), "ended on 2020-02-01"));
  CHECK(has(problem_of(ended), "gpuadm user kubeconfig anna --renew"));
}

TEST_CASE("with a kubeconfig the cluster is its API server, and hosts are not accepted") {
  const Kubeconfig file(with_context("{ cluster: lab, user: anna, namespace: team }"));
  session::Connection connection;
  connection.kubeconfig = file.file();
  const auto cluster = session::read_cluster({}, connection);
  REQUIRE(cluster);
  CHECK(cluster->name == "lab");
  REQUIRE(cluster->hosts.size() == 1);
  CHECK(cluster->hosts.front().endpoint.kubeconfig == file.file());
  CHECK(cluster->hosts.front().endpoint.kube_namespace == "team");
  CHECK_FALSE(session::read_cluster({.file = "cluster.yaml", .targets = {}}, connection));
  const auto both = session::read_cluster({.file = {}, .targets = {"gpu1"}}, connection);
  REQUIRE_FALSE(both);
  CHECK(both.error().fault == base::Fault::usage);
  CHECK(session::typed({}, connection) == " --kubeconfig " + file.file().string());
}

TEST_CASE("the name of a cluster in a kubeconfig becomes no path") {
  session::Connection connection;
  const Kubeconfig file(with_context("{ cluster: ../../etc }"));
  connection.kubeconfig = file.file();
  const auto cluster = session::read_cluster({}, connection);
  REQUIRE(cluster);
  CHECK(cluster->name == "kubeconfig");
}
