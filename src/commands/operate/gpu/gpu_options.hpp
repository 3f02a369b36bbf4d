#pragma once

#include "commands/shared_options.hpp"

#include <string>

/// Options of commands that change the GPUs of one host.
namespace commands {

/// `HOST`
inline void add_gpu_host(Line& line, std::string& host) {
  line.argument("HOST", host, "Host of the cluster file, or [user@]host").required();
}

/// `GPU`
inline void add_one_gpu(Line& line, std::string& gpu) {
  line.argument("GPU", gpu, "Index, UUID or PCI address of the GPU").required();
}

/// What every such command ends with.
template <class Options>
void add_gpu_change(Line& line, Options& options) {
  add_file(line, options.file);
  add_consent(line, options.consent);
  add_format(line, options.format);
  add_connection(line, options.common);
}

}  // namespace commands
