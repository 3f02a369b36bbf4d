#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/objects.hpp"
#include "gpuadm/workload/serve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace workload {

namespace {

using base::Fault;

constexpr std::string_view hub_prefix = "hf:";
constexpr std::size_t longest_path = 1024;
constexpr const char* forms =
    "CLAIM:/PATH of a PersistentVolumeClaim, such as models:/llama-8b; hf:ORG/NAME@REVISION; or a folder or "
    "a "
    ".gguf file of this machine, such as ./llama-8b";

std::unexpected<base::Error> refuse(std::string_view text, std::string_view why, std::string hint = forms) {
  return base::fail(Fault::usage, fmt::format("--model: {}: {}", base::printable(text, 200), why),
                    std::move(hint));
}

/// Names of organizations, models and revisions: they become words of a command.
bool is_plain(std::string_view name, std::string_view also = "") {
  return !name.empty() && name.front() != '-' && name.front() != '.' &&
         std::ranges::all_of(name, [&](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '_' || c == '.' || also.find(static_cast<char>(c)) != std::string_view::npos;
         });
}

Result<ModelSource> hub_source(std::string_view text) {
  std::string_view rest = text.substr(hub_prefix.size());
  ModelSource source{
      .kind = ModelSource::Kind::hub, .storage = {}, .path = {}, .repository = {}, .revision = {}};
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    source.revision = rest.substr(at + 1);
    rest = rest.substr(0, at);
    if (!is_plain(source.revision, "/")) return refuse(text, "the revision after @ is not a name");
  }
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !is_plain(rest.substr(0, slash)) ||
      !is_plain(rest.substr(slash + 1)))
    return refuse(text, "not a model of a hub");
  source.repository = rest;
  return source;
}

}  // namespace

std::string ModelSource::text() const {
  switch (kind) {
    case Kind::none:
      return "";
    case Kind::storage:
      return storage + ":" + path;
    case Kind::hub:
      return fmt::format("{}{}{}{}", hub_prefix, repository, revision.empty() ? "" : "@", revision);
  }
  return "";
}

std::string ModelSource::format() const {
  const std::string name = base::lower(kind == Kind::hub ? repository : path);
  if (name.ends_with(".gguf") || (kind == Kind::hub && name.ends_with("-gguf"))) return "gguf";
  return "";
}

Result<ModelSource> parse_model_source(std::string_view text) {
  if (text.size() > longest_path) return refuse(text.substr(0, 80), "longer than 1024 characters");
  if (base::printable(text, longest_path) != text) return refuse(text, "it has control characters");
  if (text.starts_with(hub_prefix)) return hub_source(text);
  const std::size_t colon = text.find(":/");
  if (colon == std::string_view::npos || text.substr(colon).starts_with("://"))
    return refuse(text, "not a source of a model");
  ModelSource source{
      .kind = ModelSource::Kind::storage, .storage = {}, .path = {}, .repository = {}, .revision = {}};
  source.storage = text.substr(0, colon);
  if (!check_name("claim", source.storage)) return refuse(text, "the name before ':' is not that of a claim");
  source.path = plain_directory(text.substr(colon + 1));
  if ((source.path + "/").find("/../") != std::string::npos) return refuse(text, "'..' is not allowed");
  return source;
}

}  // namespace workload
