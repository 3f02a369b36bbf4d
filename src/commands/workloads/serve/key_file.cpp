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
                        const std::filesystem::path& key_file, ServedApi api) {
  const std::string file = key_file.string();
  if (api == ServedApi::unknown)
    return fmt::format("  address: http://{}\n  key: {}\n", address, base::printable(file));
  return fmt::format(
      "  address: http://{0}/v1, model {1}\n"
      "  key: {2}\n"
      "  printf 'Authorization: Bearer %s' \"$(cat {3})\" | curl -H @- http://{0}/v1/models\n"
      "  OpenAI's client: base_url http://{0}/v1, and the content of the key file as api_key\n",
      address, service.name, base::printable(file), base::quote(file));
}

}  // namespace commands
