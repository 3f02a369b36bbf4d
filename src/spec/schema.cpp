#include "gpuadm/spec/schema.hpp"

#include "spec/cluster_fields.hpp"
#include "spec/formats.hpp"

namespace spec {

base::Tree schema() {
  Tree schema =
      Tree::map_of({{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "gpuadm's cluster file"},
                    {"description", fmt::format("apiVersion {}, kind GpuCluster", current_format)}});
  schema.merge(schema_of_fields("", cluster_fields()));
  schema.set("type", "object");
  schema.set("required", Tree::list_of({"apiVersion", "kind", "hosts"}));
  return schema;
}

}  // namespace spec
