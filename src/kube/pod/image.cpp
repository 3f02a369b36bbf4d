#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/overview.hpp"

#include "kube/pod/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kube::pod {

namespace {

constexpr std::array<Pattern, 14> image_patterns = {
    {{{"InvalidImageName", "couldn't parse image", "invalid reference format"},
      "image-name-invalid",
      "the image name {image} is invalid",
      "correct the image name{of_container} || correct the image name"},
     {{"ErrImageNeverPull", "not present with pull policy of Never"},
      "image-never-pull",
      "the image {image} is not on node {node}, and imagePullPolicy is Never",
      "import the image on {node}, or set imagePullPolicy: IfNotPresent"},
     {{"no match for platform", "no matching manifest", "does not match the specified platform",
       "no image found in manifest list"},
      "image-platform",
      "the image {image} does not exist for the architecture of node {node}{arch_name}",
      "use an image for {arch}"},
     {{"toomanyrequests", "too many requests", "rate limit"},
      "registry-rate-limit",
      "the registry {registry} limits the number of pulls",
      "use a mirror (`mirrors` in the cluster file), or a pull secret"},
     {{"pull QPS exceeded"},
      "registry-pull-qps",
      "the kubelet of node {node} limits how often it pulls images, and repeats the pull of {image}",
      "wait, or increase registryPullQPS and registryBurst of the kubelet of {node}"},
     {{"signature validation failed", "SignatureValidationFailed", "signature was required"},
      "image-signature",
      "node {node} requires a signature that the image {image} does not have",
      "sign the image, or change /etc/containers/policy.json of {node}"},
     {{"x509:", "certificate"},
      "registry-certificate",
      "node {node} does not trust the certificate of the registry {registry}",
      "install the registry's CA certificate on {node}"},
     {{"HTTP response to HTTPS client"},
      "registry-http",
      "the registry {registry} uses HTTP, and the container runtime requires HTTPS",
      "configure {registry} as an HTTP registry of the container runtime"},
     {{"pull access denied"},
      "image-not-found",
      "the image {image} does not exist, or the registry {registry} requires a login",
      "correct the image name, or add a pull secret with: kubectl -n {namespace} create secret "
      "docker-registry "
      "NAME "
      "--docker-server={server}"},
     {{"unauthorized", "forbidden", "authentication required", "no basic auth credentials",
       "authorization failed", "denied"},
      "image-unauthorized",
      "the registry {registry} refuses access to the image {image}",
      "kubectl -n {namespace} create secret docker-registry NAME --docker-server={server} "
      "--docker-username=USER"},
     {{"no such host", "dial tcp", "i/o timeout", "connection refused", "TLS handshake timeout",
       "name resolution"},
      "registry-unreachable",
      "node {node} cannot reach the registry {registry}",
      "check proxy, DNS and mirrors of {node}: gpuadm doctor {node} --only rt,net"},
     {{"network is unreachable", "no route to host", "context deadline exceeded", "Client.Timeout",
       "connection reset", "unexpected EOF"},
      "registry-unreachable",
      "node {node} cannot reach the registry {registry}",
      "check proxy, DNS and mirrors of {node}: gpuadm doctor {node} --only rt,net"},
     {{"no space left on device"},
      "no-space",
      "node {node} has no disk space left for the image {image}",
      "free disk space on {node}: gpuadm doctor {node} --only host.disk"},
     {{"not found", "manifest unknown", "NotFound", "name unknown", "does not exist"},
      "image-not-found",
      "the image {image} does not exist",
      "correct the image name or tag{of_container} || correct the image name or tag"}}};

constexpr std::array<std::string_view, 7> waiting_reasons = {
    "ErrImagePull",      "ImagePullBackOff",    "InvalidImageName",         "ErrImageNeverPull",
    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"};

/// "registry.example.com:5000" of an image; docker.io if it names none.
std::string registry_of(const std::string& image) {
  const std::size_t slash = image.find('/');
  const std::string first = image.substr(0, slash == std::string::npos ? 0 : slash);
  return first.find_first_of(".:") != std::string::npos || first == "localhost" ? first : "docker.io";
}

std::string arch_of(const Context& context) {
  const facts::Node* node = node_named(context.view, context.pod.node);
  if (!node) return {};
  const auto label = node->labels.find("kubernetes.io/arch");
  return label == node->labels.end() ? std::string() : label->second;
}

/// The latest failed pull of an image.
std::string failed_pull(const Context& context, const std::string& image) {
  std::string found;
  for (const PodEvent* event : context.events)
    if (event->reason == "Failed" && mentions(event->message, "pull image") &&
        mentions(event->message, image))
      found = event->message;
  return found;
}

/// The registry's answer: of the state, or of the latest event about this image.
std::string failure_of(const Context& context, const Container& container) {
  const std::string found = failed_pull(context, container.image);
  const std::string& state = container.state.message;
  if (found.empty() || (!state.starts_with("Back-off") && !state.empty()))
    return state.empty() ? found : state;
  return found;
}

/// The volume whose image could not be pulled, as a container with that image: the kubelet reports the pull
/// of a volume as a state of the containers, or only as an event. Nothing: it is the container's own image.
std::optional<Container> volume_of_pull(const Context& context, const Container* waiting) {
  for (const PodVolume& volume : context.pod.volumes) {
    if (volume.kind != "image" || volume.source.empty()) continue;
    Container one;
    if (waiting) one.state = waiting->state;
    if (!waiting) one.state.reason = "ErrImagePull", one.state.message = failed_pull(context, volume.source);
    one.image = volume.source;
    const bool is_of_container = waiting && waiting->state.message.contains(waiting->image);
    if (one.state.message.contains(volume.source) && !is_of_container) return one;
  }
  return std::nullopt;
}

std::string user_of(const Context& context, const Container& container) {
  for (const PodVolume& volume : context.pod.volumes)
    if (container.name.empty() && volume.kind == "image" && volume.source == container.image)
      return " of volume " + volume.name;
  // A row of the doctor has no names of containers, and an image only if the message has it.
  return container.name.empty() ? "" : " of container " + container.name;
}

PodLink pull_failed(const Context& context, const Container& container) {
  Words words = words_of(context, &container);
  words["of_container"] = user_of(context, container);
  words["registry"] = container.image.empty() ? "of the image" : registry_of(container.image);
  words["server"] = container.image.empty() ? "REGISTRY" : registry_of(container.image);
  const std::string arch = arch_of(context);
  words["arch"] = arch.empty() ? "its architecture" : arch;
  words["arch_name"] = arch.empty() ? "" : fmt::format(" ({})", arch);
  const std::string message = failure_of(context, container);
  std::vector<std::string> seen = {container.state.reason + ": " + brief(message)};
  // The name of the image is not part of the reason.
  const std::string answer = base::replace_all(message, container.image, "IMAGE");
  const Pattern* pattern = match(image_patterns, container.state.reason + " " + answer);
  if (pattern && context.pod.has_spec &&
      (pattern->reason == "image-unauthorized" || pattern->what.contains("requires a login")))
    seen.push_back(context.pod.pull_secrets.empty()
                       ? "the pod has no imagePullSecrets"
                       : "imagePullSecrets: " + base::join(context.pod.pull_secrets, ", "));
  if (pattern) return broken("image", *pattern, words, seen);
  words["answer"] = message.empty() || message.starts_with("Back-off") ? "" : ": " + brief(message, 160);
  return broken("image", "image-pull-failed",
                fill("node {node} cannot pull the image {image}{answer}", words), seen,
                fill("kubectl -n {namespace} describe pod {pod}", words));
}

}  // namespace

PodLink image(const Context& context) {
  for (const Container& container : context.pod.containers)
    if (container.state.kind == "waiting" && is_about_image(container.state.reason))
      return pull_failed(context, volume_of_pull(context, &container).value_or(container));
  if (!has_started(context.pod)) {
    if (const auto volume = volume_of_pull(context, nullptr)) return pull_failed(context, *volume);
    const auto* pulling = latest(context, {"Pulling"});
    const auto* pulled = latest(context, {"Pulled", "Created", "Started"});
    if (pulling && (!pulled || pulled->last.value_or(0) < pulling->last.value_or(0)))
      return pending(
          "image",
          fmt::format(
              "node {} is pulling an image{}", context.pod.node,
              pulling->last ? " since " + clock_text(*pulling->last, context.view.cluster.clock) : ""),
          {brief(pulling->message)});
  }
  return passed("image", "no image pull failed");
}

}  // namespace kube::pod

bool kube::is_about_image(std::string_view reason) {
  return std::ranges::find(pod::waiting_reasons, reason) != pod::waiting_reasons.end();
}
