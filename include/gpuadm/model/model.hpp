#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What a language model needs: read from its files, compared with GPUs. Knows no host.
namespace model {

enum class Format { safetensors, gguf };

/// Layers whose cache is alike.
struct CacheLayers {
  int layers = 0;
  /// Numbers that a layer stores for each token, keys and values together. Heads: heads × (size of a key +
  /// size of a value). MLA: the rank of the compressed vector + the rotated part of a key, which all heads
  /// share.
  std::uint64_t values = 0;
  std::uint64_t window = 0;  ///< tokens that the layer attends to, and stores; 0: all
  bool by_heads = true;      ///< false: every GPU of tensor parallelism stores all of it
  bool chunked = false;      ///< the window is a chunk, as in Llama 4
  friend bool operator==(const CacheLayers&, const CacheLayers&) = default;
};

/// A model, as its files describe it. What no file says is absent, never a guess.
struct Model {
  Format format = Format::safetensors;
  std::string place;         ///< of the files, for errors and the report
  std::string architecture;  ///< as written: "LlamaForCausalLM", or "llama" in a GGUF file
  /// Why the layout of its cache is unknown: "gpuadm does not know the architecture X". Empty: it is known.
  std::string unknown;

  /// The architecture has no row, and its cache is computed from the fields of plain attention in
  /// config.json.
  bool is_assumed = false;

  std::optional<std::uint64_t> parameters;
  std::uint64_t bytes = 0;         ///< of the weights in GPU memory: numbers of 32 bits are loaded as 16 bits
  std::uint64_t stored = 0;        ///< of the weights in files
  std::uint64_t largest_file = 0;  ///< bytes
  int files = 0;
  std::string type;  ///< of most weights: a name of types.hpp, "bf16", "fp8", "mxfp4", or of GGUF, "Q4_K"
  std::string quantization;  ///< "awq", "fp8", "mxfp4"; for GGUF the type of most weights; empty: none
  std::string cache_type;    ///< that the files want: a name of types.hpp, or another one; empty: not said
  std::string cache_method;  ///< of the quantization that wants it: "compressed-tensors", "modelopt"
  bool weights_read = true;  ///< false: only the size that an index says is known
  std::string compute;       ///< the type that the engine computes in: "bf16", "f16", "f32"; empty: not said

  int layers = 0, heads = 0, kv_heads = 0, head_size = 0;
  int kv_rank = 0, rope_size = 0;     ///< of MLA; 0: none
  std::uint64_t hidden = 0;           ///< size of a token's vector
  std::uint64_t intermediate = 0;     ///< of the feed-forward part that one token uses
  std::uint64_t vocabulary = 0;       ///< tokens
  std::uint64_t context = 0;          ///< tokens that the model was trained for; 0: not said
  int experts = 0, experts_used = 0;  ///< 0: none
  std::vector<CacheLayers> cache;     ///< empty if `unknown`

  [[nodiscard]] bool is_known() const { return unknown.empty(); }
};

}  // namespace model
