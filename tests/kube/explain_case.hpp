#pragma once

#include "gpuadm/base/text.hpp"
#include "gpuadm/kube/explanation.hpp"

#include "case_text.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

// A case is tests/cases/explain-pod/<what it shows>/{input,expected.yaml}. An input that is not a whole
// output of playbooks/cluster.sh replaces sections of base.txt.

using PodParts = std::vector<std::pair<std::string, std::string>>;

/// The sections of an output, by name.
inline PodParts pod_parts_of(std::string_view text) {
  PodParts parts;
  for (const std::string_view line : base::lines(text)) {
    if (line.starts_with("=== ")) parts.emplace_back(line, "");
    if (!parts.empty()) parts.back().second += std::string(line) + "\n";
  }
  return parts;
}

inline std::string completed(const std::string& input, const std::filesystem::path& folder) {
  if (input.starts_with("gpuadm-probe")) return input;
  PodParts all = pod_parts_of(case_text(folder.parent_path() / "base.txt"));
  for (auto& [name, text] : pod_parts_of(input)) {
    const auto place = std::ranges::find(all, name, &PodParts::value_type::first);
    if (place == all.end())
      all.emplace(all.end() - 1, name, text);
    else
      place->second = text;
  }
  std::string text = "gpuadm-probe 1\n";
  for (const auto& [name, part] : all) text += part;
  return text;
}

inline kube::PodView explain_case(const std::filesystem::path& folder) {
  auto view = kube::parse_pod_view(completed(case_text(folder / "input"), folder));
  REQUIRE_MESSAGE(view.has_value(), view.error().what);
  return std::move(*view);
}
