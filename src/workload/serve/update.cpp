#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/serve.hpp"

#include <algorithm>

namespace workload {

namespace {

using base::Tree;

constexpr std::size_t longest_value = 300;

std::string annotation_of(const Tree& deployment, std::string_view name) {
  const Tree* annotations = deployment.at({"metadata", "annotations"});
  return annotations ? text_of(*annotations, name) : "";
}

const Tree& container_in(const Tree& deployment) {
  static const Tree none;
  const Tree* containers = deployment.at({"spec", "template", "spec", "containers"});
  return containers && !containers->items().empty() ? containers->items().front() : none;
}

/// The words of the command, an option together with its value.
std::vector<std::string> settings_of(const Tree& container) {
  std::vector<std::string> settings;
  for (const char* list : {"command", "args"})
    if (const Tree* words = container.find(list))
      for (const Tree& word : words->items()) {
        const std::string text = word.text();
        const bool is_value = !settings.empty() && settings.back().starts_with('-') &&
                              settings.back().find(' ') == std::string::npos && !text.starts_with('-');
        if (is_value)
          settings.back() += " " + text;
        else
          settings.push_back(text);
      }
  return settings;
}

std::string without(const std::vector<std::string>& settings, const std::vector<std::string>& others) {
  std::vector<std::string> left;
  for (const std::string& setting : settings)
    if (std::ranges::find(others, setting) == others.end()) left.push_back(setting);
  return base::join(left, " ");
}

std::string limits_of(const Tree& container) {
  const Tree* limits = container.at({"resources", "limits"});
  if (!limits) return "";
  std::vector<std::string> parts;
  for (const char* name : {"cpu", "memory"})
    if (const Tree* amount = limits->find(name)) parts.push_back(amount->text() + " " + name);
  return base::join(parts, ", ");
}

/// The claim of a volume; empty: it has none.
std::string claim_of(const Tree& deployment, std::string_view volume) {
  const Tree* volumes = deployment.at({"spec", "template", "spec", "volumes"});
  if (volumes)
    for (const Tree& one : volumes->items())
      if (text_of(one, "name") == volume) return text_at(one, {"persistentVolumeClaim", "claimName"});
  return "";
}

}  // namespace

std::vector<ServeChange> changes_of(const Tree& live, const Tree& made) {
  std::vector<ServeChange> changes;
  const auto compare = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to)
      changes.push_back({what, base::printable(from, longest_value), base::printable(to, longest_value)});
  };
  compare("model", annotation_of(live, model_annotation), annotation_of(made, model_annotation));
  compare("commit", annotation_of(live, commit_annotation), annotation_of(made, commit_annotation));
  compare("files", annotation_of(live, digest_annotation), annotation_of(made, digest_annotation));
  compare("engine", annotation_of(live, engine_annotation), annotation_of(made, engine_annotation));
  const Tree &before = container_in(live), &after = container_in(made);
  compare("image", text_of(before, "image"), text_of(after, "image"));
  compare("GPUs", annotation_of(live, gpus_annotation), annotation_of(made, gpus_annotation));
  compare("pods", annotation_of(live, replicas_annotation), annotation_of(made, replicas_annotation));
  const auto old_settings = settings_of(before), new_settings = settings_of(after);
  compare("command", without(old_settings, new_settings), without(new_settings, old_settings));
  compare("limits", limits_of(before), limits_of(after));
  compare("volume", claim_of(live, "cache"), claim_of(made, "cache"));
  if (changes.empty() && annotation_of(live, sum_annotation) != annotation_of(made, sum_annotation))
    changes.push_back({"other settings of its pods", "", ""});
  return changes;
}

}  // namespace workload
