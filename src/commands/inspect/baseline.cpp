#include "commands/inspect/baseline.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"

#include <fmt/format.h>

namespace commands {

std::string finding_key(const std::string& host, const std::string& id) {
  return host + "\n" + id;
}

Result<std::set<std::string>> read_baseline(const std::filesystem::path& file) {
  constexpr const char* hint = "create one: gpuadm doctor -o json > FILE";
  const auto tree = base::json::read(TRY(base::read_file(file)), file.string());
  if (!tree) return base::fail(base::Fault::usage, "--baseline " + tree.error().what, hint);
  const base::Tree* findings = tree->find("findings");
  if (!findings || !findings->is_list())
    return base::fail(base::Fault::usage,
                      fmt::format("--baseline {}: no findings in this file", file.string()), hint);
  std::set<std::string> known;
  for (const base::Tree& finding : findings->items()) {
    const auto text = [&](const char* key) {
      const base::Tree* value = finding.find(key);
      return value ? value->text() : std::string();
    };
    if (text("result") != "pass" && text("result") != "skip")
      known.insert(finding_key(text("host"), text("id")));
  }
  return known;
}

}  // namespace commands
