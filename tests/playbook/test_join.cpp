#include "gpuadm/base/files.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/plan/plan.hpp"

#include "playbook/sample.hpp"

#include <algorithm>

namespace {

/// A cluster of one control plane and two workers, of which the first hosts are nodes already.
struct Machines {
  Sample sample;
  spec::Cluster cluster;
  facts::Census census;

  explicit Machines(int planes, std::size_t nodes = 0) {
    cluster = sample.cluster;
    cluster.hosts.clear();
    for (const char* name : {"a", "b", "c"}) {
      spec::Host host;
      host.name = name;
      host.endpoint.address = name;
      host.role = planes-- > 0 ? spec::Role::control_plane : spec::Role::worker;
      facts::Facts facts = sample.facts;
      facts.machine.hostname = name;
      facts.kubernetes.kubelet_conf = cluster.hosts.size() < nodes;
      facts.kubernetes.admin_conf = facts.kubernetes.kubelet_conf && host.role == spec::Role::control_plane;
      cluster.hosts.push_back(host);
      census.emplace(name, facts);
    }
    cluster.kubernetes.version = sample.kubernetes;
    cluster.kubernetes.source = spec::Source::installed;
    for (auto& [name, facts] : census) facts->kubernetes.kubeadm = "v1.20.2";
  }
  [[nodiscard]] plan::Plan plan(const char* playbook) const {
    const playbook::Library library = *playbook::Library::load(sample.store, playbook);
    auto made = plan::make(cluster, {}, census, library, nullptr, {{}, {"health"}});
    REQUIRE_MESSAGE(made, made.error().what);
    return *made;
  }
  /// As a step on the first host reads it.
  [[nodiscard]] std::string variable(const char* name) const {
    const playbook::Library library = *playbook::Library::load(sample.store, "init");
    return playbook::variable(name, {cluster,
                                     {},
                                     cluster.hosts[0],
                                     *census.at("a"),
                                     library.catalog(),
                                     nullptr,
                                     sample.kubernetes,
                                     &census})
        .value_or("none");
  }
  /// The hosts that have a step, in order.
  [[nodiscard]] std::string who(const plan::Plan& plan, const std::string& step) const {
    std::string hosts;
    for (const plan::Stage& stage : plan.stages)
      for (const plan::Walk& walk : stage.walks)
        for (const plan::Action& action : walk.actions)
          if (action.id == step) hosts += walk.host;
    return hosts;
  }
};

}  // namespace

TEST_CASE("join: the first control plane begins, the others join, control planes one at a time") {
  const Machines machines(2);
  const plan::Plan plan = machines.plan("init");
  CHECK(machines.who(plan, "kube.init") == "a");
  CHECK(machines.who(plan, "kube.join.control-plane") == "b");
  CHECK(machines.who(plan, "kube.join") == "c");
  CHECK(machines.who(plan, "kube.token") == "a");
  CHECK(machines.who(plan, "kube.certificate-key") == "a");
  CHECK(machines.who(plan, "kube.labels") == "a");
  CHECK(plan.vital == std::set<std::string>{"a", "b"});
  const auto stage = std::ranges::find(plan.stages, "kube/join-control-plane", &plan::Stage::name);
  REQUIRE(stage != plan.stages.end());
  CHECK(stage->at_once == 1);
}

TEST_CASE("join: one host needs no token, and nobody one that has joined") {
  Machines alone(1);
  alone.cluster.hosts.resize(1);
  CHECK(alone.who(alone.plan("init"), "kube.token").empty());
  const Machines done(1, 3);
  const plan::Plan plan = done.plan("init");
  CHECK(done.who(plan, "kube.token").empty());
  CHECK(done.who(plan, "kube.join").empty());
}

TEST_CASE("join: one that was cut off is done again") {
  Machines machines(1, 3);
  machines.census.at("c")->software.paths["/var/lib/gpuadm/joining"] = "file";
  const plan::Plan plan = machines.plan("init");
  CHECK(machines.who(plan, "kube.join") == "c");
  CHECK(machines.who(plan, "kube.token") == "a");
}

TEST_CASE("join: a fresh host that stands first in the file does not begin a second cluster") {
  Machines machines(3, 3);
  machines.census.at("a")->kubernetes.kubelet_conf = false;
  machines.census.at("a")->kubernetes.admin_conf = false;
  const plan::Plan plan = machines.plan("init");
  CHECK(machines.who(plan, "kube.init") == "b");
  CHECK(machines.who(plan, "kube.join.control-plane") == "a");
  CHECK(machines.who(plan, "kube.token") == "b");
}

TEST_CASE("join: nodes that are there are not prepared again") {
  const Machines machines(1, 2);
  const plan::Plan plan = machines.plan("join");
  CHECK(machines.who(plan, "kube.present") == "c");
  CHECK(machines.who(plan, "kube.join") == "c");
  CHECK(machines.who(plan, "verify.node") == "abc");
}

TEST_CASE("join: kubeadm's configuration has nothing secret in it") {
  const Sample sample;
  const auto text = playbook::variable("join_configuration", sample.context());
  REQUIRE(text);
  const base::Tree tree = *base::yaml::read(*text, "join");
  CHECK(tree.at({"kind"})->text() == "JoinConfiguration");
  CHECK(tree.at({"nodeRegistration", "name"})->text() == "box");
  CHECK(tree.find("discovery") == nullptr);
}

TEST_CASE("join: of which control planes etcd may still have members") {
  const Machines machines(3, 1);
  CHECK(machines.variable("joining_control_planes") == "192.0.2.11\n192.0.2.11\n");
}

TEST_CASE(
    "join: the virtual address comes up before the first control plane, and stands ready on all of them") {
  Machines machines(3);
  CHECK(machines.who(machines.plan("init"), "kube.vip").empty());
  machines.cluster.control_plane.virtual_address = "192.0.2.99";
  for (auto& [name, facts] : machines.census)
    facts->network.all_addresses = {{"lo", "127.0.0.1/8", false}, {"eno1", "192.0.2.11/24", true}};
  const plan::Plan fresh = machines.plan("init");
  CHECK(machines.who(fresh, "kube.vip.first") == "a");
  CHECK(machines.who(fresh, "kube.vip") == "abc");
  CHECK(machines.variable("virtual_interface") == "eno1");
  CHECK(machines.variable("virtual_address") == "192.0.2.99");
  machines.census.at("a")->kubernetes.kubelet_conf = machines.census.at("a")->kubernetes.admin_conf = true;
  CHECK(machines.who(machines.plan("init"), "kube.vip.first").empty());
  CHECK(machines.who(machines.plan("join"), "kube.vip") == "abc");
}

TEST_CASE("join: a node keeps the name that it joined with") {
  Machines machines(1, 1);
  machines.census.at("a")->kubernetes.kubelet_flags = "--v=2 --hostname-override=former";
  CHECK(machines.variable("node_name") == "former");
  machines.census.at("a")->kubernetes.kubelet_flags = "--hostname-override=;reboot";
  CHECK(machines.variable("node_name") == "a");
  machines.census.at("a")->kubernetes.kubelet_flags = "--hostname-override=former";
  machines.census.at("a")->kubernetes.kubelet_conf = false;
  CHECK(machines.variable("node_name") == "a");
}

TEST_CASE("join: labels of the cluster file go with the names of nodes") {
  Machines machines(1);
  machines.cluster.hosts[1].labels = {{"disk", "ssd"}, {"example.com/empty", ""}};
  CHECK(machines.variable("cluster_labels") == "b disk=ssd\nb example.com/empty=\n");
}

TEST_CASE("network: the first node's part of the pod network") {
  Sample sample;
  for (const auto& [all, first] : {std::pair{"10.244.0.0/16", "10.244.0.0/24"},
                                   {"10.9.8.0/24", "10.9.8.0/24"},
                                   {"10.9.8.0/26", "10.9.8.0/26"}}) {
    sample.cluster.network.pod_cidr = all;
    CHECK(playbook::variable("first_node_cidr", sample.context()) == first);
  }
}

TEST_CASE("join: its phases are those of init, in the same order, and prepare only hosts that join") {
  const assets::Store store = *assets::Store::open({});
  const playbook::Library init = *playbook::Library::load(store, "init");
  const playbook::Library join = *playbook::Library::load(store, "join");
  CHECK(join.playbook().id == "join");
  auto next = init.playbook().phases.begin();
  for (const playbook::Phase& phase : join.playbook().phases) {
    next = std::find_if(next, init.playbook().phases.end(),
                        [&](const playbook::Phase& one) { return one.name == phase.name; });
    REQUIRE_MESSAGE(next != init.playbook().phases.end(), phase.name);
    CHECK(next->steps.size() == phase.steps.size());
  }
  for (const char* name : {"network/host", "network/vip", "kube/init", "kube/untaint"})
    CHECK(std::ranges::none_of(join.playbook().phases,
                               [&](const playbook::Phase& phase) { return phase.name == name; }));
  const Machines machines(1, 2);
  CHECK(machines.who(machines.plan("join"), "os.swap.off").find('a') == std::string::npos);
  // The stored cluster file is that of the control plane; one that joins gets it.
  CHECK(machines.who(machines.plan("join"), "kube.config").empty());
}

TEST_CASE("playbook: a selector can be negated, and one that does not exist is refused where it is named") {
  const assets::Store store = *assets::Store::open({});
  const auto file = std::filesystem::temp_directory_path() / fmt::format("gpuadm-not-{}.yaml", ::getpid());
  const auto load = [&](const std::string& on) {
    REQUIRE(base::write_file(file,
                             "id: x\ntitle: X\nphases:\n  - phase: a\n    title: A\n    on: " + on +
                                 "\n    steps:\n      - { id: s, title: S, shell: { check: \"true\" } }\n"));
    return playbook::Library::load_file(store, file);
  };
  Sample sample;
  const auto holds = [&](const std::string& on) {
    const auto library = load(on);
    REQUIRE_MESSAGE(library, on);
    return playbook::selected(library->playbook().phases.front().steps.front(), sample.context());
  };
  CHECK(holds("gpu"));
  CHECK_FALSE(holds("{ not: gpu }"));
  CHECK(holds("[gpu, not: docker]"));
  CHECK_FALSE(holds("[gpu, not: containerd]"));
  const auto refused = load("[gpu, not: dokcer]");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("did you mean 'docker'?") != std::string::npos);
  CHECK(refused.error().what.find(":6:") != std::string::npos);
  std::filesystem::remove(file);
}
