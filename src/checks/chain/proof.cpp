#include "checks/chain/proof.hpp"

#include "gpuadm/base/text.hpp"

#include "checks/csv.hpp"
#include "checks/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace checks {

namespace {

using facts::ProofGpu;
using facts::ProofStep;

std::optional<double> figure(const ProofStep& step, const std::string& name) {
  const auto place = step.figures.find(name);
  return place == step.figures.end() ? std::nullopt : std::optional(place->second);
}

/// The minimums of a model are its own, and for other figures those of all models.
std::vector<const Floor*> floors_of(const Floors& all, const std::string& model) {
  std::vector<const Floor*> found;
  for (const Floor& floor : all)
    if (floor.model == model) found.push_back(&floor);
  const std::size_t own = found.size();
  for (const Floor& floor : all)
    if (floor.model == "*" &&
        std::none_of(found.begin(), found.begin() + static_cast<long>(own), [&](const Floor* one) {
          return one->step == floor.step && one->figure == floor.figure;
        }))
      found.push_back(&floor);
  return found;
}

/// Steps between peers are named "peer 1".
bool is_of(const ProofStep& step, const Floor& floor) {
  return step.name.substr(0, step.name.find(' ')) == floor.step;
}

std::string below_floor(const ProofStep& step, const Floor& floor) {
  const auto seen = figure(step, floor.figure);
  const auto of = floor.of.empty() ? std::optional(1.0) : figure(step, floor.of);
  if (!seen || !of || *of <= 0 || *seen >= floor.least * *of) return {};
  return fmt::format("{}: {} is {:.4g}, the expected minimum is {:.4g} ({})", step.name, floor.figure, *seen,
                     floor.least * *of, floor.source);
}

std::string wrong_with(const ProofGpu& gpu, const Floors& all) {
  for (const ProofStep& step : gpu.steps) {
    if (step.result != "pass" && step.result != "skip")
      return fmt::format("{}: {}", step.name, step.message.empty() ? "it failed" : step.message);
    if (step.result == "skip") continue;
    for (const Floor* floor : floors_of(all, gpu.name))
      if (is_of(step, *floor))
        if (std::string wrong = below_floor(step, *floor); !wrong.empty()) return wrong;
  }
  return {};
}

struct Shown {
  const char *step, *figure, *before, *after;
};
constexpr std::array shown = {Shown{"memory", "writeGBs", "memory written at ", " GB/s"},
                              Shown{"memory", "readGBs", "read at ", " GB/s"},
                              Shown{"floats", "tflops", "", " TFLOPS of 32 bits"},
                              Shown{"halves", "tflops", "", " of 16 bits"},
                              Shown{"link", "toGpuGBs", "", " GB/s from the host"},
                              Shown{"link", "toHostGBs", "", " GB/s to it"},
                              Shown{"peer", "GBs", "", " GB/s to another GPU"}};

}  // namespace

base::Result<Floors> read_floors(
    const std::function<base::Result<std::string>(std::string_view path)>& asset) {
  const std::string path = "data/gpu-floors.csv";
  const std::string text = TRY(asset(path));
  Floors floors;
  for (const auto& row :
       TRY(read_csv(text, {"model", "step", "figure", "least", "of", "source", "seen"}, path))) {
    const auto least = base::to_real(row[3]);
    if (!least || *least <= 0 || row[5].empty())
      return base::fail(
          base::Fault::parse,
          fmt::format("{}: {}: a floor must be a number above zero and have a source", path, row[0]));
    floors.push_back({row[0], row[1], row[2], *least, row[4], row[5]});
  }
  return floors;
}

std::string wrong_in(const facts::Proof& proof, const Floors& all) {
  for (const ProofGpu& gpu : proof.gpus)
    if (const std::string wrong = wrong_with(gpu, all); !wrong.empty())
      return fmt::format("{} {}: {}", gpu.name.empty() ? "GPU" : gpu.name, gpu.uuid, wrong);
  return {};
}

std::string figures_of(const std::vector<ProofGpu>& gpus) {
  std::map<std::string, int> models;
  for (const ProofGpu& gpu : gpus) ++models[gpu.name];
  std::vector<std::string> names, texts;
  for (const auto& [name, count] : models) names.push_back(fmt::format("{} × {}", count, name));
  for (const Shown& row : shown) {
    std::optional<double> least;
    for (const ProofGpu& gpu : gpus)
      for (const ProofStep& step : gpu.steps)
        if (step.name.substr(0, step.name.find(' ')) == row.step)
          if (const auto seen = figure(step, row.figure)) least = least ? std::min(*least, *seen) : *seen;
    if (least) texts.push_back(fmt::format("{}{:.4g}{}", row.before, *least, row.after));
  }
  return list(names) + ": " + list(texts);
}

}  // namespace checks
