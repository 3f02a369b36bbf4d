#pragma once

#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/model/model.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace model {

/// How an engine uses GPU memory, in addition to weights and cache. Rows are in src/model/engines.cpp, with
/// sources.
struct EngineMemory {
  std::string_view name;  ///< "vllm"
  /// The part of a GPU's memory that the engine uses by default, cache included.
  double usable = 1;
  std::uint64_t fixed = 0;    ///< bytes for each GPU: CUDA context, graphs, workspaces
  std::uint64_t several = 0;  ///< bytes for each of several GPUs: buffers of their communication
  std::uint64_t batch = 0;    ///< tokens that one step computes at most
  std::uint64_t logits = 0;   ///< tokens that one step computes the whole vocabulary for at most
  double activation = 0;      ///< bytes of one number of an activation
  double logit = 0;           ///< bytes of one number of the logits, all copies
  bool by_heads = true;       ///< divides heads among GPUs; false: divides layers
  std::uint64_t shm = 0;      ///< bytes in /dev/shm with several GPUs
  std::string_view reduce;    ///< the option that makes it use less memory
  std::string_view limit;     ///< the option for the context
  /// Quantizations whose type of the cache the engine uses, unless an option says another one.
  std::array<std::string_view, 2> cache_methods = {};
};

/// The row of an engine: "vllm", "sglang", "llama.cpp", "ollama". nullptr: its use of memory is unknown.
[[nodiscard]] const EngineMemory* find_engine(std::string_view name);
/// The engine of a model for which none is named: llama.cpp for GGUF, otherwise vLLM.
[[nodiscard]] std::string_view default_engine(const Model& model);

/// What is asked, and what there is.
struct Demand {
  std::string engine;  ///< empty: default_engine
  int gpus = 1;
  std::uint64_t memory_total = 0;            ///< bytes of each GPU; the smallest of them
  std::optional<std::uint64_t> memory_free;  ///< bytes of each GPU; nothing: all
  std::string gpu;                           ///< name of the GPUs; empty: not known
  std::optional<base::Version> capability;   ///< compute capability, 9.0
  std::uint64_t context = 0;                 ///< tokens of a sequence; 0: those of the training
  int concurrency = 1;                       ///< sequences at once
  std::string cache_type;                    ///< a name of types.hpp; empty: 16 bits
  std::string image_cuda;                    ///< CUDA of the engine's image; empty: not known
  std::string needed_driver, driver;         ///< the oldest driver for image_cuda, and the host's; or empty
  std::optional<std::uint64_t> host_memory;  ///< bytes of the host, whether free or not
  std::optional<std::uint64_t> shm;          ///< bytes of /dev/shm of the pod
};

/// One thing that keeps a model from running, or that is to be known.
struct Remark {
  enum class Weight { blocks, warns, unknown };
  Weight weight = Weight::warns;
  std::string what;  ///< "the GPU has no bf16: compute capability 7.5, needs 8.0"
  std::string fix;   ///< "--dtype half"; may be empty
};

enum class Verdict { fits, does_not_fit, unknown };

/// Whether a model fits, with every figure that the answer is made of. Bytes are those of each GPU.
struct Fit {
  Verdict verdict = Verdict::unknown;
  std::string engine;
  int gpus = 1;
  std::uint64_t context = 0;
  int concurrency = 1;
  std::uint64_t weights = 0;
  std::optional<double> bytes_per_token;  ///< of the cache, while no layer has reached its window
  std::optional<std::uint64_t> cache;     ///< for `concurrency` sequences of `context` tokens
  std::optional<std::uint64_t> overhead;
  std::uint64_t free = 0;       ///< memory of a GPU that nothing else uses
  std::uint64_t available = 0;  ///< the part of it that the engine uses
  /// The most that fits: the context of the training if one sequence of it fits, otherwise the largest one.
  std::uint64_t most_context = 0;
  std::uint64_t most_concurrency = 0;
  std::vector<Remark> remarks;
  /// What would fit, if it does not: "a context of 16,384 tokens (--context 16384)", "2 GPUs (--gpus 2)".
  std::vector<std::string> alternatives;
  std::uint64_t disk = 0;         ///< bytes of all weights
  std::uint64_t host_memory = 0;  ///< bytes for loading
  std::uint64_t shm = 0;          ///< bytes of /dev/shm
};

/// Compares a model with a demand. Never "fits" if a figure is unknown.
[[nodiscard]] Fit fit(const Model& model, const Demand& demand);

/// "weights 15.0 GiB + cache 4.0 GiB (32,768 tokens x 1) + 2.5 GiB, of 71.6 GiB free: fits on 1 GPU; at most
/// 131,072 x 3"
[[nodiscard]] std::string sentence_of(const Fit& fit);

[[nodiscard]] base::Tree to_tree(const Model& model);
[[nodiscard]] base::Tree to_tree(const Fit& fit);

}  // namespace model
