#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace bundle {

using base::Fault;

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
