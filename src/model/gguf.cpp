#include "model/gguf.hpp"

#include "gpuadm/base/text.hpp"

#include "model/gguf_cursor.hpp"
#include "model/gguf_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace model {

namespace {

/// Real files have fewer than 100 keys and 3,000 tensors.
constexpr std::uint64_t most_keys = 65'536, most_tensors = 1'000'000, most_dimensions = 8,
                        most_items = 10'000;
constexpr std::uint64_t least_alignment = 1, most_alignment = 1u << 20, usual_alignment = 32;
/// Types of values by their number: uint8, int8, uint16, int16, uint32, int32, float32, bool, string, array,
/// uint64, int64, float64.
constexpr std::array<std::size_t, 13> value_sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint32_t string_type = 8, array_type = 9;

bool is_integer(std::uint32_t type) {
  return type != 6 && type != 12;
}
bool is_signed(std::uint32_t type) {
  return type == 1 || type == 3 || type == 5 || type == 11;
}

/// A header that is read to its end, or until the first fault.
class Header {
 public:
  explicit Header(const File& file) : file_(file), cursor_(file.head) {}

  void read() {
    cursor_.take(4);
    const std::uint32_t version = cursor_.u32();
    if (version != 2 && version != 3)
      return fail(version == 0x02000000 || version == 0x03000000
                      ? "is a big-endian GGUF file; GPUs need a little-endian one"
                      : fmt::format("has version {} of GGUF; gpuadm reads 2 and 3", version));
    gguf_.tensors = cursor_.u64();
    const std::uint64_t keys = cursor_.u64();
    if (gguf_.tensors > most_tensors || keys > most_keys)
      return fail(fmt::format("has impossible counts: {} tensors, {} keys", gguf_.tensors, keys));
    for (std::uint64_t i = 0; i < keys && good(); ++i) read_key();
    for (std::uint64_t i = 0; i < gguf_.tensors && good(); ++i) read_tensor();
    if (good()) check_end();
  }
  /// The header continues after the bytes that were read.
  [[nodiscard]] bool ended() const { return why_.empty() && cursor_.ended(); }

  Result<Gguf> result() {
    if (ended())
      return bad_file(file_.name, file_.head.size() >= file_.size ? "truncated: it ends in its header"
                                                                  : "its header does not end within the "
                                                                    "bytes that were read");
    if (!why_.empty()) return bad_file(file_.name, why_);
    return std::move(gguf_);
  }

 private:
  [[nodiscard]] bool good() const { return why_.empty() && !cursor_.ended(); }
  void fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
  }

  void read_key() {
    const std::string key(cursor_.string());
    const std::uint32_t type = cursor_.u32();
    if (!good()) return;
    if (type == string_type) {
      const std::string_view text = cursor_.string();
      if (key == "general.architecture") gguf_.architecture = text;
    } else if (type == array_type) {
      read_array(key);
    } else if (type < value_sizes.size()) {
      const std::int64_t value = read_number(type);
      if (is_integer(type)) gguf_.numbers[key] = value;
    } else {
      fail(fmt::format("the key {} has a value of the unknown type {}", base::printable(key, 100), type));
    }
  }
  std::int64_t read_number(std::uint32_t type) {
    const std::size_t size = value_sizes[type];
    std::uint64_t value = cursor_.number(size);
    if (is_signed(type) && size < 8 && (value >> (size * 8 - 1)) != 0)
      value |= ~std::uint64_t{0} << (size * 8);
    return static_cast<std::int64_t>(value);
  }
  void read_array(const std::string& key) {
    const std::uint32_t type = cursor_.u32();
    const std::uint64_t count = cursor_.u64();
    if (!good()) return;
    if (type >= value_sizes.size() || type == array_type)
      return fail(fmt::format("the key {} is a list of an unknown type", base::printable(key, 100)));
    if (key == "tokenizer.ggml.tokens") gguf_.vocabulary = count;
    // Lists of the tokenizer may have a number for each token.
    const bool is_used = !key.starts_with("tokenizer.");
    if (type == string_type) {
      for (std::uint64_t i = 0; i < count && good(); ++i) (void)cursor_.string();
    } else if (is_used && is_integer(type) && count <= most_items) {
      std::vector<std::int64_t> list;
      for (std::uint64_t i = 0; i < count && good(); ++i) list.push_back(read_number(type));
      gguf_.lists[key] = std::move(list);
    } else if (const auto bytes = product_of(count, value_sizes[type])) {
      cursor_.take(*bytes);
    } else {
      fail(fmt::format("the list {} has an impossible length", base::printable(key, 100)));
    }
  }

  void read_tensor() {
    const std::string_view name = cursor_.string();
    const std::uint32_t dimensions = cursor_.u32();
    if (!good()) return;
    const auto bad = [&](std::string_view what) {
      fail(fmt::format("the tensor {} has {}", base::printable(name, 100), what));
    };
    if (dimensions > most_dimensions) return bad("too many dimensions");
    std::uint64_t elements = 1, row = 0;
    bool fits = true;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const std::uint64_t size = cursor_.u64();
      if (i == 0) row = size;
      const auto product = product_of(elements, size);
      fits = fits && product;
      elements = product.value_or(0);
    }
    const std::uint32_t id = cursor_.u32();
    const std::uint64_t offset = cursor_.u64();
    if (!good()) return;
    const GgufType* type = find_gguf_type(id);
    if (!type) {
      gguf_.unknown_type = fmt::format("gpuadm does not know the type {} of its tensors", id);
      return;
    }
    const auto bytes = product_of(elements / type->count, type->bytes);
    if (!fits || !bytes || row % type->count != 0) return bad("an impossible shape");
    const std::uint64_t end = offset + *bytes;
    if (end < offset) return bad("an impossible offset");
    last_ = std::max(last_, end);
    gguf_.weights.stored += *bytes;
    gguf_.weights.elements += elements;
    gguf_.weights.by_type[std::string(type->name)] += *bytes;
    if (const auto layer = layer_in(name, "blk.")) {
      gguf_.weights.by_layer[*layer].stored += *bytes;
      gguf_.weights.by_layer[*layer].elements += elements;
    }
  }

  void check_end() {
    const auto given = gguf_.numbers.find("general.alignment");
    const std::uint64_t alignment =
        given == gguf_.numbers.end() ? usual_alignment : static_cast<std::uint64_t>(given->second);
    if (alignment < least_alignment || alignment > most_alignment)
      return fail("has an impossible general.alignment");
    const std::uint64_t data = (cursor_.position() + alignment - 1) / alignment * alignment;
    if (last_ > 0 && (data > file_.size || last_ > file_.size - data))
      fail(fmt::format("truncated: it has {}, and its tensors end at {}", base::human_bytes(file_.size),
                       base::human_bytes(data + last_)));
  }

  const File& file_;
  Cursor cursor_;
  Gguf gguf_ = {};
  std::uint64_t last_ = 0;  ///< where the last tensor ends, after the header
  std::string why_ = {};
};

}  // namespace

std::optional<std::int64_t> Gguf::number(std::string_view key) const {
  const auto found = numbers.find(architecture + "." + std::string(key));
  if (found == numbers.end()) return std::nullopt;
  return found->second;
}

std::vector<std::int64_t> Gguf::list(std::string_view key) const {
  const auto found = lists.find(architecture + "." + std::string(key));
  if (found != lists.end()) return found->second;
  if (const auto one = number(key)) return {*one};
  return {};
}

Result<Gguf> read_gguf(const File& file) {
  if (const std::string why = why_no_model(file.head); !why.empty()) return bad_file(file.name, why);
  if (!file.head.starts_with("GGUF"))
    return bad_file(file.name, fmt::format("is not a GGUF file: it begins with '{}' instead of 'GGUF'",
                                           base::printable(std::string_view(file.head).substr(0, 4))));
  Header header(file);
  header.read();
  return header.result();
}

bool needs_more(const File& file) {
  if (!file.head.starts_with("GGUF") || file.head.size() >= file.size) return false;
  Header header(file);
  header.read();
  return header.ended();
}

}  // namespace model
