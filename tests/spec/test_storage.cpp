#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/storage.hpp"

#include <doctest/doctest.h>

namespace {

constexpr const char* cluster_head =
    "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nhosts: [{ name: one }]  # the first\n";

spec::Storage nfs(const std::string& name) {
  spec::Storage storage;
  storage.name = name;
  storage.kind = spec::StorageKind::nfs;
  storage.server = "nas.lab";
  storage.exported = "/export/ml";
  return storage;
}

}  // namespace

TEST_CASE("storage: mount points are outside of the folders that a reset deletes") {
  spec::Storage storage = nfs("my-data");
  CHECK(spec::place_of(storage) == "/srv/gpuadm/my-data");
  CHECK(spec::marker_of(storage) == "/srv/gpuadm/my-data/gpuadm-my-data");
  CHECK(spec::source_of(storage) == "nas.lab:/export/ml");
  storage.server = "fd00::5";
  CHECK(spec::source_of(storage) == "[fd00::5]:/export/ml");
  storage.kind = spec::StorageKind::cephfs;
  storage.monitors = {"10.0.0.1", "10.0.0.2:6789"};
  CHECK(spec::source_of(storage) == "10.0.0.1,10.0.0.2:6789:/");
  storage.kind = spec::StorageKind::path;
  storage.path = "/mnt/home";
  CHECK(spec::marker_of(storage) == "/mnt/home/gpuadm-my-data");
}

TEST_CASE("storage: a local one is on its host only") {
  spec::Storage storage;
  storage.kind = spec::StorageKind::local;
  storage.host = "one";
  spec::Host one, two;
  one.name = "one";
  two.name = "two";
  CHECK(spec::is_on(storage, one));
  CHECK_FALSE(spec::is_on(storage, two));
}

TEST_CASE("storage: it is appended to a cluster file, and the rest of the text stays") {
  const auto first = spec::with_storage(cluster_head, "c.yaml", nfs("data"));
  REQUIRE_MESSAGE(first, first.error().what);
  CHECK(*first ==
        std::string(cluster_head) +
            "storage:\n  - name: data\n    kind: nfs\n    server: nas.lab\n    export: /export/ml\n");
  const auto second = spec::with_storage(*first + "# the end\n", "c.yaml", nfs("more"));
  REQUIRE_MESSAGE(second, second.error().what);
  CHECK(*second ==
        *first + "  - name: more\n    kind: nfs\n    server: nas.lab\n    export: /export/ml\n# the end\n");
  const auto back = spec::without_storage(*second, "c.yaml", "data");
  REQUIRE_MESSAGE(back, back.error().what);
  CHECK(*back == std::string(cluster_head) +
                     "storage:\n  - name: more\n    kind: nfs\n    server: nas.lab\n    export: "
                     "/export/ml\n# the end\n");
  const auto none = spec::without_storage(*back, "c.yaml", "more");
  REQUIRE_MESSAGE(none, none.error().what);
  CHECK(*none == std::string(cluster_head) + "# the end\n");
}

TEST_CASE("storage: it is added between other sections, with the indentation of the list") {
  const std::string text =
      "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nstorage:\n- { name: a, kind: path, path: /mnt/a }  # "
      "old\n\n"
      "# hosts\nhosts:\n- name: one\n";
  const auto added = spec::with_storage(text, "c.yaml", nfs("data"));
  REQUIRE_MESSAGE(added, added.error().what);
  CHECK(
      *added ==
      "apiVersion: gpuadm/v1alpha1\nkind: GpuCluster\nstorage:\n- { name: a, kind: path, path: /mnt/a }  # "
      "old\n"
      "- name: data\n  kind: nfs\n  server: nas.lab\n  export: /export/ml\n\n# hosts\nhosts:\n- name: one\n");
}

TEST_CASE("storage: a list that cannot be extended as text is refused with the lines to add") {
  const std::string text = std::string(cluster_head) + "storage: [{ name: a, kind: path, path: /mnt/a }]\n";
  const auto added = spec::with_storage(text, "c.yaml", nfs("data"));
  REQUIRE_FALSE(added);
  CHECK(added.error().hint.find("  - name: data\n    kind: nfs\n") != std::string::npos);
  CHECK_FALSE(spec::without_storage(text, "c.yaml", "a"));
  const auto taken = spec::with_storage(text, "c.yaml", nfs("a"));
  REQUIRE_FALSE(taken);
  CHECK(taken.error().what == "c.yaml already has a storage named a");
}

TEST_CASE("storage: the command line's values are validated like those of a file") {
  using base::Tree;
  const auto missing =
      spec::read_storage(Tree::map_of({{"name", "data"}, {"kind", "nfs"}, {"server", "nas"}}));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().fault == base::Fault::usage);
  CHECK(missing.error().what == "export: missing for kind nfs");
  const auto good = spec::read_storage(
      Tree::map_of({{"name", "data"}, {"kind", "local"}, {"host", "gpu1"}, {"path", "/data"}}));
  REQUIRE_MESSAGE(good, good.error().what);
  CHECK(good->host == "gpu1");
}

TEST_CASE("storage: the key of CephFS is read from a line or from a keyring, and is in no message") {
  const std::string key = "AQDLvb1nAAAAABAA000000000000000000000w==";
  CHECK(spec::ceph_key_in(key + "\n", "f").value() == key);
  CHECK(spec::ceph_key_in("[client.ml]\n\tkey = " + key + "\n\tcaps mds = \"allow rw\"\n", "f").value() ==
        key);
  const auto two = spec::ceph_key_in("[client.a]\nkey = " + key + "\n[client.b]\nkey = " + key + "\n", "f");
  REQUIRE_FALSE(two);
  CHECK(two.error().what == "f contains 2 keys of Ceph; one is needed");
  CHECK_FALSE(spec::ceph_key_in("not a key", "f"));
}

TEST_CASE("storage: its key is not part of a cluster file") {
  spec::Storage storage;
  storage.kind = spec::StorageKind::cephfs;
  storage.key = base::Secret("AQDLvb1nAAAAABAA000000000000000000000w==");
  CHECK(base::yaml::write(spec::to_tree(storage)).find("AQDL") == std::string::npos);
}
