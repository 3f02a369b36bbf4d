#include "gpuadm/session/run_playbook.hpp"

namespace session {

Result<bool> confirmed(const std::string& question, const Io& io) {
  const std::optional<bool> yes = io.confirm ? io.confirm(question) : std::nullopt;
  if (yes) return *yes;
  return base::fail(base::Fault::usage, "no terminal to ask for confirmation",
                    "use -y to confirm, or --dry-run to preview");
}

}  // namespace session
