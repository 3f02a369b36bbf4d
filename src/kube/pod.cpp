#include "gpuadm/kube/pod.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/base/time.hpp"
#include "gpuadm/kube/quantity.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube {

namespace {

using base::Tree;

const Tree& tree_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  static const Tree none;
  const Tree* value = tree.at(path);
  return value ? *value : none;
}

int number_at(const Tree& tree, std::initializer_list<std::string_view> path) {
  return static_cast<int>(base::to_int(text_at(tree, path)).value_or(0));
}

bool is_true(const Tree& tree, std::initializer_list<std::string_view> path) {
  return text_at(tree, path) == "true";
}

std::map<std::string, std::string> texts(const Tree& tree) {
  std::map<std::string, std::string> map;
  for (const auto& [key, value] : tree.entries()) map.insert_or_assign(key, value.text());
  return map;
}

ContainerState read_state(const Tree& state) {
  ContainerState read;
  if (state.entries().empty()) return read;
  const auto& [kind, value] = state.entries().front();
  read.kind = kind;
  read.reason = text_at(value, {"reason"});
  read.message = text_at(value, {"message"});
  read.exit_code = number_at(value, {"exitCode"});
  read.signal = number_at(value, {"signal"});
  read.started = base::parse_time(text_at(value, {"startedAt"}));
  read.finished = base::parse_time(text_at(value, {"finishedAt"}));
  return read;
}

std::string read_target(const Tree& check) {
  if (const Tree* get = check.find("httpGet"))
    return fmt::format("GET :{}{}", text_at(*get, {"port"}), text_at(*get, {"path"}));
  if (const Tree* tcp = check.find("tcpSocket")) return "TCP :" + text_at(*tcp, {"port"});
  if (const Tree* grpc = check.find("grpc")) return "gRPC :" + text_at(*grpc, {"port"});
  std::vector<std::string> words;
  for (const Tree& word : tree_at(check, {"exec", "command"}).items()) words.push_back(word.text());
  return "exec " + base::join(words, " ");
}

Probe read_probe(const Tree& tree) {
  if (!tree.is_map()) return {};
  Probe probe{.target = read_target(tree)};
  const auto number = [&](const char* key, double fallback) {
    return static_cast<double>(base::to_int(text_at(tree, {key})).value_or(static_cast<long long>(fallback)));
  };
  probe.delay = number("initialDelaySeconds", probe.delay);
  probe.period = number("periodSeconds", probe.period);
  probe.timeout = number("timeoutSeconds", probe.timeout);
  probe.failures = static_cast<int>(number("failureThreshold", probe.failures));
  return probe;
}

/// "configmap/name" and "secret/name" of the environment, except optional ones.
std::vector<std::string> read_configurations(const Tree& container) {
  std::vector<std::string> found;
  const auto add = [&](const Tree* reference, const char* kind) {
    if (!reference || is_true(*reference, {"optional"})) return;
    std::string name = std::string(kind) + "/" + text_at(*reference, {"name"});
    if (std::ranges::find(found, name) == found.end()) found.push_back(std::move(name));
  };
  for (const Tree& one : tree_at(container, {"env"}).items()) {
    add(one.at({"valueFrom", "configMapKeyRef"}), "configmap");
    add(one.at({"valueFrom", "secretKeyRef"}), "secret");
  }
  for (const Tree& one : tree_at(container, {"envFrom"}).items()) {
    add(one.find("configMapRef"), "configmap");
    add(one.find("secretRef"), "secret");
  }
  return found;
}

/// A status without a container in the specification is kept, too.
void read_statuses(const Tree& statuses, bool is_init, std::vector<Container>& containers) {
  for (const Tree& status : statuses.items()) {
    const std::string name = text_at(status, {"name"});
    auto place = std::ranges::find_if(containers, [&](const Container& one) {
      return one.is_init == is_init && one.name == name && !one.has_status;
    });
    if (place == containers.end()) {
      containers.emplace_back().name = name;
      place = containers.end() - 1;
      place->is_init = is_init;
    }
    if (place->image.empty()) place->image = text_at(status, {"image"});
    place->has_status = true;
    place->ready = is_true(status, {"ready"});
    place->is_started = is_true(status, {"started"});
    place->restarts = number_at(status, {"restartCount"});
    place->state = read_state(tree_at(status, {"state"}));
    place->last = read_state(tree_at(status, {"lastState"}));
  }
}

void read_containers(const Tree& pod, Pod& read) {
  const auto add = [&](const char* list, const char* statuses, bool is_init) {
    for (const Tree& one : tree_at(pod, {"spec", list}).items()) {
      Container container;
      container.name = text_at(one, {"name"});
      container.image = text_at(one, {"image"});
      container.is_init = is_init;
      container.restarts_always = is_init && text_at(one, {"restartPolicy"}) == "Always";
      if (const Tree& command = tree_at(one, {"command"}); !command.items().empty())
        container.command = command.items().front().text();
      else if (const Tree& args = tree_at(one, {"args"}); !args.items().empty())
        container.command = args.items().front().text();
      container.limits = amounts_of(tree_at(one, {"resources", "limits"}));
      container.requests = amounts_of(tree_at(one, {"resources", "requests"}));
      for (const Tree& mount : tree_at(one, {"volumeMounts"}).items())
        container.mounts.push_back(
            {text_at(mount, {"name"}), text_at(mount, {"mountPath"}), is_true(mount, {"readOnly"})});
      container.configurations = read_configurations(one);
      container.liveness = read_probe(tree_at(one, {"livenessProbe"}));
      container.readiness = read_probe(tree_at(one, {"readinessProbe"}));
      container.startup = read_probe(tree_at(one, {"startupProbe"}));
      read.containers.push_back(std::move(container));
    }
    read_statuses(tree_at(pod, {"status", statuses}), is_init, read.containers);
  };
  add("initContainers", "initContainerStatuses", true);
  add("containers", "containerStatuses", false);
}

PodVolume read_volume(const Tree& volume) {
  PodVolume read;
  read.name = text_at(volume, {"name"});
  for (const auto& [key, value] : volume.entries()) {
    if (key == "name" || !value.is_map()) continue;
    read.kind = key;
    if (key == "hostPath") {
      read.source = text_at(value, {"path"});
      read.type = text_at(value, {"type"});
    } else if (key == "nfs") {
      read.source = text_at(value, {"server"}) + ":" + text_at(value, {"path"});
    } else if (key == "persistentVolumeClaim") {
      read.source = text_at(value, {"claimName"});
    } else if (key == "secret") {
      read.source = text_at(value, {"secretName"});
    } else if (key == "configMap") {
      read.source = text_at(value, {"name"});
    } else if (key == "emptyDir") {
      read.type = text_at(value, {"medium"});
      read.limit = parse_quantity(text_at(value, {"sizeLimit"}));
    } else if (key == "csi") {
      read.source = text_at(value, {"driver"});
    } else if (key == "image") {
      read.source = text_at(value, {"reference"});
    }
  }
  return read;
}

/// The ResourceClaims: by name, or created from a template under a name in the status.
void read_resource_claims(const Tree& pod, Pod& read) {
  for (const Tree& one : tree_at(pod, {"spec", "resourceClaims"}).items()) {
    std::string name = text_at(one, {"resourceClaimName"});
    if (name.empty()) name = text_at(one, {"source", "resourceClaimName"});
    for (const Tree& status : tree_at(pod, {"status", "resourceClaimStatuses"}).items())
      if (name.empty() && text_at(status, {"name"}) == text_at(one, {"name"}))
        name = text_at(status, {"resourceClaimName"});
    read.claims.push_back(std::move(name));
    read.claim_templates.push_back(text_at(one, {"resourceClaimTemplateName"}));
  }
}

/// The scheduler counts the sum of the containers and sidecars, or the largest init container if that is
/// more.
Amounts requests_of(const Pod& pod, const Tree& overhead) {
  Amounts sum, most;
  for (const Container& container : pod.containers) {
    for (const auto& [resource, amount] : container.requests) {
      if (!container.is_init || container.restarts_always)
        sum[resource] += amount;
      else
        most[resource] = std::max(most[resource], amount);
    }
  }
  for (const auto& [resource, amount] : most) sum[resource] = std::max(sum[resource], amount);
  for (const auto& [resource, amount] : amounts_of(overhead)) sum[resource] += amount;
  return sum;
}

}  // namespace

std::vector<NodeTerm> read_node_terms(const Tree& terms) {
  std::vector<NodeTerm> read;
  for (const Tree& term : terms.items()) {
    NodeTerm& requirements = read.emplace_back();
    for (const char* list : {"matchExpressions", "matchFields"})
      for (const Tree& one : tree_at(term, {list}).items()) {
        NodeRequirement requirement{
            text_at(one, {"key"}), text_at(one, {"operator"}), {}, list == std::string_view("matchFields")};
        for (const Tree& value : tree_at(one, {"values"}).items()) requirement.values.push_back(value.text());
        requirements.push_back(std::move(requirement));
      }
  }
  return read;
}

Pod read_pod(const Tree& pod) {
  Pod read;
  read.ns = text_at(pod, {"metadata", "namespace"});
  read.name = text_at(pod, {"metadata", "name"});
  read.labels = texts(tree_at(pod, {"metadata", "labels"}));
  read.created = base::parse_time(text_at(pod, {"metadata", "creationTimestamp"}));
  read.deleted = base::parse_time(text_at(pod, {"metadata", "deletionTimestamp"}));
  for (const Tree& owner : tree_at(pod, {"metadata", "ownerReferences"}).items())
    if (read.owner.empty() || is_true(owner, {"controller"})) {
      read.owner_kind = text_at(owner, {"kind"});
      read.owner = text_at(owner, {"name"});
    }
  const Tree& spec = tree_at(pod, {"spec"});
  read.has_spec = spec.find("containers") != nullptr;
  read.node = text_at(spec, {"nodeName"});
  read.scheduler = text_at(spec, {"schedulerName"});
  read.runtime_class = text_at(spec, {"runtimeClassName"});
  read.service_account = text_at(spec, {"serviceAccountName"});
  read.node_selector = texts(tree_at(spec, {"nodeSelector"}));
  if (const Tree* terms = spec.at({"affinity", "nodeAffinity",
                                   "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
    read.has_node_terms = true;
    read.node_terms = read_node_terms(*terms);
  }
  for (const Tree& one : tree_at(spec, {"tolerations"}).items())
    read.tolerations.push_back({text_at(one, {"key"}), text_at(one, {"operator"}), text_at(one, {"value"}),
                                text_at(one, {"effect"})});
  for (const Tree& gate : tree_at(spec, {"schedulingGates"}).items())
    read.gates.push_back(text_at(gate, {"name"}));
  for (const Tree& secret : tree_at(spec, {"imagePullSecrets"}).items())
    read.pull_secrets.push_back(text_at(secret, {"name"}));
  for (const Tree& volume : tree_at(spec, {"volumes"}).items()) read.volumes.push_back(read_volume(volume));
  read_resource_claims(pod, read);
  read_containers(pod, read);
  read.requests = requests_of(read, tree_at(spec, {"overhead"}));
  const Tree& status = tree_at(pod, {"status"});
  read.phase = text_at(status, {"phase"});
  read.reason = text_at(status, {"reason"});
  read.message = text_at(status, {"message"});
  read.nominated_node = text_at(status, {"nominatedNodeName"});
  read.started = base::parse_time(text_at(status, {"startTime"}));
  for (const Tree& one : tree_at(status, {"conditions"}).items())
    read.conditions[text_at(one, {"type"})] = {text_at(one, {"status"}), text_at(one, {"reason"}),
                                               text_at(one, {"message"})};
  return read;
}

}  // namespace kube
