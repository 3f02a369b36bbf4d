#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/cluster.hpp"

#include <doctest/doctest.h>

namespace {

constexpr std::string_view admin_conf = R"(apiVersion: v1
clusters:
- cluster: {certificate-authority-data: Q0E=, server: https://192.0.2.1:6443}
  name: kubernetes
contexts:
- context: {cluster: kubernetes, user: kubernetes-admin}
  name: kubernetes-admin@kubernetes
current-context: kubernetes-admin@kubernetes
kind: Config
preferences: {}
users:
- name: kubernetes-admin
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
)";

constexpr std::string_view others = R"(apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster: {server: https://prod.example:6443}
users:
- name: me
  user: {token: 0123}
contexts:
- name: prod
  context: {cluster: prod, user: me, namespace: web}
current-context: prod
)";

base::Tree read(std::string_view text) {
  return base::yaml::read(text, "test").value();
}

base::Tree lab(base::Tree config, session::Current current = session::Current::becomes) {
  return session::with_context(std::move(config), read(admin_conf), "lab", current).value();
}

}  // namespace

TEST_CASE("a kubeconfig that is not there yet has the cluster's context and no other") {
  const base::Tree made = lab({});
  CHECK(made.find("current-context")->text() == "lab");
  CHECK(made.find("contexts")->items().size() == 1);
  CHECK(made.find("users")->items()[0].find("name")->text() == "lab-admin");
  CHECK(made.find("users")->items()[0].at({"user", "client-key-data"})->text() == "S0VZ");
  CHECK(made.find("clusters")->items()[0].at({"cluster", "server"})->text() == "https://192.0.2.1:6443");
}

TEST_CASE("contexts of others stay as they are, and so does the current one where that is asked") {
  const base::Tree made = lab(read(others), session::Current::stays);
  CHECK(made.find("current-context")->text() == "prod");
  CHECK(made.find("contexts")->items().size() == 2);
  CHECK(made.find("contexts")->items()[0] == read(others).find("contexts")->items()[0]);
  CHECK(base::yaml::write(made).find("token: 0123") != std::string::npos);
}

TEST_CASE("twice is once, and what the operator set in our context stays") {
  base::Tree once = lab(read(others));
  CHECK(lab(once) == once);
  CHECK(read(base::yaml::write(once)) == once);
  once.find("contexts")->items()[1].find("context")->set("namespace", "train");
  CHECK(lab(once) == once);
  once.find("clusters")->items()[1].find("cluster")->set("server", "https://192.0.2.99:6443");
  CHECK(lab(once).find("clusters")->items()[1].at({"cluster", "server"})->text() == "https://192.0.2.1:6443");
}

TEST_CASE("a name of another program's context, cluster or user is not used") {
  for (const char* text : {"contexts: [{name: lab, context: {cluster: prod, user: me}}]",
                           "clusters: [{name: lab, cluster: {server: \"https://prod:6443\"}}]",
                           "users: [{name: lab-admin, user: {}}]"}) {
    const auto made = session::with_context(read(text), read(admin_conf), "lab", session::Current::becomes);
    REQUIRE(!made);
    CHECK(made.error().fault == base::Fault::usage);
    CHECK(made.error().hint.find("--context") != std::string::npos);
  }
}

TEST_CASE("an invalid kubeconfig is rejected, an empty list is not") {
  for (const char* text : {"[1, 2]", "contexts: {a: b}"}) {
    const auto made = session::with_context(read(text), read(admin_conf), "lab", session::Current::becomes);
    REQUIRE(!made);
    CHECK(made.error().fault == base::Fault::usage);
  }
  CHECK(!session::with_context({}, read("kind: Config"), "lab", session::Current::becomes));
  CHECK(session::with_context(read("contexts: null\nusers: []"), read(admin_conf), "lab",
                              session::Current::becomes));
}

TEST_CASE("a kubeconfig from another machine adds no program and no proxy to the operator's") {
  base::Tree admin = read(admin_conf);
  base::Tree& user = *admin.find("users")->items()[0].find("user");
  user.set("exec", read("{ command: /bin/sh, args: [-c, id] }"));
  admin.find("clusters")->items()[0].find("cluster")->set("proxy-url", "http://192.0.2.9");
  const base::Tree made = session::with_context({}, admin, "lab", session::Current::becomes).value();
  CHECK(made.find("users")->items()[0].find("user")->find("exec") == nullptr);
  CHECK(made.find("users")->items()[0].at({"user", "client-certificate-data"})->text() == "Q0VSVA==");
  CHECK(made.find("clusters")->items()[0].find("cluster")->find("proxy-url") == nullptr);
}
