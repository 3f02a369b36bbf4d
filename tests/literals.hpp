#pragma once

#include "case_text.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// A text that gpuadm contains: a string literal of a source, neighbors joined. `{}` stands for a value.
struct Literal {
  std::string file, text;
};

/// The string literals of src/, outside comments.
inline std::vector<Literal> literals_of_sources() {
  namespace fs = std::filesystem;
  std::vector<Literal> all;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(GPUADM_SOURCE_DIR) / "src")) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    const std::string source = case_text(entry.path());
    bool joins = false;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const char c = source[i];
      if (c == '/' && i + 1 < source.size() && source[i + 1] == '/') {
        i = source.find('\n', i);
        if (i == std::string::npos) break;
        continue;
      }
      if (c == '\'' && i + 2 < source.size()) {  // a character, not a digit separator
        const std::size_t end = source[i + 1] == '\\' ? i + 3 : i + 2;
        if (end < source.size() && source[end] == '\'') i = end;
        continue;
      }
      if (c == 'R' && source.compare(i, 3, "R\"(") == 0) {
        i = source.find(")\"", i) + 1;
        continue;
      }
      if (c != '"') {
        if (c != ' ' && c != '\n') joins = false;
        continue;
      }
      std::string text;
      for (++i; i < source.size() && source[i] != '"'; ++i) {
        if (source[i] == '\\') ++i;
        text += source[i] == 'n' && source[i - 1] == '\\' ? '\n' : source[i];
      }
      if (joins)
        all.back().text += text;
      else
        all.push_back({entry.path().string(), text});
      joins = true;
    }
  }
  return all;
}
