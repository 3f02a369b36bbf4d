#include "commands/workloads/serve/model/model_place.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/hub.hpp"
#include "gpuadm/spec/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace commands {

namespace {

using base::Fault;

constexpr int not_here = 4;  ///< exit status of playbooks/read/model.sh
/// All headers of a model together.
constexpr std::size_t most_listing = 256u << 20;

/// A model below the marker of a storage.
struct Candidate {
  const spec::Storage* storage;
  std::string host, folder;
};

/// Folders in which the model may be: NAME is a storage, whose claim is the first part of the path, or a
/// claim on any storage.
std::vector<Candidate> candidates_of(const ModelPlace& place, const std::string& ns,
                                     const spec::Cluster& cluster) {
  std::vector<Candidate> found;
  for (const spec::Storage& storage : cluster.storage) {
    const bool is_named = storage.name == place.storage;
    const auto host =
        std::ranges::find_if(cluster.hosts, [&](const spec::Host& one) { return spec::is_on(storage, one); });
    if (host == cluster.hosts.end()) continue;
    const std::string claims = fmt::format("gpuadm-{}/claims/{}/", storage.name, ns);
    if (is_named)
      found.insert(found.begin(), {&storage, host->name, claims + place.path});
    else
      found.push_back(
          {&storage, host->name, claims + place.storage + (place.path.empty() ? "" : "/" + place.path)});
  }
  return found;
}

Result<transport::Exit> read_candidate(const Candidate& candidate, std::uint64_t gguf_bytes,
                                       transport::Fleet& fleet, const assets::Store& assets) {
  std::string folder = candidate.folder, names;
  if (folder.ends_with(".gguf")) {
    const std::size_t slash = folder.rfind('/');
    names = base::join(model::parts_of(folder.substr(slash + 1)), "\n");
    folder.resize(slash);
  }
  transport::Command command =
      TRY(session::command_of({.label = "read the headers of the model",
                               .asset = "playbooks/read/model.sh",
                               .variables = {{"storage_name", candidate.storage->name},
                                             {"storage_kind", spec::row_of(candidate.storage->kind).name},
                                             {"storage_place", spec::place_of(*candidate.storage)},
                                             {"model_folder", folder},
                                             {"model_files", names},
                                             {"json_bytes", std::to_string(model::largest_config + 1)},
                                             {"index_bytes", std::to_string(model::largest_index)},
                                             {"header_bytes", std::to_string(model::largest_header)},
                                             {"gguf_bytes", std::to_string(gguf_bytes)}},
                               .timeout = std::chrono::seconds(120)},
                              assets));
  command.output_limit = most_listing;
  return session::ask(candidate.host, std::move(command), fleet);
}

Result<model::Files> files_of(const ModelPlace& place, const Candidate& candidate,
                              const transport::Exit& exit) {
  if (exit.dropped > 0)
    return base::fail(Fault::parse,
                      fmt::format("{}: the headers of its files have more than {}",
                                  base::printable(place.text, 300), base::human_bytes(most_listing)));
  if (exit.status != 0)
    return base::fail(Fault::remote, fmt::format("{}: {}: {}", base::printable(candidate.host),
                                                 base::printable(place.text, 300), base::tail(exit.err, 3)));
  return model::parse_listing(exit.out, place.text);
}

std::uint64_t size_from(const bundle::HubFile& file) {
  return file.size.value_or(file.head.size());
}

}  // namespace

Result<ModelPlace> parse_model_place(const std::string& text) {
  if (text.starts_with("hf:")) {
    TRY(bundle::parse_hub_model(text.substr(3)));
    return ModelPlace{ModelPlace::Kind::hub, text, {}, {}};
  }
  const std::size_t colon = text.find(":/");
  const std::string name = text.substr(0, colon);
  const bool is_storage =
      colon != std::string::npos && !name.empty() && name.find('/') == std::string::npos && name != ".";
  if (!is_storage) return ModelPlace{ModelPlace::Kind::local, text, {}, {}};
  std::string path = text.substr(colon + 2);
  while (path.ends_with('/')) path.pop_back();
  if (!base::is_inside(name) || (!path.empty() && !base::is_inside(path)))
    return base::fail(Fault::usage, fmt::format("{}: not a path on a storage", base::printable(text, 300)),
                      "CLAIM:/PATH, or STORAGE:/CLAIM/PATH, for example models:/llama-8b");
  return ModelPlace{ModelPlace::Kind::storage, text, name, path};
}

Result<model::Files> read_hub_model(const ModelPlace& place, const base::Secret& token) {
  bundle::HubModel hub = TRY(bundle::parse_hub_model(place.text.substr(3)));
  hub.token = token;
  model::Files files{place.text, {}};
  const auto config = TRY(bundle::read_hub_file(hub, "config.json", model::largest_config + 1));
  if (!config)
    return base::fail(Fault::usage,
                      fmt::format("{}: it has no config.json", base::printable(place.text, 300)),
                      "a repository with GGUF files only: download one, and name the file");
  files.files.push_back({"config.json", size_from(*config), config->head});
  constexpr const char* quantization_name = "hf_quant_config.json";
  if (const auto file = TRY(bundle::read_hub_file(hub, quantization_name, model::largest_config)))
    files.files.push_back({quantization_name, size_from(*file), file->head});
  constexpr const char* index_name = "model.safetensors.index.json";
  if (const auto index = TRY(bundle::read_hub_file(hub, index_name, model::largest_index))) {
    files.files.push_back({index_name, size_from(*index), index->head});
    files.index_only = true;
    return files;
  }
  constexpr const char* weights_name = "model.safetensors";
  for (std::uint64_t limit = 1u << 20;; limit = model::largest_header + 8) {
    const auto weights = TRY(bundle::read_hub_file(hub, weights_name, limit));
    if (!weights || !weights->size)
      return base::fail(Fault::usage,
                        fmt::format("{}: it has no weights in safetensors", base::printable(place.text, 300)),
                        "weights in .bin or .pt files are not read");
    const std::uint64_t header = TRY(model::header_size(weights->head, weights_name));
    if (header > weights->head.size() && limit < header) continue;
    files.files.push_back({weights_name, *weights->size, weights->head});
    return files;
  }
}

Result<model::Files> read_storage_model(const ModelPlace& place, const std::string& ns,
                                        const spec::Cluster& cluster, transport::Fleet& fleet,
                                        const assets::Store& assets) {
  std::string tried;
  std::optional<base::Error> unread;
  for (const Candidate& candidate : candidates_of(place, ns, cluster)) {
    auto exit = read_candidate(candidate, model::first_gguf, fleet, assets);
    if (!exit) {  // the model may be on another storage
      tried += fmt::format("\n  {}", exit.error().what);
      if (!unread) unread = std::move(exit.error());
      continue;
    }
    if (exit->status == not_here) {
      tried += fmt::format("\n  {}: {}", base::printable(candidate.host), base::tail(exit->err, 1));
      continue;
    }
    model::Files files = TRY(files_of(place, candidate, *exit));
    if (std::ranges::none_of(files.files, model::needs_more)) return files;
    const auto more = TRY(read_candidate(candidate, model::largest_gguf, fleet, assets));
    return files_of(place, candidate, more);
  }
  if (unread)
    return base::fail(unread->fault,
                      fmt::format("{}: whether there is such a model is unknown:{}",
                                  base::printable(place.text, 300), tried),
                      unread->hint);
  if (tried.empty())
    return base::fail(
        Fault::usage, fmt::format("{}: the cluster file has no storage", base::printable(place.text, 300)),
        "name the cluster's hosts or its file, -f FILE; gpuadm storage list shows its storages");
  return base::fail(Fault::usage,
                    fmt::format("{}: there is no such model:{}", base::printable(place.text, 300), tried),
                    "CLAIM:/PATH, or STORAGE:/CLAIM/PATH; -n NAMESPACE for a claim of another namespace");
}

}  // namespace commands
