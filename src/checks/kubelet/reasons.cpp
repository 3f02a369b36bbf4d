#include "checks/kubelet/reasons.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/overview.hpp"

#include "checks/cluster/whole.hpp"
#include "checks/kernel/limits.hpp"
#include "checks/last_lines.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

/// Why something on a node is not running, as reported by the program: playbooks/reasons.sh reads the
/// reports.
namespace checks {

namespace {

using facts::PodContainer;
using facts::PodError;
using facts::PodStates;

/// A check of the node's containers. If the kubelet's journal could not be read, a pass is not conclusive.
template <void (*judge)(const Subject&, const PodStates&, Verdicts&)>
void of_states(const Subject& s, Verdicts& out) {
  if (!s.facts.kubernetes.pod_states) return out.skip("the containers of this host were not read");
  judge(s, *s.facts.kubernetes.pod_states, out);
  if (out.silent() && s.facts.kubernetes.pod_states->kubelet_unread)
    out.unknown("the journal of kubelet.service could not be read");
}

Severity severity_for(std::string_view pod) {
  return is_system_pod(pod) ? Severity::blocker : Severity::warning;
}

// --- Inotify -------------------------------------------------------------------------------------------

/// The limits are per user: root of all containers that share the kernel has one count.
void inotify_left(const Subject& s, const PodStates& states, Verdicts& out) {
  std::string line;
  for (const auto* log : {&states.runtime_log, &states.kubelet_log})
    for (const std::string& text : *log)
      if (contains(text, "too many open files") && (contains(text, "inotify") || contains(text, "watcher")))
        line = text;
  if (!states.inotify_refused && line.empty()) return;
  const auto limit = sysctl_of(s.facts, "fs.inotify.max_user_instances");
  std::string evidence = limit ? fmt::format("fs.inotify.max_user_instances = {}", *limit) : std::string();
  if (states.inotify_instances)
    evidence += fmt::format("; {} in use by processes of this host", *states.inotify_instances);
  if (!line.empty()) evidence += "; " + plain_line(line);
  out.fail(Severity::blocker, "no inotify instance is left for root: the kubelet and containerd fail",
           evidence, raise_inotify);
}

// --- The kubelet ---------------------------------------------------------------------------------------

void kubelet_exits(const Subject&, const PodStates& states, Verdicts& out) {
  if (states.kubelet_fatal.empty()) return;
  const LastLine last{states.kubelet_fatal, known_of(states.kubelet_fatal, kubelet_lines())};
  out.fail(Severity::blocker, "the kubelet exits: " + last.message(),
           last.evidence("journal of kubelet.service"),
           last.remedy("journalctl -u kubelet -n 50, and read the lines before it"));
  out.follows(last.check());
}

/// Whether a request has had no answer: kubeadm.kubelet-bootstrap and cl.apiserver.healthz judge that. Go's
/// net/url Error is `Post "URL": REASON`; an answer of the API server has no such beginning. A certificate
/// that is not accepted is an answer.
bool is_without_answer(std::string_view text) {
  const bool request = text.contains("Post \"http") || text.contains("Post \\\"http");
  return request && !text.contains("x509:") && !text.contains("tls: ");
}

/// The API server does not let the kubelet be the node that it says it is.
void kubelet_registers(const Subject& s, const PodStates& states, Verdicts& out) {
  const std::string own = base::lower(s.facts.machine.hostname);
  const std::string& certified = s.facts.kubernetes.node_name;
  const bool overridden = s.facts.kubernetes.kubelet_flags.contains("--hostname-override");
  const bool renamed = !certified.empty() && !own.empty() && !overridden && own != certified;
  std::string line;
  for (const std::string& text : states.kubelet_log)
    if (text.contains("Unable to register node") && !is_without_answer(text)) line = text;
  if (renamed)
    return out.fail(
        Severity::blocker,
        fmt::format("the host is called {}, and its kubelet's certificate is of the node {}", own, certified),
        line.empty() ? "system:node:" + certified + " in /etc/kubernetes/kubelet.conf"
                     : "journal of kubelet.service: " + line,
        fmt::format("hostnamectl set-hostname {}, then: systemctl restart kubelet", certified));
  if (line.empty()) return;
  const LastLine last{line, known_of(line, kubelet_lines())};
  out.fail(Severity::blocker, "the kubelet cannot register its node: " + last.message(),
           last.evidence("journal of kubelet.service"),
           last.remedy("journalctl -u kubelet -n 50; kubectl get nodes"));
}

// --- Disks ---------------------------------------------------------------------------------------------

void space_left(const Subject& s, const PodStates& states, Verdicts& out) {
  constexpr std::string_view full = "no space left on device";
  std::vector<std::string> lines;
  for (const PodError& error : current_errors(states)) lines.push_back(error.message);
  for (const PodContainer& one : broken_containers(states)) {
    lines.push_back(one.message);
    lines.insert(lines.end(), one.log.begin(), one.log.end());
  }
  lines.push_back(states.kubelet_fatal);
  const auto line =
      std::ranges::find_if(lines, [&](const std::string& text) { return contains(text, full); });
  if (line == lines.end()) return;
  const facts::Disk* least = nullptr;
  for (const facts::Disk& disk : s.facts.storage.disks)
    if (disk.path.starts_with("/var") || disk.path == "/")
      if (!least || disk.free_kib < least->free_kib) least = &disk;
  out.fail(Severity::blocker,
           least ? fmt::format("no space left on the file system of {}", least->path)
                 : std::string("no space left on a file system"),
           plain_line(*line),
           "df -h /var/lib/containerd /var/lib/kubelet /var/log; crictl rmi --prune removes unused images");
}

// --- Sandboxes, images, the network --------------------------------------------------------------------

void sandbox_image(const Subject&, const PodStates& states, Verdicts& out) {
  int pods = 0;
  const PodError* first = nullptr;
  const auto errors = current_errors(states);
  for (const PodError& error : errors)
    if (contains(error.message, "sandbox image") && ++pods == 1) first = &error;
  if (!first) return;
  const std::string image = quoted_after(first->message, "sandbox image ");
  out.fail(
      Severity::blocker,
      fmt::format("the sandbox image {} is missing: {}", image, answer_in(first->message, image)),
      fmt::format("{} {}; {}: {}", pods, pods == 1 ? "pod waits for it" : "pods wait for it", first->pod,
                  first->message),
      fmt::format("ctr -n k8s.io images pull {}, or import it from a bundle; or set the sandbox image in the "
                  "runtime's configuration to one that is on the host",
                  image));
}

void network_plugin(const Subject&, const PodStates& states, Verdicts& out) {
  for (const PodError& error : current_errors(states)) {
    const std::string plugin = quoted_after(error.message, "failed to find plugin ");
    const std::string evidence = error.pod + ": " + error.message;
    if (!plugin.empty())
      return out.fail(
          Severity::blocker, fmt::format("the network plugin {} is not installed", plugin), evidence,
          fmt::format("install the package that has {} (containernetworking-plugins, kubernetes-cni) "
                      "into /opt/cni/bin",
                      plugin));
    if (contains(error.message, "network for sandbox"))
      return out.fail(Severity::blocker, "the network plugin fails: " + last_clause(error.message), evidence,
                      "read the pods and logs of the network plugin: kubectl -n kube-system get pods");
    if (contains(error.message, "network is not ready"))
      return out.fail(Severity::blocker, "the pod network is not ready: " + last_clause(error.message),
                      evidence, "install a network plugin, which writes its configuration to /etc/cni/net.d");
  }
}

/// What to do about an image that cannot be pulled, as `gpuadm explain pod` knows it; empty: it does not know
/// the registry's answer.
std::string remedy_for_image(const Subject& s, const PodError& error, const std::string& why) {
  facts::Pod row;
  const std::size_t slash = error.pod.find('/');
  row.ns = error.pod.substr(0, slash);
  row.name = slash == std::string::npos ? error.pod : error.pod.substr(slash + 1);
  row.node = s.host.name;
  row.waiting = {"ErrImagePull"};
  row.waits_for = error.message + ": " + why;
  const auto link = kube::image_problem(row, {});
  return link && link->reason != "image-pull-failed" ? link->fix : std::string();
}

void image_pull(const Subject& s, const PodStates& states, Verdicts& out) {
  for (const PodError& error : current_errors(states)) {
    if (!kube::is_about_image(error.reason)) continue;
    const std::string image = quoted_after(error.message, "image ");
    // During a back-off, only the runtime reports the cause.
    std::string why = answer_in(error.message, image);
    for (const std::string& line : states.runtime_log)
      if (!image.empty() && contains(line, image) && contains(line, "failed")) why = answer_in(line, image);
    const std::string known = remedy_for_image(s, error, why);
    out.fail(severity_for(error.pod),
             fmt::format("the image {} cannot be pulled: {}", image.empty() ? "of " + error.pod : image, why),
             error.pod + ": " + error.message,
             known.empty() ? fmt::format("crictl pull {}; check registry, mirror, proxy and the image's name",
                                         image.empty() ? "IMAGE" : image)
                           : known);
  }
}

// --- Containers ----------------------------------------------------------------------------------------

void containers_run(const Subject& s, const PodStates& states, Verdicts& out) {
  const auto broken = broken_containers(states);
  // The rest of a control plane waits for its etcd.
  const bool etcd = !broken.empty() && broken.front().name == "etcd" && is_static_pod(broken.front().full());
  std::string also;
  for (const PodContainer& one : broken)
    if (etcd && &one != &broken.front() && is_static_pod(one.full())) also += "; then " + how_it_ended(one);
  for (const PodContainer& one : broken) {
    const bool is_static = is_static_pod(one.full());
    if (etcd && is_static && &one != &broken.front()) continue;
    std::string evidence = fmt::format("{}, container {}", one.full(), one.name);
    if (one.attempt > 0) evidence += fmt::format(", {} restart{}", one.attempt, one.attempt == 1 ? "" : "s");
    evidence += fmt::format("; its log: /var/log/pods/{}_{}_*/{}", one.ns, one.pod, one.name);
    const auto last = last_words_of(one);
    if (last && last->known && !last->known->cause.empty()) evidence += "; " + plain_line(last->line);
    if (&one == &broken.front()) evidence += also;
    out.fail(severity_for(one.full()), how_it_ended(one), evidence, remedy_of(one));
    out.follows(ran_out_of_memory(s.facts, one) ? "kernel.dmesg.oom" : last ? last->check() : "");
  }
  bool other_driver = false;
  for (const PodError& error : current_errors(states)) {
    // runc libcontainer/specconv: a runtime with the systemd driver got a path of the other driver.
    if (contains(error.message, "expected cgroupsPath to be of format")) {
      if (!std::exchange(other_driver, true))
        out.fail(Severity::blocker,
                 "the kubelet and the container runtime use different cgroup drivers: cgroupfs and systemd",
                 error.pod + ": " + error.message,
                 "set cgroupDriver: systemd in /var/lib/kubelet/config.yaml, remove --cgroup-driver from the "
                 "kubelet's arguments (/etc/default/kubelet), then: systemctl restart kubelet");
      continue;
    }
    if (kube::is_about_image(error.reason) || error.reason == "CrashLoopBackOff" ||
        contains(error.message, "sandbox image") || contains(error.message, "network"))
      continue;
    // Every kubelet reports this after its start, until it has the list of services.
    if (contains(error.message, "services have not yet been read at least once")) continue;
    const LastLine last{error.message, known_of(error.message, pod_lines())};
    out.fail(
        severity_for(error.pod),
        fmt::format(
            "{} cannot be {}: {}",
            error.container.empty() ? "the pod " + error.pod : "the container " + error.container,
            error.operation == "KillContainer" || error.operation == "KillPodSandbox" ? "stopped" : "started",
            last.known && !last.known->cause.empty() ? last.message() : last_clause(error.message)),
        error.pod + ": " + error.message,
        last.remedy("gpuadm explain pod " + error.pod + ", or: journalctl -u kubelet -n 50"));
    out.follows(last.check());
  }
  for (const std::string& line : states.kubelet_log)
    if (contains(line, "process manifest file") || contains(line, "process config file"))
      return out.fail(Severity::blocker,
                      "the kubelet cannot read a static pod's manifest: " + plain_line(line), line,
                      "correct the named file in /etc/kubernetes/manifests");
}

constexpr std::array reason_rows = std::to_array<Check>({
    {"kernel.inotify-left", "root has free inotify instances",
     "kubelets and container runtimes do not start without one", "inotify kubelet-errors", node,
     of_states<inotify_left>},
    {"kubelet.exits", "the kubelet does not exit", "its last line shows the setting that it rejects",
     "paths kubelet-state kubelet-errors pod-containers", node, of_states<kubelet_exits>},
    {"kubelet.node-name", "the kubelet may register its node",
     "the API server lets a kubelet change only the node of its certificate",
     "paths /proc/sys/kernel/hostname /etc/kubernetes/kubelet.conf pod-containers kubelet-errors", node,
     of_states<kubelet_registers>},
    {"host.disk.no-space", "no program on the node has run out of disk space",
     "images are not unpacked and containers do not start on a full disk",
     "pod-containers kubelet-errors runtime-errors/*", node, of_states<space_left>},
    {"rt.sandbox-missing", "the sandbox image is on the host or can be pulled", "no pod starts without it",
     "pod-containers kubelet-errors runtime-errors/*", node, of_states<sandbox_image>},
    {"kubelet.containers", "the containers of the node's pods run",
     "etcd and the API server are among them on a control plane",
     "paths pod-containers container-log/* kubelet-pods kubelet-errors", node, of_states<containers_run>},
    {"net.cni-plugin", "the network plugin sets up the network of pods",
     "no pod but those of the host network starts "
     "otherwise",
     "pod-containers kubelet-errors runtime-errors/*", node, of_states<network_plugin>},
    {"rt.image-pull", "every image that the kubelet needs can be pulled", "its pod does not start otherwise",
     "pod-containers kubelet-errors kubelet-pods runtime-errors/*", node, of_states<image_pull>},
});

}  // namespace

std::span<const Check> reason_checks() {
  return reason_rows;
}

}  // namespace checks
