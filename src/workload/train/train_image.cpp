#include "gpuadm/workload/train_image.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Tree;
using Pull = ImageOnNode::Pull;
using State = ImageOnNode::State;

constexpr std::size_t most_reason = 300;

std::string reason_in(const std::vector<std::string_view>& fields, std::size_t column) {
  return fields.size() > column ? base::printable(fields[column], most_reason) : "";
}

/// The answer of `crictl inspecti -o json`; info is in the verbose answer of containerd and CRI-O.
void read_config(std::string_view json, ImageOnNode& image) {
  const auto tree = base::json::read(json, "crictl inspecti");
  const Tree* spec = tree ? tree->at({"info", "imageSpec"}) : nullptr;
  if (!spec) return;
  image.is_configured = true;
  image.architecture = base::printable(text_at(*spec, {"architecture"}), 40);
  if (const Tree* words = spec->at({"config", "Entrypoint"}))
    for (const Tree& word : words->items()) image.entrypoint.push_back(word.text());
  if (const Tree* variables = spec->at({"config", "Env"}))
    for (const Tree& variable : variables->items()) {
      const std::string text = variable.text();
      if (const std::size_t place = text.find('='); place != std::string::npos)
        image.environment[text.substr(0, place)] = text.substr(place + 1);
    }
}

Pull pull_from(std::string_view word) {
  if (word == "yes") return Pull::possible;
  if (word == "missing") return Pull::missing;
  if (word == "denied") return Pull::denied;
  return word == "unreachable" ? Pull::unreachable : Pull::unknown;
}

void read_image_line(const std::vector<std::string_view>& fields, ImageOnNode& image) {
  const std::string_view what = fields[0], value = fields[2];
  if (what == "image") {
    image.state = value == "present" ? State::present : value == "absent" ? State::absent : State::unknown;
    image.why = reason_in(fields, 3);
  } else if (what == "config") {
    read_config(value, image);
  } else if (what == "pull") {
    image.pull = pull_from(value);
    image.pull_why = reason_in(fields, 3);
  } else if (what == "programs") {
    image.is_searched = value == "read";
    if (!image.is_searched && image.why.empty()) image.why = reason_in(fields, 3);
  } else if (what == "program") {
    image.programs.emplace_back(value);
  }
}

}  // namespace

NodeImages read_node_images(const std::string& node, std::string_view output) {
  NodeImages read{.node = node, .why = {}, .driver = {}, .images = {}};
  for (const std::string_view line : base::lines(output)) {
    const auto fields = base::split(line, '\t');
    if (fields.size() == 2 && fields[0] == "driver" && base::Version::parse(fields[1]))
      read.driver = base::printable(fields[1], 60);
    if (fields.size() >= 3) read_image_line(fields, read.images[std::string(fields[1])]);
  }
  return read;
}

std::vector<TrainImage> train_images(
    const TrainJob& job, const std::function<std::optional<std::string>(const std::string&)>& full_name_of) {
  std::vector<TrainImage> images;
  for (const Role& role : job.roles) {
    const Tree* containers = role.pod.find("containers");
    if (!containers) continue;
    for (const Tree& container : containers->items()) {
      const std::string written = text_at(container, {"image"});
      const auto full = full_name_of(written);
      if (!full) continue;
      std::string policy = text_at(container, {"imagePullPolicy"});
      // https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting
      if (policy.empty() && full->find('@') == std::string::npos && full->ends_with(":latest"))
        policy = "Always";
      const std::string pulled = policy == "Always" ? "always" : policy == "Never" ? "never" : "missing";
      const auto known = std::ranges::find(images, *full, &TrainImage::full);
      if (known == images.end()) {
        images.push_back({written, *full, pulled, role.gpus.any()});
        continue;
      }
      known->has_gpus = known->has_gpus || role.gpus.any();
      if (pulled == "always") known->pulled = pulled;
    }
  }
  return images;
}

}  // namespace workload
