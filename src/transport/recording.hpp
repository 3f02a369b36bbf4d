#pragma once

#include "gpuadm/transport/transport.hpp"

#include <filesystem>
#include <string>

/// The files of a recording: docs/reference/recordings.md.
namespace transport {

/// One result: the exit or the error of a command.
struct Answer {
  std::string script;  ///< secrets masked
  Result<Exit> result;
};

/// The text with every secret of the command replaced.
[[nodiscard]] std::string mask(std::string text, const Command& command);

/// Writes `folder`/NNNN-label/. The label, effect and user of `command` are for the reader.
[[nodiscard]] Result<> write_answer(const std::filesystem::path& folder, std::size_t number,
                                    const Command& command, const Result<Exit>& result);
/// Reads one subdirectory. Fault::parse contains the file's name.
[[nodiscard]] Result<Answer> read_answer(const std::filesystem::path& folder);

}  // namespace transport
