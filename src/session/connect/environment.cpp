#include "gpuadm/base/files.hpp"
#include "gpuadm/base/secret_file.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

base::Result<> resolve_environment(spec::Cluster& cluster, const assets::Store& assets) {
  if (!cluster.region.empty()) {
    const std::string text = TRY(assets.read("data/regions.yaml"));
    TRY(spec::apply_region(TRY(base::yaml::read(text, "data/regions.yaml")), cluster));
  }
  spec::Proxy& proxy = cluster.proxy;
  if (proxy.login_file.empty() || !proxy.login.empty()) return {};
  const std::filesystem::path file = proxy.login_file.starts_with("~/")
                                         ? base::home() / proxy.login_file.substr(2)
                                         : std::filesystem::path(proxy.login_file);
  auto login = base::read_secret_file(file);
  if (!login)
    return base::fail(login.error().fault, "proxy.loginFile: " + login.error().what, login.error().hint);
  const std::string& text = login->reveal();
  const bool plain =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
  if (text.find(':') == std::string::npos || text.starts_with(':') || !plain)
    return base::fail(base::Fault::usage,
                      fmt::format("proxy.loginFile: {} contains no USER:PASSWORD", file.string()),
                      "write one line: the user, a colon, the password");
  proxy.login = std::move(*login);
  return {};
}

}  // namespace session
