#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

/// kubeadm's own gates: cmd/kubeadm/app/features/features.go. Before `since` and from `removed` on it does
/// not know them, and stops; 0: always.
struct KubeadmGate {
  std::string_view name;
  int since, removed;
};
constexpr std::array kubeadm_gates = {
    KubeadmGate{"IPv6DualStack", 0, 25},
    KubeadmGate{"PublicKeysECDSA", 19, 0},
    KubeadmGate{"RootlessControlPlane", 22, 0},
    KubeadmGate{"UnversionedKubeletConfigMap", 22, 26},
    KubeadmGate{"EtcdLearnerMode", 27, 33},
    KubeadmGate{"UpgradeAddonsBeforeControlPlane", 28, 31},
    KubeadmGate{"WaitForAllControlPlaneComponents", 30, 0},
    KubeadmGate{"ControlPlaneKubeletLocalMode", 31, 36},
    KubeadmGate{"NodeLocalCRISocket", 32, 0},
};

void kubeadm_feature_gates(const Subject& s, Verdicts& out) {
  const base::Tree* gates = s.cluster.patches.cluster_configuration.find("featureGates");
  if (!gates || gates->entries().empty()) return out.pass("no feature gates of kubeadm are set");
  if (!s.kubernetes) return out.unknown("the Kubernetes version is not known");
  const std::string remedy = "remove it from patches.clusterConfiguration.featureGates in the cluster file";
  for (const auto& [name, value] : gates->entries()) {
    const auto gate = std::ranges::find(kubeadm_gates, name, &KubeadmGate::name);
    if (gate == kubeadm_gates.end() && s.data.gates.contains(name))
      out.fail(Severity::blocker, fmt::format("{} is a feature gate of Kubernetes and not of kubeadm", name),
               "kubeadm stops with an unrecognized feature gate",
               "move it to featureGates in the cluster file");
    else if (gate == kubeadm_gates.end())
      out.fail(Severity::warning, fmt::format("gpuadm knows no feature gate {} of kubeadm", name),
               "kubeadm stops with an unrecognized feature gate", "kubeadm init --help lists them");
    else if (kubernetes_before(s, gate->since))
      out.fail(Severity::blocker,
               fmt::format("kubeadm's feature gate {} needs Kubernetes 1.{}", name, gate->since),
               "Kubernetes " + minor_text(s), remedy);
    else if (gate->removed > 0 && kubernetes_from(s, gate->removed))
      out.fail(Severity::blocker,
               fmt::format("kubeadm's feature gate {} was removed in Kubernetes 1.{}", name, gate->removed),
               "kubeadm stops with an unrecognized feature gate", remedy);
  }
}

constexpr std::array kubeadm_gate_rows = std::to_array<Check>({
    {"kubeadm.feature-gates", "kubeadm knows its feature gates", "it stops at an unknown one", "kubeadm",
     preflight, kubeadm_feature_gates},
});

}  // namespace

std::span<const Check> kubeadm_gate_checks() {
  return kubeadm_gate_rows;
}

}  // namespace checks
