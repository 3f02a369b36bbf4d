#pragma once

#include "gpuadm/facts/facts.hpp"

#include "facts/sections/sections.hpp"

/// One reader a concern: sections in, its part of the facts out. What is missing or odd is left empty.
namespace facts {

/// First: others look at paths, tools and units.
void read_software(const Sections& sections, Facts& facts);
void read_os(const Sections& sections, Facts& facts);
void read_machine(const Sections& sections, Facts& facts);
void read_clock(const Sections& sections, Facts& facts);
void read_kernel(const Sections& sections, Facts& facts);
/// Processes and memory. After read_kernel: looks at the uptime.
void read_kernel_state(const Sections& sections, Facts& facts);
/// The log, and the Xids and SXids in it. After read_clock and read_kernel.
void read_kernel_log(const Sections& sections, Facts& facts);
void read_security(const Sections& sections, Facts& facts);
void read_storage(const Sections& sections, Facts& facts);
void read_network(const Sections& sections, Facts& facts);
void read_rdma(const Sections& sections, Facts& facts);
void read_runtimes(const Sections& sections, Facts& facts);
void read_toolkit(const Sections& sections, Facts& facts);
void read_kubernetes(const Sections& sections, Facts& facts);
/// What a node says of its containers and its kubelet, where it was asked for it.
void read_pod_states(const Sections& sections, Facts& facts);
void read_gpus(const Sections& sections, Facts& facts);
/// After read_gpus: NVLink and topology of the GPUs, NVSwitches and who manages them.
void read_fabric(const Sections& sections, Facts& facts);

/// Last: what could not be read, by itself and beside what was.
void read_unread(const Sections& sections, Facts& facts);

/// Whether timeout(1) ended the program (coreutils, `timeout --help`), or a signal in its stead.
[[nodiscard]] bool was_stopped(int status);

}  // namespace facts
