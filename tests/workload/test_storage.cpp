#include "gpuadm/base/json.hpp"
#include "gpuadm/workload/storage.hpp"
#include "gpuadm/workload/train_volume.hpp"

#include <doctest/doctest.h>

namespace {

using base::Tree;

spec::Storage storage(spec::StorageKind kind) {
  spec::Storage one;
  one.name = "data";
  one.kind = kind;
  one.path = "/mnt/data";
  return one;
}

std::vector<Tree> objects(const char* json) {
  return base::json::read(json, "test").value().items();
}

}  // namespace

TEST_CASE(
    "a claim of shared storage is a hostPath below the marker, which an unmounted share does not have") {
  const workload::StorageClaim claim{"models", "team", "10Gi", {}};
  const auto made = workload::objects_of(storage(spec::StorageKind::nfs), claim, {});
  REQUIRE(made.size() == 2);
  CHECK(text_at(made[0], {"kind"}) == "PersistentVolume");
  CHECK(text_at(made[0], {"metadata", "name"}) == "gpuadm-data.team.models");
  CHECK(text_at(made[0], {"spec", "hostPath", "path"}) == "/srv/gpuadm/data/gpuadm-data/claims/team/models");
  CHECK(text_at(made[0], {"spec", "hostPath", "type"}) == "Directory");
  CHECK(text_at(made[0], {"spec", "persistentVolumeReclaimPolicy"}) == "Retain");
  CHECK(made[0].at({"spec", "accessModes"})->items().front().text() == "ReadWriteMany");
  CHECK_FALSE(made[0].at({"spec", "nodeAffinity"}));
  CHECK(text_at(made[1], {"kind"}) == "PersistentVolumeClaim");
  CHECK(text_at(made[1], {"metadata", "namespace"}) == "team");
  CHECK(text_at(made[1], {"spec", "volumeName"}) == "gpuadm-data.team.models");
  REQUIRE(made[1].at({"spec", "storageClassName"}));
  CHECK(made[1].at({"spec", "storageClassName"})->text().empty());
  for (const Tree& object : made) {
    CHECK(text_at(object, {"metadata", "labels", "app.kubernetes.io/managed-by"}) == "gpuadm");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/kind"}) == "storage-claim");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/name"}) == "models");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/storage"}) == "data");
  }
}

TEST_CASE("a claim of local storage is for pods on its node only") {
  const auto made =
      workload::objects_of(storage(spec::StorageKind::local), {"a", "default", "1G", {}}, "gpu1");
  CHECK(made[0].at({"spec", "accessModes"})->items().front().text() == "ReadWriteOnce");
  CHECK(text_at(made[0], {"spec", "hostPath", "path"}) == "/mnt/data/gpuadm-data/claims/default/a");
  const std::string affinity = base::json::write(*made[0].at({"spec", "nodeAffinity"}), 0);
  CHECK(affinity.find("kubernetes.io/hostname") != std::string::npos);
  CHECK(affinity.find("gpu1") != std::string::npos);
}

TEST_CASE("invalid claims are refused") {
  CHECK(workload::check_claim({"models", "default", "10Gi", "1000:100"}));
  CHECK_FALSE(workload::check_claim({"../x", "default", "10Gi", {}}));
  CHECK_FALSE(workload::check_claim({"models", "../x", "10Gi", {}}));
  CHECK_FALSE(workload::check_claim({"models", "default", "ten", {}}));
  CHECK_FALSE(workload::check_claim({"models", "default", "10Gi", "anna"}));
  CHECK_FALSE(workload::check_claim({"models", "default", "10Gi", "1:2:3"}));
  CHECK(workload::mode_of({"a", "b", "1G", {}}) == "0777");
  CHECK(workload::mode_of({"a", "b", "1G", "1:1"}) == "0770");
}

TEST_CASE("claims and their pods are found by labels and volumes") {
  const auto claims = workload::claims_in(objects(R"([
    {"kind": "PersistentVolumeClaim",
     "metadata": {"name": "a", "namespace": "n", "labels": {"gpuadm.io/storage": "data"}},
     "spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}},
    {"kind": "PersistentVolumeClaim", "metadata": {"name": "b", "namespace": "n"}}])"));
  REQUIRE(claims.size() == 1);
  CHECK(claims[0].full() == "n/a");
  CHECK(claims[0].storage == "data");
  const auto pods = objects(R"([
    {"metadata": {"name": "uses", "namespace": "n"}, "status": {"phase": "Running"},
     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}},
    {"metadata": {"name": "ended", "namespace": "n"}, "status": {"phase": "Succeeded"},
     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}},
    {"metadata": {"name": "elsewhere", "namespace": "m"}, "status": {"phase": "Running"},
     "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "a"}}]}}])");
  CHECK(workload::pods_with(pods, claims[0]) == std::vector<std::string>{"n/uses"});
}

TEST_CASE("the node of a host is found by name or address, and nodes without a host by their machine id") {
  const auto nodes = objects(R"([
    {"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "h1"}},
     "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}], "nodeInfo": {"machineID": "m1"}}},
    {"metadata": {"name": "gpu2", "labels": {"kubernetes.io/hostname": "gpu2"}},
     "status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}], "nodeInfo": {"machineID": "m2"}}}])");
  spec::Host host;
  host.name = "first";
  host.endpoint.address = "10.0.0.1";
  CHECK(workload::node_label_of(host, nodes) == "h1");
  host.name = "GPU2";
  host.endpoint.address = "gpu2.lab";
  CHECK(workload::node_label_of(host, nodes) == "gpu2");
  host.name = "three";
  CHECK_FALSE(workload::node_label_of(host, nodes));
  CHECK(workload::nodes_without({"m1"}, nodes) == std::vector<std::string>{"gpu2"});
}

TEST_CASE("the claim of a workload has the workload's labels, and the storage's") {
  workload::TrainJob job;
  job.name = "mnist";
  job.ns = "team";
  const auto made =
      workload::objects_of(storage(spec::StorageKind::nfs), workload::claim_of_job(job, "5Gi"), {});
  CHECK(text_at(made[0], {"metadata", "name"}) == "gpuadm-data.team.mnist");
  for (const Tree& object : made) {
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/kind"}) == "train");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/name"}) == "mnist");
    CHECK(text_at(object, {"metadata", "labels", "gpuadm.io/storage"}) == "data");
  }
  CHECK(workload::check_earlier_claim(made[1], job, "data"));
  CHECK_FALSE(workload::check_earlier_claim(made[1], job, "other"));
  job.name = "another";
  CHECK_FALSE(workload::check_earlier_claim(made[1], job, "data"));
}

TEST_CASE("ranks on several nodes need a claim that all of them can mount, and mount it") {
  workload::TrainJob job;
  job.name = "mnist";
  job.roles.push_back({});
  job.roles.front().pod =
      workload::pod_of({.image = "a:1", .command = {"x"}, .volumes = {{"fast", "/data"}, {"kept", "/kept"}}});
  CHECK(workload::claim_of_job(job, "5Gi", "fast").at({"spec", "accessModes"})->items().front().text() ==
        "ReadWriteOnce");
  job.roles.front().replicas = 2;
  CHECK(workload::claim_of_job(job, "5Gi", "fast").at({"spec", "accessModes"})->items().front().text() ==
        "ReadWriteMany");
  workload::mount_claim_of_job(job, "fast");
  const auto& volumes = job.roles.front().pod.find("volumes")->items();
  CHECK(text_at(volumes[0], {"persistentVolumeClaim", "claimName"}) == "mnist");
  CHECK(text_at(volumes[1], {"persistentVolumeClaim", "claimName"}) == "kept");
}

TEST_CASE("a name after --storage is a claim, or with a size a storage or a StorageClass") {
  using workload::VolumeKind;
  using workload::VolumeSize;
  const workload::VolumeNames names{{"models", "data"}, {"data", "both"}, {"local-path", "both"}};
  const auto kind = [&](const char* name, VolumeSize size) {
    return workload::volume_kind(name, size, names, "team");
  };
  CHECK(kind("models", VolumeSize::missing).value() == VolumeKind::claim);
  CHECK(kind("data", VolumeSize::missing).value() == VolumeKind::claim);
  CHECK(kind("data", VolumeSize::given).value() == VolumeKind::storage);
  CHECK(kind("local-path", VolumeSize::given).value() == VolumeKind::storage_class);
  CHECK(kind("models", VolumeSize::given).value() == VolumeKind::claim);
  const auto message = [&](const char* name, VolumeSize size, const char* words) {
    const auto found = kind(name, size);
    REQUIRE_FALSE(found);
    CHECK(found.error().fault == base::Fault::blocked);
    CHECK_MESSAGE((found.error().what + found.error().hint).find(words) != std::string::npos,
                  found.error().what);
  };
  message("local-path", VolumeSize::missing, "--size 10Gi");
  message("both", VolumeSize::missing, "both is a storage, and the size");
  message("both", VolumeSize::given, "both is a storage and also a StorageClass");
  for (const VolumeSize size : {VolumeSize::missing, VolumeSize::given})
    message("nothing", size,
            "nothing is neither a PersistentVolumeClaim nor a storage nor a StorageClass (claims in team: "
            "models, data; "
            "storages: data, both; StorageClasses: local-path, both)");
}
