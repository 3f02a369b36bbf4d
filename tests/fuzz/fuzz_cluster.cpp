// The operator's cluster file; one that is read and written again is read as the same.
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/spec/cluster.hpp"

#include "target.hpp"

#include <cstdlib>

void try_input(std::string_view input) {
  const auto cluster = spec::parse(input, "input");
  if (!cluster) return;
  const std::string written = base::yaml::write(spec::to_tree(*cluster));
  const auto again = spec::parse(written, "again");
  if (!again || base::yaml::write(spec::to_tree(*again)) != written) std::abort();
}
