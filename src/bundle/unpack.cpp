#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace bundle {

namespace {

using base::Fault;

/// A file, read in pieces.
struct Input {
  std::ifstream file;
  std::string name;
  std::vector<char> buffer = std::vector<char>(256u << 10);
  std::size_t at = 0, end = 0;

  /// Reads more bytes; false at the end.
  Result<bool> fill() {
    if (at < end) return true;
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    at = 0;
    end = static_cast<std::size_t>(file.gcount());
    if (file.bad()) return base::fail(Fault::usage, fmt::format("cannot read {}", name));
    return end > 0;
  }
  [[nodiscard]] std::unexpected<base::Error> damaged() const {
    return base::fail(Fault::parse, fmt::format("{}: damaged: invalid compressed data", name));
  }
  [[nodiscard]] std::unexpected<base::Error> cut() const {
    return base::fail(Fault::parse, fmt::format("{}: truncated", name));
  }
};

Result<std::size_t> plain(Input& input, char* into, std::size_t most) {
  if (!TRY(input.fill())) return 0;
  const std::size_t count = std::min(most, input.end - input.at);
  std::memcpy(into, input.buffer.data() + input.at, count);
  input.at += count;
  return count;
}

struct Zstd {
  Input input;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), &ZSTD_freeDCtx};
  bool inside = false;  ///< a frame has begun and not ended

  Result<std::size_t> read(char* into, std::size_t most) {
    while (true) {
      const bool more = TRY(input.fill());
      if (!more && !inside) return 0;
      ZSTD_inBuffer in{input.buffer.data() + input.at, input.end - input.at, 0};
      ZSTD_outBuffer out{into, most, 0};
      const std::size_t rest = ZSTD_decompressStream(context.get(), &out, &in);
      if (ZSTD_isError(rest) != 0) return input.damaged();
      inside = rest != 0;
      input.at += in.pos;
      if (out.pos > 0) return out.pos;
      if (!more) return input.cut();
    }
  }
};

struct Gzip {
  Input input;
  z_stream stream{};
  bool inside = false;

  explicit Gzip(Input from) : input(std::move(from)) { inflateInit2(&stream, 15 + 16); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() { inflateEnd(&stream); }

  Result<std::size_t> read(char* into, std::size_t most) {
    while (true) {
      const bool more = TRY(input.fill());
      if (!more && !inside) return 0;
      stream.next_in = reinterpret_cast<Bytef*>(input.buffer.data() + input.at);
      stream.avail_in = static_cast<uInt>(input.end - input.at);
      stream.next_out = reinterpret_cast<Bytef*>(into);
      stream.avail_out = static_cast<uInt>(std::min<std::size_t>(most, 1u << 20));
      const uInt space = stream.avail_out;
      inside = true;
      const int status = inflate(&stream, Z_NO_FLUSH);
      input.at = input.end - stream.avail_in;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return input.damaged();
      if (status == Z_STREAM_END) {  // another member may follow
        inside = false;
        inflateReset(&stream);
      }
      if (stream.avail_out < space) return space - stream.avail_out;
      if (!more) return input.cut();
    }
  }
};

struct Xz {
  Input input;
  lzma_stream stream = LZMA_STREAM_INIT;
  bool ended = false;

  /// The strongest preset needs 65 MiB.
  static constexpr std::uint64_t most_memory = 128u << 20;

  explicit Xz(Input from) : input(std::move(from)) {
    if (lzma_stream_decoder(&stream, most_memory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  ~Xz() { lzma_end(&stream); }

  Result<std::size_t> read(char* into, std::size_t most) {
    while (!ended) {
      const bool more = TRY(input.fill());
      stream.next_in = reinterpret_cast<const std::uint8_t*>(input.buffer.data() + input.at);
      stream.avail_in = input.end - input.at;
      stream.next_out = reinterpret_cast<std::uint8_t*>(into);
      stream.avail_out = most;
      const lzma_ret status = lzma_code(&stream, more ? LZMA_RUN : LZMA_FINISH);
      input.at = input.end - stream.avail_in;
      ended = status == LZMA_STREAM_END;
      if (status == LZMA_BUF_ERROR) return input.cut();
      if (status != LZMA_OK && !ended) return input.damaged();
      if (stream.avail_out < most) return most - stream.avail_out;
    }
    return 0;
  }
};

}  // namespace

Result<ReadSome> read_unpacked(const std::filesystem::path& file) {
  Input input;
  input.name = file.string();
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    return base::fail(Fault::usage, fmt::format("cannot read {}: not a regular file", input.name));
  input.file.open(file, std::ios::binary);
  if (!input.file)
    return base::fail(Fault::usage, fmt::format("cannot read {}: {}", input.name, std::strerror(errno)));
  (void)TRY(input.fill());
  const std::string_view head(input.buffer.data(), std::min<std::size_t>(input.end, 6));
  if (head.starts_with("\x28\xb5\x2f\xfd")) {
    const auto state = std::make_shared<Zstd>(Zstd{.input = std::move(input)});
    return [state](char* into, std::size_t most) { return state->read(into, most); };
  }
  if (head.starts_with("\x1f\x8b")) {
    const auto state = std::make_shared<Gzip>(std::move(input));
    return [state](char* into, std::size_t most) { return state->read(into, most); };
  }
  if (head == std::string_view("\xfd"
                               "7zXZ\0",
                               6)) {
    const auto state = std::make_shared<Xz>(std::move(input));
    return [state](char* into, std::size_t most) { return state->read(into, most); };
  }
  const auto state = std::make_shared<Input>(std::move(input));
  return [state](char* into, std::size_t most) { return plain(*state, into, most); };
}

// --- Writing -----------------------------------------------------------------------------------------

struct ZstdWriter::State {
  std::filesystem::path file, beside;
  std::ofstream out;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), &ZSTD_freeCCtx};
  std::vector<char> buffer = std::vector<char>(ZSTD_CStreamOutSize());
  bool ended = false;

  Result<> put(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer to{buffer.data(), buffer.size(), 0};
      const std::size_t rest = ZSTD_compressStream2(context.get(), &to, &in, how);
      if (ZSTD_isError(rest) != 0) return base::fail(Fault::bug, "Zstandard: cannot compress");
      if (!out.write(buffer.data(), static_cast<std::streamsize>(to.pos)))
        return base::fail(Fault::usage,
                          fmt::format("cannot write {}: {}", beside.string(), std::strerror(errno)),
                          "free space on its file system");
      if (how == ZSTD_e_end ? rest == 0 : in.pos == in.size) return {};
    }
  }
};

ZstdWriter::ZstdWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZstdWriter::ZstdWriter(ZstdWriter&&) noexcept = default;
ZstdWriter::~ZstdWriter() {
  std::error_code error;
  if (state_ && !state_->ended) std::filesystem::remove(state_->beside, error);
}

Result<ZstdWriter> ZstdWriter::make(const std::filesystem::path& file) {
  auto state = std::make_unique<State>();
  state->file = file;
  state->beside = file.string() + ".part";
  state->out.open(state->beside, std::ios::binary | std::ios::trunc);
  if (!state->out)
    return base::fail(Fault::usage, fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)),
                      "specify a file in a directory that you can write to");
  ZSTD_CCtx_setParameter(state->context.get(), ZSTD_c_compressionLevel, 3);
  ZSTD_CCtx_setParameter(state->context.get(), ZSTD_c_checksumFlag, 1);
  return ZstdWriter(std::move(state));
}

Result<> ZstdWriter::add(std::string_view bytes) {
  if (bytes.empty()) return {};
  return state_->put(bytes, ZSTD_e_continue);
}

Result<> ZstdWriter::end() {
  TRY(state_->put({}, ZSTD_e_end));
  state_->out.close();
  std::error_code error;
  if (state_->out) std::filesystem::rename(state_->beside, state_->file, error);
  if (!state_->out || error)
    return base::fail(Fault::usage, fmt::format("cannot write {}", state_->file.string()),
                      "free space on its file system");
  state_->ended = true;
  return {};
}

}  // namespace bundle
