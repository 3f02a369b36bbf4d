#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"

namespace facts {

Result<Facts> parse(std::string_view probe_output) {
  const Sections sections = TRY(Sections::split(probe_output));
  Facts facts;
  facts.noise = std::string(base::trim(sections.noise));
  read_software(sections, facts);
  read_os(sections, facts);
  read_machine(sections, facts);
  read_clock(sections, facts);
  read_kernel(sections, facts);
  read_kernel_state(sections, facts);
  read_kernel_log(sections, facts);
  read_security(sections, facts);
  read_storage(sections, facts);
  read_network(sections, facts);
  read_rdma(sections, facts);
  read_runtimes(sections, facts);
  read_toolkit(sections, facts);
  read_kubernetes(sections, facts);
  read_pod_states(sections, facts);
  read_gpus(sections, facts);
  read_fabric(sections, facts);
  read_unread(sections, facts);
  return facts;
}

}  // namespace facts
