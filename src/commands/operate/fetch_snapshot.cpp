#include "commands/operate/fetch_snapshot.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/session/connections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace commands {

namespace {

using base::Fault;
using base::Result;
namespace fs = std::filesystem;

constexpr std::size_t piece_size = 8u << 20;
constexpr std::chrono::seconds piece_timeout{300};

/// Piece by piece, so that the file is never in memory as a whole.
Result<std::string> piece_of(const std::string& host, const std::string& path, std::uintmax_t number,
                             transport::Fleet& fleet, const assets::Store& assets) {
  transport::Command command = TRY(session::command_of({.label = "fetch the snapshot",
                                                        .asset = "playbooks/read/piece.sh",
                                                        .variables = {{"path", path},
                                                                      {"size", std::to_string(piece_size)},
                                                                      {"number", std::to_string(number)}},
                                                        .timeout = piece_timeout},
                                                       assets));
  command.output_limit = piece_size;
  transport::Exit exit = TRY(session::ask(host, std::move(command), fleet));
  if (exit.status != 0 || exit.out.empty())
    return base::fail(Fault::remote, fmt::format("{}: cannot read the snapshot", base::printable(host)));
  return std::move(exit.out);
}

}  // namespace

base::Result<> fetch_snapshot(const std::string& host, const std::string& path,
                              const cluster::Snapshot& snapshot, const fs::path& file,
                              transport::Fleet& fleet, const assets::Store& assets) {
  std::error_code unknown;
  const auto space = fs::space(file.has_parent_path() ? file.parent_path() : fs::path("."), unknown);
  if (!unknown && space.available < snapshot.size)
    return base::fail(Fault::usage,
                      fmt::format("{} has {} free, but the snapshot has {}", file.parent_path().string(),
                                  base::human_bytes(space.available), base::human_bytes(snapshot.size)),
                      "use another file system: --to FILE");
  std::optional<base::Error> failed;
  TRY(base::write_file(
      file,
      [&](const base::Sink& sink) {
        std::uintmax_t size = 0;
        for (std::uintmax_t number = 0; size < snapshot.size && !failed; ++number) {
          const auto piece = piece_of(host, path, number, fleet, assets);
          const std::uintmax_t due = std::min<std::uintmax_t>(piece_size, snapshot.size - size);
          if (!piece) {
            failed = piece.error();
          } else if (piece->size() != due) {
            failed = {Fault::remote,
                      fmt::format("{}: the snapshot has an unexpected size", base::printable(host)),
                      "run the same command again"};
          } else {
            sink(*piece);
            size += piece->size();
          }
        }
      },
      0600));
  const auto sum = base::sha256_of_file(file);
  if (!failed && (!sum || *sum != snapshot.sha256))
    failed = {Fault::remote, "the snapshot was damaged in transfer", "run the same command again"};
  if (failed) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return std::unexpected(*failed);
  }
  return base::write_file(cluster::sum_file(file),
                          fmt::format("{}  {}\n", snapshot.sha256, file.filename().string()), 0600);
}

}  // namespace commands
