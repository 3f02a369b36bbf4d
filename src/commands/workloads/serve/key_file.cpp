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
                        const std::filesystem::path& key_file, const ServedApi& api) {
  const std::string file = key_file.string();
  const std::string key =
      api.no_key.empty() ? fmt::format("  key: {}\n", base::printable(file))
                         : fmt::format("  key: none, so everyone who reaches the address can use it ({})\n",
                                       base::printable(api.no_key, 300));
  if (api.api != "openai")
    return fmt::format("  address: http://{}{}\n", address, api.api == "kserve" ? "/v2 (KServe)" : "") + key;
  const std::string header =
      api.no_key.empty()
          ? fmt::format("printf 'Authorization: Bearer %s' \"$(cat {})\" | curl -H @-", base::quote(file))
          : "curl";
  return fmt::format(
      "  address: http://{0}/v1, model {1}\n{2}"
      "  {3} http://{0}/v1/models\n"
      "  OpenAI's client: base_url http://{0}/v1, and {4} as api_key\n",
      address, service.name, key, header, api.no_key.empty() ? "the content of the key file" : "any word");
}

}  // namespace commands
