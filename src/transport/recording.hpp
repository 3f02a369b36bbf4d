#pragma once

#include "gpuadm/transport/transport.hpp"

#include <filesystem>
#include <string>

/// The files of a recording: docs/reference/recordings.md.
namespace transport {

/// One answer: the exit or the error that a command got.
struct Answer {
  std::string script;  ///< secrets masked
  Result<Exit> result;
};

/// The text with every secret of the command replaced.
[[nodiscard]] std::string mask(std::string text, const Command& command);

/// Writes `folder`/NNNN-label/. The label, effect and user of `command` are for the reader.
[[nodiscard]] Result<> write_answer(const std::filesystem::path& folder, std::size_t number,
                                    const Command& command, const Result<Exit>& result);
/// Reads one sub-folder. Fault::parse names the file.
[[nodiscard]] Result<Answer> read_answer(const std::filesystem::path& folder);

}  // namespace transport
