#include "gpuadm/spec/schema.hpp"

#include "spec/cluster_fields.hpp"

namespace spec {

base::Tree schema() {
  Tree schema = Tree::map_of({{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                              {"title", "gpuadm's cluster file"},
                              {"description", "apiVersion gpuadm/v1alpha1, kind GpuCluster"}});
  schema.merge(schema_of_fields("", cluster_fields()));
  schema.set("type", "object");
  schema.set("required", Tree::list_of({"apiVersion", "kind", "hosts"}));
  return schema;
}

}  // namespace spec
