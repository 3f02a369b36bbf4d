#include "gpuadm/bundle/files.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/pack.hpp"

#include "bundle/image_archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace bundle {

namespace {

namespace fs = std::filesystem;
using base::Fault;

constexpr const char* manifest_name = "manifest.yaml";
constexpr const char* signature_name = "manifest.yaml.sig";
constexpr std::size_t largest_text = 16u << 20;
constexpr std::size_t largest_signature = 64u << 10;

Result<std::string> read_entry(ArchiveReader& tar, const TarEntry& entry, std::size_t limit,
                               const std::string& source) {
  if (entry.type != '0' || entry.size > limit)
    return base::fail(Fault::spec, fmt::format("{}: {} in it is not a file of at most {}", source,
                                               base::printable(entry.name, 200), base::human_bytes(limit)));
  std::string text(static_cast<std::size_t>(entry.size), '\0');
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t got = TRY(tar.read(&text[at], text.size() - at));
    if (got == 0) return base::fail(Fault::parse, fmt::format("{}: truncated", source));
    at += got;
  }
  return text;
}

std::unexpected<base::Error> no_bundle(const std::string& source) {
  return base::fail(Fault::usage,
                    fmt::format("{}: not a bundle: it does not begin with manifest.yaml", source),
                    "create a bundle with gpuadm bundle create");
}

/// The archive of a bundle. A file that libarchive does not recognize is not a bundle.
Result<ArchiveReader> open_archive(const fs::path& place) {
  auto tar = ArchiveReader::tar(place);
  if (!tar && tar.error().fault == Fault::parse) return no_bundle(place.string());
  return tar;
}

/// The manifest of an archive, which is its first file.
Result<std::string> read_first(ArchiveReader& tar, const std::string& source) {
  const auto first = tar.next();
  if (!first || !*first || (*first)->name != manifest_name) return no_bundle(source);
  return read_entry(tar, **first, largest_text, source);
}

/// The owner of a blob, for errors.
std::string owner(const Bundle& bundle, const std::string& sha256) {
  for (const BundleFile& file : bundle.files) {
    const bool part = std::ranges::find(file.parts, sha256, &BundlePart::sha256) != file.parts.end();
    if (part || (file.path.empty() && file.sha256 == sha256))
      return fmt::format("{} {}", name_of(file.kind), file.name.empty() ? file.target : file.name);
  }
  return "nothing";
}

/// Reads one blob of an archive, verifies it, and writes it if it is missing; with an empty `into`, only
/// verifies.
Result<> unpack_blob(ArchiveReader& tar, const TarEntry& entry, const fs::path& into,
                     const std::string& sha256) {
  base::Sha256 sum;
  Result<> read;
  const auto take = [&](const base::Sink& sink) {
    std::vector<char> buffer(1u << 20);
    for (std::uint64_t left = entry.size; left > 0;) {
      const auto got = tar.read(buffer.data(), std::min<std::uint64_t>(buffer.size(), left));
      if (!got || *got == 0) {
        read = got ? base::fail(Fault::parse, "truncated") : std::unexpected(got.error());
        return;
      }
      sum.add(std::string_view(buffer.data(), *got));
      sink(std::string_view(buffer.data(), *got));
      left -= *got;
    }
  };
  const auto there = into.empty() ? Result<std::string>(sha256) : base::sha256_of_file(into);
  const bool writes = !there || *there != sha256;
  if (writes)
    TRY(base::write_file(into, take));
  else
    take([](std::string_view) {});
  const std::string is = read ? sum.end() : "";
  if (is == sha256) return {};
  std::error_code error;
  if (writes) fs::remove(into, error);
  if (!read) return read;
  return base::fail(Fault::spec, fmt::format("its SHA-256 is {}, expected {}", is, sha256));
}

Result<> check_target(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
    return base::fail(Fault::usage, fmt::format("{}: already exists", folder.string()),
                      "specify a directory that is empty or does not exist, or FILE.tar.zst");
  return {};
}

}  // namespace

Result<Blobs> as_blobs(const Bundle& bundle) {
  Blobs blobs{bundle, {}};
  std::map<std::string, fs::path> places;
  for (BundleFile& file : blobs.bundle.files) {
    if (!file.parts.empty()) {
      for (const BundlePart& part : file.parts)
        places[part.sha256] = bundle.directory / blob_path(part.sha256);
    } else {
      const fs::path place = bundle.directory / (file.path.empty() ? blob_path(file.sha256) : file.path);
      places[file.sha256] = place;
      std::error_code error;
      if (!file.size) file.size = fs::file_size(place, error);
      if (error)
        return base::fail(Fault::usage, fmt::format("cannot read {}: {}", place.string(), error.message()));
    }
    file.path.clear();
  }
  blobs.place = [places = std::move(places)](const std::string& sha256) {
    const auto found = places.find(sha256);
    return found == places.end() ? fs::path() : found->second;
  };
  return blobs;
}

Result<BundlePart> sum_of_image(const std::string& name, const std::vector<BundlePart>& parts,
                                const BlobPlace& place) {
  base::Sha256 sum;
  std::uint64_t size = 0;
  TRY(write_image(place, name, parts, [&](std::string_view piece) -> Result<> {
    sum.add(piece);
    size += piece.size();
    return {};
  }));
  return BundlePart{sum.end(), size};
}

Result<> write_bundle_folder(const Bundle& bundle, const std::string& signature, const BlobPlace& place,
                             const std::filesystem::path& folder) {
  TRY(check_target(folder));
  std::error_code error;
  fs::create_directories(folder / "blobs", error);
  for (const auto& [sha256, size] : blobs_of(bundle)) {
    const fs::path to = folder / blob_path(sha256), from = place(sha256);
    fs::copy_file(from, to, error);
    if (!error) fs::permissions(to, fs::perms(0644), error);
    if (error)
      return base::fail(Fault::usage,
                        fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()),
                        "free space on its file system");
  }
  if (!signature.empty()) TRY(base::write_file(folder / signature_name, signature, 0644));
  return base::write_file(folder / manifest_name, manifest_of(bundle), 0644);
}

Result<> write_bundle_archive(const Bundle& bundle, const std::string& signature, const BlobPlace& place,
                              const std::filesystem::path& file) {
  ZstdWriter out = TRY(ZstdWriter::make(file));
  const auto add_text = [&](const char* name, const std::string& text) -> Result<> {
    TRY(out.add(tar_header(name, text.size())));
    TRY(out.add(text));
    return out.add(tar_padding(text.size()));
  };
  TRY(add_text(manifest_name, manifest_of(bundle)));
  if (!signature.empty()) TRY(add_text(signature_name, signature));
  for (const auto& [sha256, size] : blobs_of(bundle))
    TRY(add_file([&](std::string_view piece) { return out.add(piece); }, blob_path(sha256), place(sha256),
                 size));
  TRY(out.add(tar_end()));
  return out.end();
}

Result<BundleHead> read_bundle_head(const std::filesystem::path& place) {
  std::error_code error;
  BundleHead head;
  if (fs::is_directory(place, error)) {
    const fs::path manifest = place / manifest_name, signature = place / signature_name;
    if (!fs::is_regular_file(manifest, error)) return no_bundle(place.string());
    head.manifest = TRY(base::read_file(manifest, largest_text));
    if (fs::exists(signature, error) && !fs::is_regular_file(signature, error))
      return base::fail(Fault::spec, fmt::format("{}: not a regular file", signature.string()),
                        "the bundle is damaged or was tampered with: copy it again, or create it again");
    if (fs::exists(signature, error)) head.signature = TRY(base::read_file(signature, largest_signature));
    return head;
  }
  ArchiveReader tar = TRY(open_archive(place));
  head.manifest = TRY(read_first(tar, place.string()));
  if (const auto second = TRY(tar.next()); second && second->name == signature_name)
    head.signature = TRY(read_entry(tar, *second, largest_signature, place.string()));
  return head;
}

Result<std::filesystem::path> unpack_bundle(const std::filesystem::path& file,
                                            const std::filesystem::path& cache) {
  const std::string source = file.string();
  ArchiveReader tar = TRY(open_archive(file));
  const std::string manifest = TRY(read_first(tar, source));
  const Bundle bundle = TRY(parse_bundle(manifest, source + ":manifest.yaml"));
  const auto blobs = blobs_of(bundle);
  const fs::path folder = cache / base::sha256(manifest);
  const bool writes = !cache.empty();
  std::error_code error;
  if (writes) fs::remove(folder / signature_name, error);
  std::set<std::string> missing;
  for (const auto& [sha256, size] : blobs) missing.insert(sha256);
  const auto next = [&]() -> Result<std::optional<TarEntry>> {
    const auto entry = tar.next();
    if (entry || entry.error().fault != Fault::parse) return entry;
    return base::fail(Fault::spec, entry.error().what,
                      "the bundle is damaged: copy it again, or create it again");
  };
  while (const auto entry = TRY(next())) {
    if (entry->name == signature_name) {
      const std::string signature = TRY(read_entry(tar, *entry, largest_signature, source));
      if (writes) TRY(base::write_file(folder / signature_name, signature));
      continue;
    }
    const std::string sha256 = entry->name.starts_with("blobs/") ? entry->name.substr(6) : "";
    const auto known = blobs.find(sha256);
    const auto refuse = [&](std::string_view why) {
      return base::fail(Fault::spec, fmt::format("{}: {}", source, why),
                        "the bundle is damaged or was tampered with: copy it again, or create it again");
    };
    if (entry->type != '0' || known == blobs.end())
      return refuse(
          fmt::format("contains {}, which is not in its manifest", base::printable(entry->name, 200)));
    if (entry->size != known->second)
      return refuse(fmt::format("{} ({}): {} bytes, expected {}", entry->name, owner(bundle, sha256),
                                entry->size, known->second));
    if (const auto done = unpack_blob(tar, *entry, writes ? folder / blob_path(sha256) : fs::path(), sha256);
        !done)
      return done.error().fault == Fault::usage
                 ? base::fail(Fault::usage, done.error().what, "free space on its file system")
                 : refuse(fmt::format("{} ({}): {}", entry->name, owner(bundle, sha256), done.error().what));
    missing.erase(sha256);
  }
  if (!missing.empty())
    return base::fail(Fault::spec,
                      fmt::format("{}: {} ({}) is missing", source, blob_path(*missing.begin()),
                                  owner(bundle, *missing.begin())),
                      "the bundle is damaged: copy it again, or create it again");
  if (writes) TRY(base::write_file(folder / manifest_name, manifest));
  return folder;
}

Result<> extract(const std::filesystem::path& archive, std::uint64_t limit,
                 const std::map<std::string, std::function<Result<>(std::string_view)>>& sinks) {
  ArchiveReader tar = TRY(ArchiveReader::tar(archive));
  std::set<std::string> found;
  while (const auto entry = TRY(tar.next())) {
    const std::string name = entry->name.starts_with("./") ? entry->name.substr(2) : entry->name;
    const auto sink = sinks.find(name);
    if (sink == sinks.end() || entry->type != '0') continue;
    if (entry->size > limit || !found.insert(name).second)
      return base::fail(Fault::parse,
                        fmt::format("{}: {} in it is too large or a duplicate", archive.string(), name));
    std::vector<char> buffer(1u << 20);
    for (std::uint64_t left = entry->size; left > 0;) {
      const std::size_t got = TRY(tar.read(buffer.data(), std::min<std::uint64_t>(buffer.size(), left)));
      if (got == 0) return base::fail(Fault::parse, fmt::format("{}: truncated", archive.string()));
      TRY(sink->second(std::string_view(buffer.data(), got)));
      left -= got;
    }
  }
  for (const auto& [name, sink] : sinks)
    if (!found.contains(name))
      return base::fail(Fault::parse, fmt::format("{}: no {} in it", archive.string(), name),
                        "it may have another version: override data/sources.yaml");
  return {};
}

}  // namespace bundle
