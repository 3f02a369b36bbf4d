#pragma once

#include "gpuadm/facts/facts.hpp"

#include "facts/sections/sections.hpp"

/// One reader per subject: sections in, its part of the facts out. Missing or invalid parts are left empty.
namespace facts {

/// First: other readers use paths, tools and units.
void read_software(const Sections& sections, Facts& facts);
void read_os(const Sections& sections, Facts& facts);
void read_machine(const Sections& sections, Facts& facts);
void read_clock(const Sections& sections, Facts& facts);
void read_kernel(const Sections& sections, Facts& facts);
/// Processes and memory. After read_kernel: uses the uptime.
void read_kernel_state(const Sections& sections, Facts& facts);
/// The kernel log, with its Xids and SXids. After read_clock and read_kernel.
void read_kernel_log(const Sections& sections, Facts& facts);
void read_security(const Sections& sections, Facts& facts);
void read_storage(const Sections& sections, Facts& facts);
void read_network(const Sections& sections, Facts& facts);
void read_rdma(const Sections& sections, Facts& facts);
void read_runtimes(const Sections& sections, Facts& facts);
void read_toolkit(const Sections& sections, Facts& facts);
void read_kubernetes(const Sections& sections, Facts& facts);
/// The node's report about its containers and its kubelet, if requested.
void read_pod_states(const Sections& sections, Facts& facts);
void read_gpus(const Sections& sections, Facts& facts);
/// After read_gpus: NVLink and topology of the GPUs, NVSwitches and their managers.
void read_fabric(const Sections& sections, Facts& facts);

/// Last: the unread sections.
void read_unread(const Sections& sections, Facts& facts);

/// Whether timeout(1) ended the program (coreutils, `timeout --help`), or a signal did.
[[nodiscard]] bool was_stopped(int status);

}  // namespace facts
