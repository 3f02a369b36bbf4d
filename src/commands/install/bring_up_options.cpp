#include "gpuadm/base/text.hpp"

#include "commands/install/bring_up.hpp"

#include <fmt/format.h>

namespace commands {

void add_bring_up(Line& line, InitOptions& options) {
  line.flag("--list-phases", options.list_phases, "List the phases in order and exit");
  line.list("--phases", options.phases, "A,B", "Run only these phases");
  line.list("--skip-phases", options.skip_phases, "A,B", "Skip these phases");
  line.list("--ignore", options.ignore, "ID,...", "Treat these blockers as warnings");
  add_consent(line, options.consent);
  add_reboots(line, options.reboots);
  add_waiting(line, options.waiting);
  line.flag("--change-network", options.change_network,
            "Confirm a change of the pod network of a running cluster, which -y does not");
  add_bundle_source(line, options.bundle, options.bundle_signers);
  line.value("--kubernetes-version", options.kubernetes_version, "VERSION",
             "Kubernetes version, for example 1.34 or 1.34.2");
  line.value("--region", options.region, "REGION", "Use the mirrors of this region, for example cn");
  line.value("--profile", options.profile, "standard|hardened",
             "standard: kubeadm's defaults; hardened: also what the CIS benchmark requires")
      .one_of({"standard", "hardened"});
  line.value("--driver", options.driver, "use|install[=BRANCH]",
             "NVIDIA driver: use the installed one, or install one (of this branch)");
  add_format(line, options.format);
}

Result<> ask_for_driver(const std::string& asked, spec::Gpu& gpu) {
  if (asked.empty()) return {};
  const std::string_view text = asked;
  const std::string_view word = text.substr(0, text.find('='));
  const auto branch =
      word.size() == text.size() ? std::optional<long long>(0) : base::to_int(text.substr(word.size() + 1));
  if ((word != "use" && word != "install") || !branch || *branch < 0 || *branch > 9999 ||
      (word == "use" && word.size() != text.size()))
    return base::fail(base::Fault::usage,
                      fmt::format("invalid --driver {}: expected use, install or install=BRANCH",
                                  base::printable(asked, 50)),
                      "for example: --driver install, or --driver install=580");
  gpu.driver = word == "use" ? spec::DriverPolicy::use : spec::DriverPolicy::install;
  gpu.driver_branch = static_cast<int>(*branch);
  return {};
}

Result<> apply_options(const InitOptions& options, spec::Cluster& cluster) {
  if (!options.kubernetes_version.empty()) {
    cluster.kubernetes.version =
        TRY(spec::parse_kubernetes_version(options.kubernetes_version, "--kubernetes-version"));
  }
  TRY(ask_for_driver(options.driver, cluster.gpu));
  if (!options.profile.empty())
    cluster.security.profile =
        options.profile == "hardened" ? spec::SecurityProfile::hardened : spec::SecurityProfile::standard;
  if (!options.region.empty()) cluster.region = options.region;
  if (!options.bundle.empty()) cluster.kubernetes.source = spec::Source::bundle;
  if (cluster.kubernetes.source == spec::Source::bundle && options.bundle.empty())
    return base::fail(base::Fault::usage, "kubernetes.source is 'bundle', but no bundle is given",
                      "add --bundle DIR");
  return {};
}

}  // namespace commands
