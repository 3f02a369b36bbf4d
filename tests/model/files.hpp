#pragma once

#include "gpuadm/model/read.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Files of models, made from values.
namespace model_files {

inline std::string bytes_of(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

/// A safetensors file with this header; `data`: the size of its tensors.
inline model::File safetensors(const std::string& name, const std::string& header, std::uint64_t data) {
  return {name, 8 + header.size() + data, bytes_of(header.size(), 8) + header};
}

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

/// A GGUF file, key by key.
class GgufFile {
 public:
  GgufFile& text(const std::string& key, const std::string& value) {
    return add(key, 8, bytes_of(value.size(), 8) + value);
  }
  GgufFile& number(const std::string& key, std::uint64_t value) { return add(key, 4, bytes_of(value, 4)); }
  /// Of uint32, or of truths.
  GgufFile& list(const std::string& key, const std::vector<std::uint64_t>& values, std::uint32_t type = 4) {
    std::string bytes = bytes_of(type, 4) + bytes_of(values.size(), 8);
    for (const std::uint64_t value : values) bytes += bytes_of(value, type == 7 ? 1 : 4);
    return add(key, 9, bytes);
  }
  GgufFile& tokens(std::uint64_t count) {
    std::string bytes = bytes_of(8, 4) + bytes_of(count, 8);
    for (std::uint64_t i = 0; i < count; ++i) bytes += bytes_of(1, 8) + "t";
    return add("tokenizer.ggml.tokens", 9, bytes);
  }
  GgufFile& tensor(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  /// `data`: the size of its tensors.
  [[nodiscard]] model::File file(const std::string& name, std::uint64_t data,
                                 std::uint32_t version = 3) const {
    std::string head =
        "GGUF" + bytes_of(version, 4) + bytes_of(tensors_.size(), 8) + bytes_of(count_, 8) + keys_;
    for (const Tensor& tensor : tensors_) {
      head += bytes_of(tensor.name.size(), 8) + tensor.name + bytes_of(tensor.shape.size(), 4);
      for (const std::uint64_t size : tensor.shape) head += bytes_of(size, 8);
      head += bytes_of(tensor.type, 4) + bytes_of(tensor.offset, 8);
    }
    const std::uint64_t padded = (head.size() + 31) / 32 * 32;
    return {name, padded + data, head};
  }

 private:
  GgufFile& add(const std::string& key, std::uint32_t type, const std::string& value) {
    keys_ += bytes_of(key.size(), 8) + key + bytes_of(type, 4) + value;
    ++count_;
    return *this;
  }
  std::string keys_;
  std::vector<Tensor> tensors_;
  std::uint64_t count_ = 0;
};

/// A small model of the architecture llama with one tensor of Q8_0.
inline GgufFile tiny_gguf() {
  GgufFile file;
  file.text("general.architecture", "llama")
      .number("llama.block_count", 2)
      .number("llama.embedding_length", 64);
  file.number("llama.attention.head_count", 4).number("llama.attention.head_count_kv", 2);
  file.number("llama.context_length", 4096).number("llama.feed_forward_length", 128).tokens(100);
  return file.tensor({"blk.0.attn_q.weight", {64, 64}, 8, 0});
}
constexpr std::uint64_t tiny_gguf_data = 64 * 64 / 32 * 34;

/// A small Llama in safetensors: one tensor of bf16.
inline const std::string tiny_header =
    R"({"__metadata__":{"format":"pt"},"model.layers.0.mlp.up_proj.weight":)"
    R"({"dtype":"BF16","shape":[64,32],"data_offsets":[0,4096]}})";
inline const std::string tiny_config =
    R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":2,"num_attention_heads":4,)"
    R"("num_key_value_heads":2,"hidden_size":64,"intermediate_size":128,"vocab_size":100,)"
    R"("max_position_embeddings":4096,"torch_dtype":"bfloat16"})";
inline model::File config_file(const std::string& text) {
  return {"config.json", text.size(), text};
}
inline model::Files tiny_safetensors() {
  return {"tiny", {config_file(tiny_config), safetensors("model.safetensors", tiny_header, 4096)}};
}

/// The error of reading these files; empty: there is none.
inline std::string error_of(const model::Files& files) {
  const auto read = model::read(files);
  return read ? "" : read.error().what;
}

}  // namespace model_files
