#include "gpuadm/base/text.hpp"

#include "facts/read.hpp"
#include "facts/tree/tree.hpp"

/// The list of subjects: how each is read, and where it is in the JSON. The functions are in the files of the
/// subjects.
namespace facts {

using Reader = void(const Sections&, Facts&);
Reader read_software, read_os, read_machine, read_clock, read_kernel, read_kernel_state, read_kernel_log,
    read_security, read_storage, read_network, read_rdma, read_runtimes, read_toolkit, read_kubernetes,
    read_pod_states, read_gpus, read_fabric, read_allocations, read_unread;

Tree machine_tree(const Facts&);
Tree os_tree(const Facts&);
Tree kernel_tree(const Facts&);
Tree software_tree(const Facts&);
Tree runtimes_tree(const Facts&);
Tree storage_tree(const Facts&);
Tree nvidia_tree(const Facts&);
Tree network_tree(const Facts&);
Tree clock_tree(const Clock&);
Tree clock_state_tree(const Clock&);
Tree disks_tree(const Storage&);
Tree mounts_tree(const Storage&);
Tree pod_states_tree(const PodStates&);
Tree kubernetes_tree(const Kubernetes&);
Tree kernel_state_tree(const Kernel&);
Tree machine_state_tree(const Machine&);
Tree security_state_tree(const Security&);
Tree rdma_tree(const Rdma&);

namespace {

/// Software is first, because others use paths, tools and units. The kernel's state uses its uptime, its log
/// also the clock; the fabric uses the GPUs. What none of them could read is last.
constexpr Reader* readers[] = {read_software, read_os,           read_machine,    read_clock,
                               read_kernel,   read_kernel_state, read_kernel_log, read_security,
                               read_storage,  read_network,      read_rdma,       read_runtimes,
                               read_toolkit,  read_kubernetes,   read_pod_states, read_gpus,
                               read_fabric,   read_allocations,  read_unread};

Tree state(const Facts& f) {
  Tree all = Tree::map_of({{"umask", f.umask}, {"neighbours", tree_of(f.network.neighbours)}});
  for (const Tree& part : {kernel_state_tree(f.kernel), clock_state_tree(f.clock),
                           machine_state_tree(f.machine), security_state_tree(f.security)})
    all.merge(part);
  return all;
}

}  // namespace

Result<Facts> parse(std::string_view probe_output) {
  const Sections sections = TRY(Sections::split(probe_output));
  Facts facts;
  facts.noise = std::string(base::trim(sections.noise));
  for (Reader* read : readers) read(sections, facts);
  return facts;
}

base::Tree to_tree(const Facts& facts) {
  Tree tree = Tree::map_of({{"machine", machine_tree(facts)},
                            {"os", os_tree(facts)},
                            {"clock", clock_tree(facts.clock)},
                            {"kernel", kernel_tree(facts)},
                            {"disks", disks_tree(facts.storage)},
                            {"mounts", mounts_tree(facts.storage)},
                            {"state", state(facts)},
                            {"storage", storage_tree(facts)},
                            {"network", network_tree(facts)},
                            {"rdma", rdma_tree(facts.rdma)},
                            {"software", software_tree(facts)},
                            {"runtimes", runtimes_tree(facts)},
                            {"kubernetes", kubernetes_tree(facts.kubernetes)},
                            {"nvidia", nvidia_tree(facts)},
                            {"gpuadmInstalled", facts.gpuadm_installed},
                            {"unread", map_of(facts.unread)},
                            {"noise", facts.noise}});
  if (facts.kubernetes.pod_states) tree.set("podStates", pod_states_tree(*facts.kubernetes.pod_states));
  return tree;
}

}  // namespace facts
