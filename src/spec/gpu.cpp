#include "spec/gpu.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <cctype>

namespace spec {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// "NVIDIA H200" and "h200" are equal.
std::string plain(std::string_view name) {
  std::string text = base::lower(base::trim(name));
  for (const std::string_view vendor : {"nvidia ", "tesla "})
    if (text.starts_with(vendor)) text.erase(0, vendor.size());
  return text;
}

std::vector<Field<Mig>> mig_fields(const std::string& prefix) {
  const auto devices = map_of(
      "MIG profile such as 1g.18gb", [](const std::string& key) { return is_mig_profile(key); },
      whole_number(1, 7));
  const auto strategy = choice<MigStrategy>({{"single", MigStrategy::single}, {"mixed", MigStrategy::mixed}});
  return {field<Mig>(prefix + "strategy", strategy, {}, &Mig::strategy),
          field<Mig>(prefix + "devices", devices, {}, &Mig::devices)};
}

std::vector<Field<GpuOverrides>> override_fields(const std::string& prefix) {
  return {field<GpuOverrides>(prefix + "sharing", perhaps(sharing()), {}, &GpuOverrides::sharing),
          field<GpuOverrides>(prefix + "mig", perhaps(mig()), {}, &GpuOverrides::mig)};
}

/// Conflicts between sharing and MIG, reported at the more specific of the two.
void judge_pair(const GpuLayout& layout, base::Mark mark, const std::string& path, Problems& problems) {
  if (layout.mig.devices.empty()) return;
  if (layout.sharing.sharing == Sharing::mps)
    problems.add(mark, path + ": MPS cannot share MIG instances; use timeSlicing, or mig: off");
  if (layout.mig.strategy == MigStrategy::single && layout.mig.devices.size() > 1)
    problems.add(mark, path + ": strategy single requires instances of one size; use strategy: mixed");
}

base::Mark mark_of(const Tree* at, const Tree& otherwise) {
  return at && !at->is_null() ? at->mark : otherwise.mark;
}

}  // namespace

bool is_mig_profile(std::string_view text) {
  // Compute slices, "g.", GiB, "gb", then what media engines it has: docs.nvidia.com MIG user guide.
  std::size_t at = 0;
  const auto number = [&] {
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at > start;
  };
  const auto word = [&](std::string_view wanted) {
    const bool there = text.substr(at).starts_with(wanted);
    if (there) at += wanted.size();
    return there;
  };
  if (!number() || !word("g.") || !number() || !word("gb")) return false;
  const std::string_view rest = text.substr(at);
  return rest.empty() || rest == "+me" || rest == "-me" || rest == "+gfx" || rest == "+me.all";
}

bool is_model(std::string_view key, std::string_view name) {
  return plain(key) == plain(name);
}

Type<Mig> mig() {
  const std::string expected = "off | {strategy: single | mixed, devices: {PROFILE: N}}";
  const auto read = [=](const Tree& tree, const std::string& path, Problems& problems) -> std::optional<Mig> {
    if (tree.text() == "off") return Mig();
    if (!tree.is_map() || !tree.find("devices")) {
      add_unexpected(problems, tree, path, expected);
      return std::nullopt;
    }
    Mig mig;
    read_fields(tree, path + ".", mig_fields(path + "."), mig, problems);
    return mig;
  };
  const auto write = [](const Mig& mig) -> Tree {
    return mig.devices.empty() ? Tree("off") : write_fields(mig, "", mig_fields(""));
  };
  Tree layout = schema_of_fields("", mig_fields(""));
  layout.set("type", "object");
  layout.set("required", Tree::list_of({"devices"}));
  return {expected, read, write, schema_of_any({Tree::map_of({{"const", "off"}}), std::move(layout)})};
}

Type<std::map<std::string, GpuOverrides>> gpu_models() {
  const Type<GpuOverrides> type_of_overrides = {
      "{sharing: …, mig: …}",
      [](const Tree& tree, const std::string& path, Problems& problems) -> std::optional<GpuOverrides> {
        GpuOverrides overrides;
        overrides.mark = tree.key_mark;
        if (!tree.is_map()) add_unexpected(problems, tree, path, "map with sharing, mig");
        read_fields(tree, path + ".", override_fields(path + "."), overrides, problems);
        return overrides;
      },
      [](const GpuOverrides& overrides) { return write_fields(overrides, "", override_fields("")); },
      schema_of_fields("", override_fields(""))};
  auto type =
      map_of("GPU model", [](const std::string& key) { return !plain(key).empty(); }, type_of_overrides);
  const auto write = type.write;
  type.write = [=](const std::map<std::string, GpuOverrides>& models) {
    return models.empty() ? Tree() : write(models);
  };
  return type;
}

GpuLayout layout_of(const Cluster& cluster, const Host& host, const std::vector<std::string>& models) {
  GpuLayout layout{cluster.gpu.defaults, cluster.gpu.mig};
  const auto apply = [&](const GpuOverrides& overrides) {
    if (overrides.sharing) layout.sharing = *overrides.sharing;
    if (overrides.mig) layout.mig = *overrides.mig;
  };
  const auto named = [&](const std::string& model) {
    return std::ranges::find_if(cluster.gpu.models,
                                [&](const auto& of) { return is_model(of.first, model); });
  };
  for (const std::string& model : models)
    if (const auto of = named(model); of != cluster.gpu.models.end()) {
      apply(of->second);
      break;
    }
  apply(host.gpu);
  return layout;
}

void judge_gpus(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* gpu = file.find("gpu");
  const GpuLayout usual{cluster.gpu.defaults, cluster.gpu.mig};
  judge_pair(usual, mark_of(file.at({"gpu", "mig"}), file), "gpu.mig", problems);
  const auto judge = [&](const GpuOverrides& overrides, const Tree* at, const std::string& path) {
    if (!overrides.sharing && !overrides.mig) return;
    judge_pair({overrides.sharing.value_or(usual.sharing), overrides.mig.value_or(usual.mig)},
               mark_of(at, file), path, problems);
  };
  std::vector<std::string> seen;
  for (const auto& [model, overrides] : cluster.gpu.models) {
    const Tree* at = file.at({"gpu", "models", model});
    judge(overrides, at, "gpu.models." + model);
    if (std::ranges::find(seen, plain(model)) != seen.end())
      problems.add(mark_of(at, file), fmt::format("gpu.models: duplicate model {}", model));
    seen.push_back(plain(model));
  }
  const Tree* hosts = file.find("hosts");
  for (std::size_t i = 0; hosts && i < cluster.hosts.size() && i < hosts->items().size(); ++i)
    judge(cluster.hosts[i].gpu, hosts->items()[i].find("gpu"), "hosts[].gpu");
  if (cluster.gpu.stack == GpuStack::gpu_operator && cluster.gpu.allocator == Allocator::dra)
    problems.add(mark_of(gpu ? gpu->find("allocator") : nullptr, file),
                 "gpu.allocator: cannot be combined with stack: operator");
  if (cluster.gpu.allocator != Allocator::dra) return;
  // DRA shares GPUs by claims.
  if (usual.sharing.sharing != Sharing::exclusive)
    problems.add(
        mark_of(gpu ? gpu->find("sharing") : nullptr, file),
        "gpu.sharing: requires the device plugin; with allocator: dra, pods share a GPU by sharing a claim");
}

}  // namespace spec
