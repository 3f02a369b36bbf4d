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

/// Parses data/checks/<area>.yaml of every area. Fault::parse contains the file and the key; rejects causes
/// that are not checks of the catalog, and cyclic causes.
[[nodiscard]] base::Result<Catalogue> read_catalogue(
    const std::function<base::Result<std::string>(std::string_view path)>& asset);

/// The check that explains why `id` failed on a host, or nothing: the nearest of its causes that failed
/// there, or of their causes in turn. A cause that passed explains nothing, and hides the causes behind it.
[[nodiscard]] std::string cause_of(std::string_view id, std::span<const report::Finding> of_host,
                                   const Catalogue& catalogue);

}  // namespace checks
