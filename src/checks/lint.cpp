#include "checks/lint.hpp"

#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace checks {

namespace {

using base::Version;

/// The oldest minor version for which kubelet-flags.csv is complete.
constexpr Version oldest_flags{1, 20, -1};

template <class Map>
std::string suggestion(const std::string& name, const Map& known, std::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& [key, value] : known) names.push_back(key);
  const auto near = base::nearest(name, names);
  return near ? fmt::format("did you mean {}{}?", prefix, *near) : fmt::format("remove {}{}", prefix, name);
}

bool reached(const std::optional<Version>& since, const Version& kubernetes) {
  return since && kubernetes >= *since;
}

LintProblem removed_gate(const std::string& name, const Gate& gate, const std::string& minor) {
  LintProblem problem{
      Severity::blocker,
      fmt::format("the feature gate {} was removed in Kubernetes {}", name, gate.removed->text()),
      fmt::format("a kubelet of {} does not start with it", minor), "remove it from featureGates"};
  if (name == "Accelerators")
    problem.message +=
        ": it made GPUs available to Docker containers before device plugins, which are on by default since "
        "1.10";
  else if (gate.stable)
    problem.message += ": its feature is always on";
  return problem;
}

std::vector<LintProblem> lint_gate(const std::string& name, bool value, const Version& kubernetes,
                                   const Data& data) {
  // Names for all gates of a stage, which every component has: component-base/featuregate/feature_gate.go.
  if (name == "AllAlpha" || name == "AllBeta") return {};
  const std::string minor = kubernetes.minor_text();
  const auto place = data.gates.find(name);
  if (place == data.gates.end()) {
    const bool newer = kubernetes.minor > newest_complete(data.minors).minor;
    return {{newer ? Severity::warning : Severity::blocker,
             fmt::format("{} is not a known feature gate", name),
             newer ? fmt::format("all gates up to Kubernetes {} are known",
                                 newest_complete(data.minors).minor_text())
                   : fmt::format("a kubelet of {} does not start with it", minor),
             suggestion(name, data.gates, "")}};
  }
  const Gate& gate = place->second;
  if (const auto first = gate.first(); first && kubernetes < *first)
    return {{Severity::blocker,
             fmt::format("the feature gate {} needs Kubernetes {} or newer", name, first->text()),
             fmt::format("a kubelet of {} does not start with it", minor),
             fmt::format("remove it from featureGates, or use Kubernetes {} or newer", first->text())}};
  if (reached(gate.removed, kubernetes)) return {removed_gate(name, gate, minor)};
  const bool usual = reached(gate.on, kubernetes);
  if (reached(gate.locked, kubernetes) && value != usual)
    return {{Severity::blocker, fmt::format("the feature gate {} can no longer be set to {}", name, value),
             fmt::format("it is locked to {} since Kubernetes {}", usual, gate.locked->text()),
             "remove it from featureGates"}};
  if (value == usual)
    return {{Severity::note,
             fmt::format("the feature gate {} is {} in Kubernetes {} by default", name, usual ? "on" : "off",
                         minor),
             fmt::format("{}={}", name, value), "remove it from featureGates"}};
  if (reached(gate.deprecated, kubernetes))
    return {
        {Severity::warning,
         fmt::format("the feature gate {} is deprecated since Kubernetes {}", name, gate.deprecated->text()),
         fmt::format("{}={}", name, value), "remove it from featureGates before Kubernetes removes it"}};
  return {};
}

/// "--feature-gates=A=true,B=false"
std::map<std::string, bool> gates_in(std::string_view value) {
  std::map<std::string, bool> gates;
  for (const std::string_view item : base::split(value, ','))
    if (const std::size_t equals = item.find('='); equals != std::string_view::npos)
      gates.emplace(base::trim(item.substr(0, equals)),
                    base::lower(base::trim(item.substr(equals + 1))) == "true");
  return gates;
}

std::vector<LintProblem> lint_flag(const std::string& name, const Version& kubernetes, const Data& data) {
  const std::string minor = kubernetes.minor_text();
  const auto place = data.flags.find(name);
  if (place == data.flags.end()) {
    const bool certain = kubernetes >= oldest_flags && kubernetes.minor <= newest_complete(data.minors).minor;
    return {{certain ? Severity::blocker : Severity::warning,
             fmt::format("--{} is not a known kubelet flag", name),
             certain ? fmt::format("a kubelet of {} does not start with it", minor)
                     : fmt::format("all flags of Kubernetes 1.20 to {} are known",
                                   newest_complete(data.minors).minor_text()),
             suggestion(name, data.flags, "--")}};
  }
  const Flag& flag = place->second;
  const std::string note = flag.note.empty() ? "" : ": " + flag.note;
  if (flag.since && kubernetes < *flag.since)
    return {{Severity::blocker,
             fmt::format("the kubelet flag --{} needs Kubernetes {} or newer", name, flag.since->text()),
             fmt::format("a kubelet of {} does not start with it", minor), fmt::format("remove --{}", name)}};
  if (reached(flag.removed, kubernetes))
    return {{Severity::blocker,
             fmt::format("the kubelet flag --{} was removed in Kubernetes {}{}", name, flag.removed->text(),
                         note),
             fmt::format("a kubelet of {} does not start with it", minor), fmt::format("remove --{}", name)}};
  return {};
}

}  // namespace

std::vector<LintProblem> lint_gates(const std::map<std::string, bool>& gates, const Version& kubernetes,
                                    const Data& data) {
  std::vector<LintProblem> all;
  for (const auto& [name, value] : gates)
    std::ranges::move(lint_gate(name, value, kubernetes, data), std::back_inserter(all));
  return all;
}

std::vector<LintProblem> lint_flags(const std::vector<std::string>& flags, const Version& kubernetes,
                                    const Data& data) {
  std::vector<LintProblem> all;
  for (const std::string& flag : flags) {
    const std::size_t start = flag.find_first_not_of('-');
    if (start != 2 || start == std::string::npos) {
      all.push_back({Severity::blocker, fmt::format("'{}' is not a kubelet flag", flag),
                     "flags begin with two dashes", "write it as --flag=value"});
      continue;
    }
    const std::size_t equals = flag.find('=');
    const std::string name =
        base::replace_all(flag.substr(2, equals == std::string::npos ? equals : equals - 2), "_", "-");
    std::ranges::move(lint_flag(name, kubernetes, data), std::back_inserter(all));
    if (name == "feature-gates" && equals != std::string::npos)
      std::ranges::move(lint_gates(gates_in(std::string_view(flag).substr(equals + 1)), kubernetes, data),
                        std::back_inserter(all));
  }
  return all;
}

std::vector<LintProblem> lint_models(const spec::Cluster& cluster, const Data& data) {
  std::vector<LintProblem> all;
  std::vector<std::string> names;
  for (const auto& [device, model] : data.gpus) names.push_back(model.name);
  for (const auto& [model, overrides] : cluster.gpu.models) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return spec::is_model(model, name); }))
      continue;
    const auto near = base::nearest(model.starts_with("NVIDIA ") ? model : "NVIDIA " + model, names);
    all.push_back({Severity::blocker, fmt::format("{} is not a known GPU model", model),
                   fmt::format("gpu.models, line {}, column {}", overrides.mark.line, overrides.mark.column),
                   near ? fmt::format("did you mean {}?", *near)
                        : "write it as nvidia-smi --query-gpu=name --format=csv prints it"});
  }
  return all;
}

std::optional<LintProblem> lint_newer(const base::Version& kubernetes, const Data& data) {
  const Version newest = data.minors.rbegin()->first;
  if (kubernetes.major == newest.major && kubernetes.minor <= newest.minor) return std::nullopt;
  return LintProblem{Severity::blocker,
                     fmt::format("Kubernetes {} is not known to this gpuadm", kubernetes.minor_text()),
                     fmt::format("the newest known version is {}", newest.minor_text()),
                     fmt::format("use a newer gpuadm, or --kubernetes-version {}", newest.minor_text())};
}

std::optional<LintProblem> lint_dra(const base::Version& kubernetes) {
  if (kubernetes >= Version{1, 34, kubernetes.patch < 0 ? -1 : 2}) return std::nullopt;
  return LintProblem{Severity::blocker, "NVIDIA's DRA driver needs Kubernetes 1.34.2 or newer",
                     "Kubernetes " + kubernetes.text(),
                     "use Kubernetes 1.34.2 or newer, or gpu: { allocator: devicePlugin }"};
}

namespace {

/// Settings that exclude versions of Kubernetes, with the check that reports the same on a host.
void lint_version(const spec::Cluster& cluster, const base::Version& kubernetes, const Data& data,
                  std::vector<report::Finding>& findings, base::SharedTexts& texts) {
  if (cluster.runtime.engine == spec::Engine::docker && kubernetes >= Version{1, 24, -1})
    Verdicts("rt.docker.cri-dockerd", {}, findings, texts)
        .fail(Severity::warning,
              fmt::format("Kubernetes {} needs cri-dockerd to use Docker", kubernetes.minor_text()),
              "runtime.engine is docker",
              "set runtime.engine to containerd (Docker includes it), or install cri-dockerd on every host");
  if (const auto problem = lint_dra(kubernetes); problem && cluster.gpu.allocator == spec::Allocator::dra)
    Verdicts("gpu.dra.versions", {}, findings, texts)
        .fail(problem->severity, problem->message, problem->evidence, problem->remedy);
  Verdicts gates("kubelet.feature-gates", {}, findings, texts);
  if (kubernetes < oldest_flags)
    gates.unknown(fmt::format(
        "gpuadm installs Kubernetes {} and newer; feature gates and kubelet flags of {} are not known",
        oldest_flags.minor_text(), kubernetes.minor_text()));
  else if (const auto problem = lint_newer(kubernetes, data))
    gates.fail(problem->severity, problem->message, problem->evidence, problem->remedy);
  else if (kubernetes.minor > newest_complete(data.minors).minor)
    gates.unknown(fmt::format("not all feature gates and kubelet flags of Kubernetes {} are known",
                              kubernetes.minor_text()));
}

}  // namespace

std::vector<report::Finding> lint(const spec::Cluster& cluster, const base::Version& kubernetes,
                                  const Data& data) {
  std::vector<report::Finding> findings;
  base::SharedTexts texts;
  lint_version(cluster, kubernetes, data, findings, texts);
  Verdicts gates("kubelet.feature-gates", {}, findings, texts),
      flags("kubelet.unknown-flags", {}, findings, texts),
      models("gpu.layout.models-known", {}, findings, texts);
  for (const LintProblem& c : lint_gates(cluster.feature_gates, kubernetes, data))
    gates.fail(c.severity, c.message, c.evidence, c.remedy);
  for (const LintProblem& c : lint_flags(cluster.kubelet_extra_args, kubernetes, data))
    flags.fail(c.severity, c.message, c.evidence, c.remedy);
  for (const LintProblem& c : lint_models(cluster, data))
    models.fail(c.severity, c.message, c.evidence, c.remedy);
  return findings;
}

}  // namespace checks
