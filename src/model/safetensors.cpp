#include "model/safetensors.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace model {

namespace {

/// Bits of a number of each type:
/// https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs (Dtype)
constexpr std::array type_bits = std::to_array<std::pair<std::string_view, std::uint64_t>>(
    {{"BOOL", 8},    {"U8", 8},      {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},
     {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16}, {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},
     {"U32", 32},    {"F32", 32},    {"C64", 64}, {"F64", 64},    {"I64", 64},    {"U64", 64}});

constexpr std::uint64_t length_bytes = 8;
constexpr int layer_of_prediction = 1'000'000;  ///< behind the last layer of every model

/// The numbers of a language model's layer; towers for images have layers of their own.
constexpr std::array<std::string_view, 4> layer_prefixes = {"model.layers.", "language_model.model.layers.",
                                                            "model.language_model.layers.", "transformer.h."};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The tensors of one header, as its scalars come in.
class Tensors {
 public:
  Tensors(const File& file, std::uint64_t data) : file_(file), data_(data) {}

  void take(const std::vector<std::string>& keys, const base::Tree& value) {
    if (!why_.empty() || keys.empty() || keys[0] == "__metadata__") return;
    if (keys[0] != name_) {
      end();
      name_ = keys[0];
    }
    if (keys.size() != 2) return fail("is not a tensor");
    const auto number = value.as_int();
    if (keys[1] == "dtype" && value.as_string())
      type_ = *value.as_string();
    else if (keys[1] == "shape")
      add_dimension(number);
    else if (keys[1] == "data_offsets")
      add_offset(number);
  }

  Result<Weights> weights() {
    end();
    if (!why_.empty()) return bad_file(file_.name, why_);
    if (weights_.stored == 0) return bad_file(file_.name, "it has no tensors");
    if (last_ > file_.size - data_)
      return bad_file(file_.name,
                      fmt::format("truncated: it has {}, and its tensors end at {}",
                                  base::human_bytes(file_.size), base::human_bytes(data_ + last_)),
                      "copy or download it again");
    return std::move(weights_);
  }

 private:
  void fail(const std::string& why) {
    if (why_.empty()) why_ = fmt::format("the tensor {} {}", base::printable(name_, 100), why);
  }
  void add_dimension(std::optional<std::int64_t> number) {
    if (!number || *number < 0) return fail("has an impossible shape");
    const auto product = product_of(elements_, static_cast<std::uint64_t>(*number));
    if (!product) return fail("has an impossible shape");
    elements_ = *product;
  }
  void add_offset(std::optional<std::int64_t> number) {
    if (!number || *number < 0 || offsets_.second) return fail("has impossible offsets");
    (offsets_.first ? offsets_.second : offsets_.first) = static_cast<std::uint64_t>(*number);
  }
  void end() {
    if (name_.empty() || !why_.empty()) return;
    const auto* const type = std::ranges::find(type_bits, type_, &decltype(type_bits)::value_type::first);
    if (type == type_bits.end())
      return fail(fmt::format("has an unknown type: {}", base::printable(type_, 40)));
    const auto bits = product_of(elements_, type->second);
    if (!offsets_.first || !offsets_.second || *offsets_.second < *offsets_.first || !bits)
      return fail("has impossible offsets");
    const std::uint64_t bytes = *offsets_.second - *offsets_.first;
    if (bytes != (*bits + 7) / 8) return fail("has another size than its shape and its type");
    last_ = std::max(last_, *offsets_.second);
    count(bytes);
    name_.clear();
    type_.clear();
    elements_ = 1;
    offsets_ = {};
  }
  void count(std::uint64_t bytes) {
    const std::uint64_t elements = elements_;
    weights_.stored += bytes;
    weights_.elements += parameters_in(elements);
    weights_.by_type[type_] += bytes;
    const auto add_to = [&](int layer) {
      weights_.by_layer[layer].stored += bytes;
      weights_.by_layer[layer].elements += parameters_in(elements);
    };
    for (const std::string_view prefix : layer_prefixes)
      if (const auto layer = layer_in(name_, prefix)) add_to(*layer);
    // Of multi-token prediction, by name instead of by a number.
    if (name_.starts_with("mtp.") || name_.contains(".mtp.")) add_to(layer_of_prediction);
  }
  /// Scales and indices of a quantization are not parameters; packed numbers are several.
  [[nodiscard]] std::uint64_t parameters_in(std::uint64_t elements) const {
    for (const char* end : {"scale", "scales", "scale_inv", "qzeros", "g_idx", "zero_point", "absmax",
                            "weight_scale_2", "input_scale", "quant_map", "weight_shape"})
      if (name_.ends_with(end)) return 0;
    if (type_ == "I32" && (name_.ends_with("qweight") || name_.ends_with("weight_packed")))
      return elements * 8;
    if (type_ == "U8") return elements * 2;
    return elements;
  }

  const File& file_;
  std::uint64_t data_;  ///< where the tensors begin
  Weights weights_ = {};
  std::uint64_t last_ = 0;
  std::string why_ = {};
  // The current tensor
  std::string name_ = {}, type_ = {};
  std::uint64_t elements_ = 1;
  std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>> offsets_ = {};
};

}  // namespace

Result<std::uint64_t> header_size(std::string_view head, std::string_view name) {
  if (const std::string why = why_no_model(head); !why.empty()) return bad_file(name, why);
  if (head.size() < length_bytes + 2) return bad_file(name, "too short for a safetensors file");
  const std::uint64_t length = little_endian(head.substr(0, length_bytes));
  if (head[length_bytes] != '{' || length < 2)
    return bad_file(name, "is not a safetensors file: it does not begin with the length of a JSON header");
  if (length > largest_header)
    return bad_file(
        name, fmt::format("is not a safetensors file: its header would have {}", base::human_bytes(length)));
  return length_bytes + length;
}

Result<Weights> read_safetensors(const File& file) {
  const std::uint64_t data = TRY(header_size(file.head, file.name));
  if (data > file.size) return bad_file(file.name, "truncated: it ends in its header", "copy it again");
  if (file.head.size() < data)
    return bad_file(file.name, fmt::format("only {} of its header of {} were read",
                                           base::human_bytes(file.head.size()), base::human_bytes(data)));
  Tensors tensors(file, data);
  const std::string_view header = std::string_view(file.head).substr(length_bytes, data - length_bytes);
  TRY(base::json::each_scalar(header, base::printable(file.name, 200) + ": header",
                              [&](const auto& keys, const auto& value) { tensors.take(keys, value); }));
  return tensors.weights();
}

Result<Index> read_index(const File& file) {
  if (const std::string why = why_no_model(file.head); !why.empty()) return bad_file(file.name, why);
  Index index;
  std::string bad;
  TRY(base::json::each_scalar(file.head, base::printable(file.name, 200),
                              [&](const std::vector<std::string>& keys, const base::Tree& value) {
                                if (keys.size() != 2) return;
                                const auto number = value.as_real();
                                const bool fits = number && *number > 0 && *number < 1e18;
                                if (keys[0] == "metadata" && keys[1] == "total_size" && fits)
                                  index.total = static_cast<std::uint64_t>(*number);
                                else if (keys[0] == "metadata" && keys[1] == "total_parameters" && fits)
                                  index.parameters = static_cast<std::uint64_t>(*number);
                                else if (keys[0] == "weight_map" && value.as_string() && bad.empty()) {
                                  const std::string& name = *value.as_string();
                                  if (!base::is_inside(name))
                                    bad = name;
                                  else if (index.files.size() <= most_files)
                                    index.files.insert(name);
                                }
                              }));
  if (!bad.empty()) return bad_file(file.name, fmt::format("names a file outside of the model: {}", bad));
  if (index.files.empty()) return bad_file(file.name, "its weight_map names no file");
  if (index.files.size() > most_files)
    return bad_file(file.name, fmt::format("names more than {} files", most_files));
  return index;
}

}  // namespace model
