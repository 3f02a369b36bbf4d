#include "transport/ssh/state.hpp"

#include <fmt/format.h>
#include <libssh2.h>

#include <stdlib.h>

#include <filesystem>

namespace transport {

SshState::SshState(Session& session) : configs(session.options.ssh_config), keys(session) {
  ::libssh2_init(0);
}
SshState::~SshState() {
  ::libssh2_exit();
  std::error_code ignored;
  if (!control_folder_.empty()) std::filesystem::remove_all(control_folder_, ignored);
}

std::string SshState::new_control_path() {
  if (control_folder_.empty()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "gpuadm-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) return "none";
    control_folder_ = pattern;
  }
  return fmt::format("{}/{}", control_folder_, ++controls_);
}

}  // namespace transport
