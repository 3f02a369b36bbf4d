#include "spec/listed/served_fields.hpp"

#include "gpuadm/spec/values.hpp"

#include "spec/listed/quantities.hpp"

#include <algorithm>
#include <set>

namespace spec {

namespace {

const std::string serve_prefix = "serve[].";

/// A model of this machine would be copied: that is not described, but done once.
bool is_source(const std::string& text) {
  const std::size_t colon = text.find(':');
  return colon != std::string::npos && colon > 0 && text.find('/') > colon &&
         text.find(' ') == std::string::npos;
}

Tree served_schema() {
  Tree schema = schema_of_fields(serve_prefix, served_fields());
  schema.set("type", "object");
  schema.set("required", Tree::list_of({"name"}));
  return schema;
}

}  // namespace

const std::vector<Field<Served>>& served_fields() {
  using S = Served;
  static const std::vector<Field<S>> fields = {
      field<S>(
          serve_prefix + "name",
          text_where(
              "DNS label of at most 50 characters, with a letter first",
              [](const std::string& text) { return check_service_name("served model", text).has_value(); },
              R"(^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$)"),
          {"Name of the served model; unique in its namespace, required.", "none"}, &S::name),
      field<S>(serve_prefix + "namespace", name_space(), {"Namespace of the served model."}, &S::ns),
      field<S>(serve_prefix + "model",
               text_where("CLAIM:/PATH, STORAGE:/CLAIM/PATH or hf:ORG/NAME[@REVISION]", is_source,
                          R"(^[^:/\s]+:\S+$)"),
               {"The model, on a claim or of a hub; gpuadm serve create copies one of this machine.",
                "the image has it"},
               &S::model),
      field<S>(serve_prefix + "engine", text("name"),
               {"vllm, sglang, llama.cpp, ollama or triton.", "llama.cpp for GGUF, otherwise vllm"},
               &S::engine),
      field<S>(serve_prefix + "gpus",
               text_where(
                   "GPUs such as 2, 1/4 or 1g.10gb:2",
                   [](const std::string& text) { return parse_gpus("gpus", text).has_value(); },
                   R"(^[0-9][-+.:/0-9a-z]*$)"),
               {"GPUs of a pod: a number, a share such as 1/4, or MIG instances."}, &S::gpus),
      field<S>(serve_prefix + "replicas", whole_number(1, 100),
               {"Pods, each with its GPUs, on different nodes if possible."}, &S::replicas),
      field<S>(serve_prefix + "context", whole_number(0, 100'000'000),
               {"Context in tokens.", "as the model says"}, &S::context),
      field<S>(serve_prefix + "storage", text("name"),
               {"Claim for downloads and caches; with size: storage or StorageClass of a new one.",
                "none; with size: the default"},
               &S::storage),
      field<S>(serve_prefix + "size", size(), {"Size of a new volume for downloads and caches.", "none"},
               &S::size),
      field<S>(serve_prefix + "cpus", cpus(), {"CPUs to reserve, also the limit.", "no limit"}, &S::cpus),
      field<S>(serve_prefix + "memory", size(), {"Memory to reserve, also the limit.", "no limit"},
               &S::memory),
      field<S>(
          serve_prefix + "shm", size(),
          {"Size of /dev/shm.", "half of memory, or of the smallest suitable node's memory, at most 64Gi"},
          &S::shm),
      field<S>(serve_prefix + "image", text("image"),
               {"Another image of the engine; without engine, of any server, with serverPort and health.",
                "the engine's, for the CUDA of the drivers"},
               &S::image),
      field<S>(serve_prefix + "serverPort", port(),
               {"Port of the server of an image without engine.", "none"}, &S::server_port),
      field<S>(serve_prefix + "health", text("path"),
               {"Path that this server answers once it is ready.", "none"}, &S::health),
      field<S>(serve_prefix + "keyVariable", text("name"),
               {"Variable of its container for the API key.", "API_KEY"}, &S::key_variable),
      field<S>(serve_prefix + "command", list_of("words", text("word")),
               {"Program and arguments of an image without engine.", "as the image says"}, &S::command),
      field<S>(serve_prefix + "hubTokenFile", text("path"),
               {"File of this machine with a token of the hub, mode 0600.", "none"}, &S::hub_token_file),
      field<S>(serve_prefix + "nodePort", only_if_true(),
               {"Open a port for it on every node, without a tunnel and without encryption.", "false"},
               &S::node_port),
      field<S>(serve_prefix + "withoutKey", only_if_true(),
               {"With nodePort: open it also if the engine has no API key.", "false"}, &S::without_key),
  };
  return fields;
}

Type<std::vector<Served>> served_models() {
  return list_of_maps("served models", serve_prefix, "name, model …", served_fields, served_schema());
}

void judge_served_models(const Cluster& cluster, const Tree& file, Problems& problems) {
  const Tree* list = file.find("serve");
  if (!list || !list->is_list()) return;
  std::set<std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < cluster.serve.size(); ++i) {
    const Served& served = cluster.serve[i];
    const Tree& item = list->items()[i];
    if (!item.is_map()) continue;
    const auto has = [&](std::string_view key) {
      const Tree* value = item.find(key);
      return value && !value->is_null();
    };
    if (!has("name")) problems.add(item.mark, serve_prefix + "name: missing");
    if (!has("model") && !has("image"))
      problems.add(item.mark, serve_prefix + "model: missing, for example model: hf:Qwen/Qwen3-8B");
    if (!served.name.empty() && !names.emplace(served.ns, served.name).second)
      problems.add(served.mark, fmt::format("{}name: duplicate name {} in the namespace {}", serve_prefix,
                                            served.name, served.ns));
  }
}

}  // namespace spec
