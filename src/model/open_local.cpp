#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/model/read.hpp"

#include "model/weights.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace model {

namespace {

namespace fs = std::filesystem;
using base::Fault;

/// All headers of a model together.
constexpr std::uint64_t most_bytes = 256u << 20;

/// A descriptor that is closed.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  int number;
};

std::unexpected<base::Error> cannot(const fs::path& path, std::string_view why) {
  return base::fail(Fault::usage, fmt::format("{}: {}", base::printable(path.string(), 300), why),
                    "name a folder with config.json and .safetensors files, or a .gguf file");
}

/// Reads up to `size` bytes from the beginning. A short file is not an error.
Result<std::string> head_of(int descriptor, std::uint64_t size, const fs::path& path) {
  std::string head(size, '\0');
  std::size_t got = 0;
  while (got < size) {
    const ssize_t more = ::pread(descriptor, head.data() + got, size - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return cannot(path, std::strerror(errno));
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  head.resize(got);
  return head;
}

Result<File> open_file(const fs::path& path) {
  // A FIFO would block.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (descriptor.number < 0 || ::fstat(descriptor.number, &info) != 0)
    return cannot(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return cannot(path, "not a regular file");
  File file{path.filename().string(), static_cast<std::uint64_t>(info.st_size), {}};
  const bool is_gguf = file.name.ends_with(".gguf");
  const bool is_weights = is_gguf || file.name.ends_with(".safetensors");
  std::uint64_t wanted = file.name == "config.json" ? largest_config + 1 : largest_index;
  if (is_weights) wanted = 4096;
  file.head = TRY(head_of(descriptor.number, std::min(wanted, file.size), path));
  if (is_gguf) {
    for (const std::uint64_t size : {first_gguf, largest_gguf})
      if (needs_more(file)) file.head = TRY(head_of(descriptor.number, std::min(size, file.size), path));
  } else if (is_weights) {
    const std::uint64_t header = TRY(header_size(file.head, file.name));
    if (file.head.size() < header)
      file.head = TRY(head_of(descriptor.number, std::min(header, file.size), path));
  }
  return file;
}

bool is_of_a_model(const std::string& name) {
  return name == "config.json" || name == "model.safetensors.index.json" || name == "hf_quant_config.json" ||
         name.ends_with(".safetensors") || name.ends_with(".gguf");
}

Result<> open_files(const fs::path& folder, const std::vector<std::string>& names, Files& files) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names) {
    files.files.push_back(TRY(open_file(folder / name)));
    bytes += files.files.back().head.size();
    if (bytes > most_bytes)
      return cannot(folder,
                    fmt::format("the headers of its files have more than {}", base::human_bytes(most_bytes)));
  }
  return {};
}

}  // namespace

Result<Files> open_local(const fs::path& path) {
  Files files{path.string(), {}};
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (const std::string why = base::why_no_file(path); !why.empty()) return cannot(path, why);
    if (!path.string().ends_with(".gguf")) return cannot(path, "is neither a folder nor a .gguf file");
    TRY(open_files(path.parent_path(), parts_of(path.filename().string()), files));
    return files;
  }
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_of_a_model(name)) names.push_back(name);
    if (names.size() > most_files) return cannot(path, fmt::format("has more than {} files", most_files));
  }
  if (error) return cannot(path, error.message());
  if (names.empty()) return cannot(path, "has no model: neither config.json nor .safetensors or .gguf files");
  std::ranges::sort(names);
  TRY(open_files(path, names, files));
  return files;
}

}  // namespace model
