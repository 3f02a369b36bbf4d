#include "gpuadm/facts/proof.hpp"

#include "gpuadm/base/json.hpp"
#include "gpuadm/facts/sections.hpp"

namespace facts {

namespace {

using base::Tree;

ProofStep read_step(const Tree& tree) {
  ProofStep step{text_of(tree, "step"), text_of(tree, "result"), text_of(tree, "says"), {}};
  for (const auto& [key, value] : tree.entries())
    if (const auto figure = value.as_real()) step.figures.emplace(key, *figure);
  return step;
}

ProofGpu read_gpu(const Tree& tree, std::int64_t index) {
  ProofGpu gpu{
      static_cast<int>(index), text_of(tree, "name"), text_of(tree, "uuid"), text_of(tree, "cuda"), {}};
  if (const Tree* steps = tree.find("steps"))
    for (const Tree& step : steps->items()) gpu.steps.push_back(read_step(step));
  return gpu;
}

std::optional<std::int64_t> number_of(const Tree& tree, std::string_view key) {
  const Tree* value = tree.find(key);
  return value ? value->as_int() : std::nullopt;
}

}  // namespace

Proof parse_proof(std::span<const std::string> lines) {
  Proof proof;
  for (const std::string& line : lines) {
    const auto tree = line.starts_with('{') ? base::json::read(line, "gpuadm-proof") : Tree();
    const auto gpu = tree ? number_of(*tree, "gpu") : std::nullopt;
    const auto round = tree ? number_of(*tree, "exit") : std::nullopt;
    if (gpu)
      proof.gpus.push_back(read_gpu(*tree, *gpu));
    else if (round)
      proof.rounds.push_back(static_cast<int>(*round));
    else if (!line.empty())
      proof.others.push_back(line);
  }
  return proof;
}

base::Result<Space> parse_ns(std::string_view output) {
  Space ns{TRY(parse_cluster(output)).pods, {}};
  const Sections sections = TRY(Sections::split(output));
  sections.each("log/", "", [&](const std::string& name, const Section& section) {
    auto& lines = ns.logs[name.substr(name.find('/') + 1)];
    for (const std::string_view line : section.lines) lines.emplace_back(line);
  });
  return ns;
}

}  // namespace facts
