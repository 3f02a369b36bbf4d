#pragma once

#include "gpuadm/base/error.hpp"
#include "gpuadm/base/secret.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// Files of models on a hub that speaks Hugging Face's HTTP API.
namespace bundle {

/// A revision of a model on a hub.
struct HubModel {
  std::string endpoint;    ///< "https://huggingface.co"
  std::string repository;  ///< "ORG/NAME"
  std::string revision;    ///< a branch, a tag or a commit
  base::Secret token;      ///< empty: none
};

/// "ORG/NAME" or "ORG/NAME@REVISION"; the revision is "main" by default. The endpoint is $HF_ENDPOINT, or
/// https://huggingface.co. Fault::usage if one of them is invalid.
[[nodiscard]] base::Result<HubModel> parse_hub_model(const std::string& text);

/// The beginning of a file.
struct HubFile {
  std::string head;                   ///< at most the requested bytes
  std::optional<std::uint64_t> size;  ///< of the whole file; nothing: the hub did not say it
  std::string commit;                 ///< of the revision; empty: the hub did not say it
};

/// The first `limit` bytes of a file. Nothing: the revision has no such file. Faults by the hub's answer:
/// auth (401, 403), usage (404: no such model or revision), remote (429, with the time to wait; another
/// status), unreachable. The token is sent over https only, or to this machine, and libcurl does not send it
/// to another host after a redirection.
[[nodiscard]] base::Result<std::optional<HubFile>> read_hub_file(const HubModel& model,
                                                                 const std::string& name,
                                                                 std::uint64_t limit);

}  // namespace bundle
