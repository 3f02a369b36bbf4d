#include "gpuadm/base/yaml.hpp"

#include "playbook/sample.hpp"

namespace {

spec::Storage storage(spec::StorageKind kind, const std::string& name) {
  spec::Storage one;
  one.kind = kind;
  one.name = name;
  return one;
}

bool selects(const Sample& sample, const std::string& selector) {
  playbook::Step step;
  step.on = {{selector}};
  return playbook::selected(step, sample.context());
}

}  // namespace

TEST_CASE("storage: every host gets a line for each storage that it has, and one host makes the marker") {
  Sample sample;
  CHECK_FALSE(selects(sample, "storage"));
  spec::Storage nfs = storage(spec::StorageKind::nfs, "data");
  nfs.server = "nas.lab";
  nfs.exported = "/export";
  spec::Storage local = storage(spec::StorageKind::local, "scratch");
  local.host = "another";
  local.path = "/data";
  spec::Storage ceph = storage(spec::StorageKind::cephfs, "team");
  ceph.monitors = {"10.0.0.1", "10.0.0.2"};
  ceph.user = "ml";
  ceph.options = "noatime";
  sample.cluster.storage = {nfs, local, ceph};
  CHECK(playbook::variable("storages", sample.context()) ==
        "data\tnfs\t/srv/gpuadm/data\tnas.lab:/export\t-\t-\t-\tmaker\n"
        "team\tcephfs\t/srv/gpuadm/team\t10.0.0.1,10.0.0.2\t/\tml\tnoatime\tmaker\n");
  CHECK(selects(sample, "storage"));
  CHECK(selects(sample, "storage-nfs"));
  CHECK(selects(sample, "storage-cephfs"));
  CHECK(selects(sample, "storage-shared"));
}

TEST_CASE("storage: a key that the operator has not given comes from the control plane") {
  Sample sample;
  spec::Storage ceph = storage(spec::StorageKind::cephfs, "team");
  sample.cluster.storage = {ceph};
  CHECK(selects(sample, "storage-key-left"));
  sample.cluster.storage[0].key = base::Secret("AQDL");
  CHECK_FALSE(selects(sample, "storage-key-left"));
  CHECK(playbook::variable("storage_keys", sample.context()) == "team AQDL\n");
}

TEST_CASE("storage: the default StorageClass is in a folder of one host") {
  Sample sample;
  CHECK_FALSE(selects(sample, "default-class"));
  spec::Storage local = storage(spec::StorageKind::local, "scratch");
  local.host = sample.cluster.hosts.front().name;
  local.path = "/data";
  local.default_class = true;
  sample.cluster.storage = {local};
  CHECK(selects(sample, "default-class"));
  CHECK(selects(sample, "default-class-here"));
  base::Variables values;
  for (const char* name :
       {"default_class_node", "default_class_folder", "local_path_image", "local_path_helper_image"})
    values[name] = playbook::variable(name, sample.context()).value();
  const std::string text =
      playbook::fill(sample.store.read("templates/local-path.yaml").value(), values, {}, "t").value();
  CHECK(base::yaml::read_all(text, "local-path.yaml"));
  CHECK(text.find(R"({ "node": "box", "paths": ["/data/gpuadm-scratch/volumes"] })") != std::string::npos);
}

TEST_CASE("storage: the stored cluster file has it, without the file of its key") {
  Sample sample;
  spec::Storage ceph = storage(spec::StorageKind::cephfs, "team");
  ceph.monitors = {"10.0.0.1"};
  ceph.user = "ml";
  ceph.key_file = "/home/me/ml.key";
  ceph.key = base::Secret("AQDLsecret");
  sample.cluster.storage = {ceph};
  const auto files = playbook::compose("cluster-file", sample.context());
  REQUIRE(files);
  const std::string text = files->front().content;
  CHECK(text.find("name: team") != std::string::npos);
  CHECK(text.find("ml.key") == std::string::npos);
  CHECK(text.find("AQDL") == std::string::npos);
}
