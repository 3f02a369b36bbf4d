#pragma once

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

/// The text of tests/cases/report/<name>. With GPUADM_REWRITE_CASES set the file is rewritten from what
/// was seen, to be read and committed.
inline std::string expected(std::string_view name, std::string_view seen) {
  const std::string path = fmt::format("{}/cases/report/{}", GPUADM_TESTS_DIR, name);
  if (std::getenv("GPUADM_REWRITE_CASES") != nullptr) (void)base::write_file(path, seen, 0644);
  return base::read_file(path).value_or(fmt::format("no such file: {}", path));
}

/// Escape sequences as \e, so that a case is a readable file.
inline std::string visible(std::string text) {
  return base::replace_all(base::replace_all(std::move(text), "\x1b", "\\e"), "\r", "\\r");
}
