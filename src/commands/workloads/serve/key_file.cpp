#include "commands/workloads/serve/key_file.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

std::filesystem::path key_file_of(const NamedService& service, const std::string& cluster) {
  return base::state_directory() / cluster / fmt::format("serve-{}.{}.key", service.ns, service.name);
}

Result<std::filesystem::path> write_key_file(const NamedService& service, const std::string& cluster,
                                             const base::Secret& key) {
  std::filesystem::path file = key_file_of(service, cluster);
  TRY(base::write_file(file, key.reveal() + "\n", 0600));
  return file;
}

std::string usage_lines(const NamedService& service, const std::string& address,
                        const std::filesystem::path& key_file) {
  const std::string file = key_file.string(), quoted = base::quote(file);
  return fmt::format(
      "  address: http://{0}/v1, model {1}\n"
      "  key: {2}\n"
      "  curl -H \"{4}: {5} $(cat {3})\" http://{0}/v1/models\n"
      "  OpenAI's client: base_url http://{0}/v1, and the content of the key file as api_key\n",
      address, service.name, base::printable(file), quoted, "Authorization", "Bearer");
}

}  // namespace commands
