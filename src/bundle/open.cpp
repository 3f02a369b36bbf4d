#include "gpuadm/base/files.hpp"
#include "gpuadm/base/problems.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/bundle.hpp"

#include "bundle/image_archive.hpp"
#include "bundle/known_sums.hpp"

#include <fmt/format.h>

#include <set>

namespace bundle {

namespace {

namespace fs = std::filesystem;

/// The path of a file in the bundle, with symbolic links resolved; nothing, and a problem, if it is not a
/// file below the bundle.
std::optional<fs::path> locate(const fs::path& bundle, const std::string& path,
                               std::vector<std::string>& problems) {
  std::error_code error;
  const fs::path place = fs::canonical(bundle / path, error);
  if (error) {
    problems.push_back(fmt::format("{}: {}", path, error.message()));
    return std::nullopt;
  }
  const fs::path relative = place.lexically_relative(bundle);
  if (relative.empty() || *relative.begin() == "..") {
    problems.push_back(fmt::format("{}: points out of the bundle, to {}", path, place.string()));
    return std::nullopt;
  }
  if (fs::is_regular_file(place, error)) return place;
  problems.push_back(fmt::format("{}: not a regular file", path));
  return std::nullopt;
}

/// `of`: the owner of the file, if it is not in its path.
void verify(const fs::path& bundle, const std::string& path, const std::string& of,
            std::optional<std::uint64_t> size, const std::string& sha256, KnownSums& sums,
            std::vector<std::string>& problems) {
  const auto place = locate(bundle, path, problems);
  if (!place) {
    problems.back() += of;
    return;
  }
  std::error_code error;
  const std::uintmax_t there = fs::file_size(*place, error);
  if (size && !error && there != *size) {
    problems.push_back(fmt::format("{}: {} bytes, expected {}{}", path, there, *size, of));
    return;
  }
  const auto sum = sums.sum_of(*place);
  if (!sum)
    problems.push_back(sum.error().what);
  else if (*sum != sha256)
    problems.push_back(fmt::format("{}: its SHA-256 is {}, expected {}{}", path, *sum, sha256, of));
}

std::string whose(const BundleFile& file) {
  return fmt::format(" ({} {})", name_of(file.kind), file.name.empty() ? file.target : file.name);
}

Result<> verify_all(const Bundle& bundle, KnownSums& sums) {
  std::vector<std::string> problems;
  for (const BundleFile& file : bundle.files) {
    if (!file.path.empty())
      verify(bundle.directory, file.path, "", file.size, file.sha256, sums, problems);
    else if (file.parts.empty())
      verify(bundle.directory, blob_path(file.sha256), whose(file), file.size, file.sha256, sums, problems);
  }
  std::set<std::string> seen;
  for (const BundleFile& file : bundle.files)
    for (const BundlePart& part : file.parts)
      if (seen.insert(part.sha256).second)
        verify(bundle.directory, blob_path(part.sha256), whose(file), part.size, part.sha256, sums, problems);
  if (problems.empty()) return {};
  std::string what;
  for (const std::string& problem : problems)
    what += fmt::format("{}{}/{}", what.empty() ? "" : "\n", bundle.directory.string(), problem);
  return base::fail(base::Fault::spec, what,
                    "the file differs from manifest.yaml: copy the bundle again, or create it again");
}

}  // namespace

Result<Bundle> open_bundle(const std::filesystem::path& directory, const std::filesystem::path& cache,
                           std::string_view sum) {
  std::error_code error;
  const fs::path place = fs::canonical(directory, error);
  const fs::path manifest = place / "manifest.yaml";
  if (error)
    return base::fail(base::Fault::usage, fmt::format("{}: {}", directory.string(), error.message()));
  if (!fs::is_regular_file(manifest, error))
    return base::fail(base::Fault::usage,
                      fmt::format("{}: not a bundle: no manifest.yaml", directory.string()),
                      "specify the directory that contains manifest.yaml");
  const std::string text = TRY(base::read_file(manifest, 16u << 20));
  if (!sum.empty() && base::sha256(text) != sum)
    return base::fail(base::Fault::spec, fmt::format("{}: changed while reading", manifest.string()),
                      "run again");
  Bundle bundle = TRY(parse_bundle(text, manifest.string()));
  bundle.directory = place;
  KnownSums sums(cache.empty() ? fs::path() : cache / "sums");
  TRY(verify_all(bundle, sums));
  const BlobPlace blob = [&](const std::string& sha256) { return bundle.directory / blob_path(sha256); };
  for (BundleFile& file : bundle.files) {
    if (!file.path.empty()) continue;
    if (file.parts.empty())
      file.path = blob_path(file.sha256);
    else if (!cache.empty())
      file.path = TRY(put_together(file, blob, cache, sums)).string();
  }
  sums.save();
  return bundle;
}

}  // namespace bundle
