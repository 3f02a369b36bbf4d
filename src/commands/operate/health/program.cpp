#include "commands/operate/health/program.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

namespace commands {

Result<bundle::Bundle> own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || !std::filesystem::is_regular_file(path, error))
    return base::fail(base::Fault::usage, "the file of this program was replaced or deleted while it runs",
                      "run the same command again");
  bundle::BundleFile file{.path = path.filename().string(),
                          .kind = bundle::BundleKind::binary,
                          .target = "/usr/local/libexec/gpuadm/gpuadm",
                          .mode = "0755"};
  file.sha256 = TRY(base::sha256_of_file(path));
  bundle::Bundle bundle;
  bundle.directory = path.parent_path();
  bundle.files.push_back(std::move(file));
  return bundle;
}

Result<std::map<std::string, std::string>> nodes_by_host(const spec::Cluster& cluster,
                                                         const facts::Census& census,
                                                         const playbook::Library& library) {
  std::map<std::string, std::string> nodes;
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    if (!playbook::is_node(*facts->second))
      return base::fail(base::Fault::usage,
                        fmt::format("{} is not a node of a cluster", base::printable(host.name)),
                        "create a cluster with gpuadm init, or extend one with gpuadm join");
    const spec::Decisions none;
    const playbook::Context context{cluster,           none,    host, *facts->second,
                                    library.catalog(), nullptr, {},   &census};
    nodes[host.name] = playbook::variable("node_name", context).value_or(host.name);
  }
  return nodes;
}

}  // namespace commands
