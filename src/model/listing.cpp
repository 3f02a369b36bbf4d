#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/model/read.hpp"

#include <fmt/format.h>

namespace model {

namespace {

std::unexpected<base::Error> damaged(std::string_view place) {
  return base::fail(base::Fault::parse,
                    fmt::format("{}: the host's answer is damaged: a file may have changed while it was read",
                                base::printable(place, 300)),
                    "run the same command again");
}

}  // namespace

Result<Files> parse_listing(std::string_view text, std::string place) {
  Files files{std::move(place), {}};
  while (true) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return damaged(files.place);
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line == "end") return files;
    const auto fields = base::split(line, ' ');
    if (fields.size() < 4 || fields[0] != "file" || files.files.size() >= most_files)
      return damaged(files.place);
    const auto size = base::to_int(fields[1]), length = base::to_int(fields[2]);
    const std::string_view name = line.substr(static_cast<std::size_t>(fields[3].data() - line.data()));
    if (!size || !length || *length < 0 || *size < *length ||
        static_cast<std::uint64_t>(*length) > text.size() || !base::is_inside(name) ||
        name.find('/') != std::string_view::npos)
      return damaged(files.place);
    files.files.push_back({std::string(name), static_cast<std::uint64_t>(*size),
                           std::string(text.substr(0, static_cast<std::size_t>(*length)))});
    text.remove_prefix(static_cast<std::size_t>(*length));
  }
}

std::vector<std::string> parts_of(const std::string& name) {
  constexpr std::size_t tail = std::string_view("00001-of-00003.gguf").size();
  if (name.size() <= tail || name.substr(name.size() - tail + 5, 4) != "-of-") return {name};
  const std::string count = name.substr(name.size() - tail + 9, 5);
  const auto number = base::to_int(count);
  if (!number || *number < 1 || *number > static_cast<int>(most_files)) return {name};
  std::vector<std::string> parts;
  for (int i = 1; i <= *number; ++i)
    parts.push_back(fmt::format("{}{:05}-of-{}.gguf", name.substr(0, name.size() - tail), i, count));
  return parts;
}

}  // namespace model
