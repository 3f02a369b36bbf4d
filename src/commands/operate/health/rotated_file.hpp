#pragma once

#include "gpuadm/base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace commands {

/// Appends lines to FOLDER/NAME.jsonl, for root only. A file of more than `most` bytes becomes NAME.1.jsonl,
/// whose predecessor is deleted. Lines that cannot be written completely are not written; one that was cut
/// off earlier, as by a power failure, does not damage the lines after it. Fault::remote with the reason.
[[nodiscard]] base::Result<> append_rotated(const std::filesystem::path& folder, const std::string& name,
                                            std::uintmax_t most, const std::string& lines);

}  // namespace commands
