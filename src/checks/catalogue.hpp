#pragma once

#include "gpuadm/checks/checks.hpp"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace checks {

/// Articles by check id.
using Catalogue = std::map<std::string, Article, std::less<>>;

/// Reads data/checks/<area>.yaml of every area. Fault::parse names the file and the key; it refuses causes
/// that are no checks of the catalogue, and causes in a circle.
[[nodiscard]] base::Result<Catalogue> read_catalogue(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// The check that explains why `id` failed on a host, or nothing: the nearest of its causes that failed
/// there, or of their causes in turn. A cause that passed explains nothing, and hides what lies behind it.
[[nodiscard]] std::string cause_of(std::string_view id, std::span<const report::Finding> of_host,
                                   const Catalogue& catalogue);

}  // namespace checks
