#include "commands/workloads/serve/check_show.hpp"

#include "gpuadm/base/text.hpp"
#include "gpuadm/report/columns.hpp"
#include "gpuadm/report/wrap.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

using base::Tree;

constexpr std::size_t indent = 10;

std::string labelled(std::string_view label, const std::string& text, const report::Style& style) {
  return fmt::format("{:<{}}{}\n", label, indent,
                     report::wrapped(base::printable(text, 2000), indent, style.width));
}

std::string describe(const model::Model& model) {
  std::string text = model.architecture.empty() ? "unknown architecture" : model.architecture;
  if (model.parameters) {
    const auto number = static_cast<double>(*model.parameters);
    text += number >= 1e9 ? fmt::format(", {:.1f} billion parameters", number / 1e9)
                          : fmt::format(", {:.1f} million parameters", number / 1e6);
  }
  if (model.experts > 0) text += fmt::format(", {} of {} experts", model.experts_used, model.experts);
  if (!model.type.empty()) text += ", " + model.type;
  if (!model.quantization.empty() && model.quantization != model.type)
    text += " (" + model.quantization + ")";
  return text + fmt::format(", {} in {} file{}", base::human_bytes(model.stored), model.files,
                            model.files == 1 ? "" : "s");
}

std::string describe_cache(const model::Model& model, const model::Fit& fit) {
  if (!fit.bytes_per_token)
    return "unknown: " + (model.unknown.empty() ? "the type of its numbers" : model.unknown);
  std::string text = base::human_bytes(static_cast<unsigned long long>(*fit.bytes_per_token)) + " a token: ";
  std::string layers;
  for (const model::CacheLayers& one : model.cache)
    layers += fmt::format("{}{} layer{} of {} numbers{}", layers.empty() ? "" : ", ", one.layers,
                          one.layers == 1 ? "" : "s", one.values,
                          one.window > 0 ? fmt::format(" within {} tokens", one.window) : "");
  return text + layers +
         (model.context > 0 ? fmt::format("; context {} tokens", model.context) : "; context unknown");
}

std::string shown_gpus(const GpuSet& gpus) {
  const std::string name = gpus.demand.gpu.empty() ? "GPU" : gpus.demand.gpu;
  return fmt::format("{} x {}", gpus.demand.gpus, name);
}

std::string shown_verdict(const CheckedGpus& one) {
  if (one.fit.verdict == model::Verdict::does_not_fit || (!one.gpus.problem.empty() && one.gpus.count > 0))
    return "no";
  return one.fits() ? "yes" : "unknown";
}

std::vector<std::string> cells_of(const CheckedGpus& one) {
  const model::Fit& fit = one.fit;
  const auto bytes = [](const std::optional<std::uint64_t>& size) {
    return size ? base::human_bytes(*size) : "unknown";
  };
  std::vector<std::string> cells = {one.gpus.host.empty() ? "-" : one.gpus.host,
                                    shown_gpus(one.gpus),
                                    fit.free > 0 ? base::human_bytes(fit.free) : "unknown",
                                    base::human_bytes(fit.weights),
                                    bytes(fit.cache),
                                    bytes(fit.overhead),
                                    shown_verdict(one)};
  for (std::string& cell : cells) cell = base::printable(cell, 100);
  return cells;
}

/// One that fits, otherwise the one with the most memory.
const CheckedGpus& best_of(const std::vector<CheckedGpus>& checked) {
  return *std::ranges::max_element(checked, {}, [](const CheckedGpus& one) {
    return std::pair{one.fits(), one.gpus.problem.empty() ? one.fit.available : 0};
  });
}

}  // namespace

std::string text_of_check(const model::Model& model, const std::vector<CheckedGpus>& checked,
                          const report::Style& style) {
  const CheckedGpus& best = best_of(checked);
  std::string text =
      labelled("model", describe(model), style) + labelled("cache", describe_cache(model, best.fit), style);
  text += "\n";
  std::vector<std::vector<std::string>> lines = {
      {"HOST", "GPUS", "FREE", "WEIGHTS", "CACHE", "ENGINE", "FITS"}};
  for (const CheckedGpus& one : checked) lines.push_back(cells_of(one));
  text += report::columns(std::move(lines), style.width, {1, 0}) + "\n";
  text += report::wrapped(base::printable(model::sentence_of(best.fit), 2000), 0, style.width) + "\n";
  for (const CheckedGpus& one : checked)
    if (!one.gpus.problem.empty())
      text += labelled("problem", one.gpus.host + ": " + one.gpus.problem, style);
  for (const model::Remark& remark : best.fit.remarks) {
    const char* label = remark.weight == model::Remark::Weight::blocks    ? "problem"
                        : remark.weight == model::Remark::Weight::unknown ? "unknown"
                                                                          : "note";
    text += labelled(label, remark.what + (remark.fix.empty() ? "" : ": " + remark.fix), style);
  }
  if (!best.fit.alternatives.empty())
    text += labelled("fits with", base::join(best.fit.alternatives, "; or "), style);
  text +=
      labelled("needs",
               fmt::format("{} of disk, {} of memory of the host to load its largest file{}",
                           base::human_bytes(best.fit.disk), base::human_bytes(best.fit.host_memory),
                           best.fit.shm > 0 ? ", " + base::human_bytes(best.fit.shm) + " in /dev/shm" : ""),
               style);
  return text;
}

Tree tree_of_check(const model::Model& model, const std::vector<CheckedGpus>& checked) {
  Tree hosts = Tree::list();
  for (const CheckedGpus& one : checked) {
    Tree tree = model::to_tree(one.fit);
    tree.set("host", one.gpus.host);
    tree.set("gpu", one.gpus.demand.gpu);
    tree.set("usableGpus", one.gpus.count);
    tree.set("problem", one.gpus.problem);
    tree.set("fits", one.fits());
    hosts.push(std::move(tree));
  }
  return Tree::map_of({{"model", model::to_tree(model)},
                       {"fits", std::ranges::any_of(checked, &CheckedGpus::fits)},
                       {"hosts", std::move(hosts)}});
}

}  // namespace commands
