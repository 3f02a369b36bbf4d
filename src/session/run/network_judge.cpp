#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/findings.hpp"
#include "gpuadm/session/pod_tests.hpp"

#include "session/run/pod_test_manifests.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace session {

namespace {

constexpr const char* image_file = "proof-image.tar";
constexpr std::size_t most_shown = 4;

}  // namespace

Result<ProofImage> ProofImage::write(const assets::Store& assets, const RunFolder& folder) {
  const std::string bytes = TRY(assets.read("proof/image.tar"));
  bundle::Bundle bundle;
  bundle::BundleFile file{.path = image_file, .kind = bundle::BundleKind::image, .name = proof_image};
  file.sha256 = base::sha256(bytes);
  bundle.directory = folder.path();
  bundle.files.push_back(std::move(file));
  TRY(folder.save_text(image_file, bytes));
  return ProofImage(std::move(bundle));
}

ProofImage::ProofImage(ProofImage&& other) noexcept : bundle_(std::exchange(other.bundle_, {})) {}

ProofImage::~ProofImage() {
  std::error_code ignored;
  for (const bundle::BundleFile& file : bundle_.files)
    std::filesystem::remove(bundle_.directory / file.path, ignored);
}

std::optional<base::Error> NetworkJudge::operator()(const std::string& judge, const std::string& host,
                                                    const std::string& output) {
  if (judge == "pod-routes") {
    facts::PodRoutes routes = facts::parse_pod_routes(output);
    hosts_[routes.node] = host;
    routes_.push_back(std::move(routes));
    return std::nullopt;
  }
  if (judge != "pod-network")
    return base::Error{base::Fault::bug, fmt::format("unknown test: '{}'", judge), ""};
  if (base::trim(output).empty()) return std::nullopt;
  proof_ = facts::parse_network_proof(output);
  if (!proof_.complete)
    return base::Error{base::Fault::remote, "the result of the network test is incomplete",
                       "gpuadm verify --only network,dns"};
  return on_ == On::failure_fails ? error() : std::nullopt;
}

report::Finding NetworkJudge::finding(checks::Link link, const checks::GpuNode& node) const {
  return checks::examine_network(link, node, {proof_, routes_});
}

std::optional<base::Error> NetworkJudge::error() const {
  std::vector<report::Finding> open;
  for (const auto link : {checks::Link::network, checks::Link::dns})
    for (const facts::NetworkNode& node : proof_.nodes) {
      const auto host = hosts_.find(node.name);
      checks::GpuNode on{.host = host == hosts_.end() ? node.name : host->second, .node = node.name};
      report::Finding found = finding(link, on);
      const bool reported =
          std::ranges::any_of(open, [&](const report::Finding& other) { return other.host == found.host; });
      if (report::is_open(found) && !reported) open.push_back(std::move(found));
    }
  if (open.empty()) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < std::min(open.size(), most_shown); ++i) {
    if (i > 0) text += "\n";
    text += open[i].message + (open[i].evidence.empty() ? "" : "\nseen: " + open[i].evidence);
  }
  if (open.size() > most_shown) text += fmt::format("\nand on {} more nodes", open.size() - most_shown);
  return base::Error{base::Fault::remote, text, open.front().remedy};
}

}  // namespace session
