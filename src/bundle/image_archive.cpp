#include "bundle/image_archive.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/bundle/image.hpp"
#include "gpuadm/bundle/pack.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <set>
#include <vector>

// The layout: https://github.com/opencontainers/image-spec/blob/main/image-layout.md; containerd reads an
// image's name from io.containerd.image.name, `docker load` uses manifest.json
// (docs.docker.com/reference/cli/docker/image/save).

namespace bundle {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using base::Tree;

/// Adds a file from memory.
Result<> add_text(const std::function<Result<>(std::string_view)>& sink, std::string_view name,
                  std::string_view text) {
  TRY(sink(tar_header(name, text.size())));
  TRY(sink(text));
  return sink(tar_padding(text.size()));
}

}  // namespace

std::string blob_path(std::string_view sha256) {
  return fmt::format("blobs/{}", sha256);
}

Result<> add_file(const std::function<Result<>(std::string_view)>& sink, std::string_view name,
                  const fs::path& file, std::uint64_t size) {
  TRY(sink(tar_header(name, size)));
  std::ifstream in(file, std::ios::binary);
  std::vector<char> buffer(1u << 20);
  std::uint64_t left = size;
  while (left > 0) {
    in.read(buffer.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, buffer.size())));
    const auto got = static_cast<std::size_t>(in.gcount());
    if (got == 0) return base::fail(Fault::spec, fmt::format("{}: truncated", file.string()));
    TRY(sink(std::string_view(buffer.data(), got)));
    left -= got;
  }
  return sink(tar_padding(size));
}

Result<> write_image(const BlobPlace& place, const std::string& name, const std::vector<BundlePart>& parts,
                     const std::function<Result<>(std::string_view piece)>& sink) {
  const std::string text = TRY(base::read_file(place(parts.front().sha256), largest_manifest));
  const ImageManifest manifest = TRY(parse_image_manifest(text, fmt::format("the manifest of {}", name)));
  bool same = manifest.parts.size() + 1 == parts.size();
  for (std::size_t i = 0; same && i < manifest.parts.size(); ++i)
    same = manifest.parts[i].sha256 == parts[i + 1].sha256 && manifest.parts[i].size == parts[i + 1].size;
  if (!same)
    return base::fail(Fault::spec, fmt::format("{}: its manifest has other parts than manifest.yaml", name),
                      "create the bundle again");
  const auto inside = [](const BundlePart& part) { return "blobs/sha256/" + part.sha256; };
  const Tree index = Tree::map_of(
      {{"schemaVersion", 2},
       {"mediaType", "application/vnd.oci.image.index.v1+json"},
       {"manifests", Tree(Tree::List{Tree::map_of(
                         {{"mediaType", manifest.media_type},
                          {"digest", "sha256:" + parts.front().sha256},
                          {"size", parts.front().size},
                          {"annotations", Tree::map_of({{"io.containerd.image.name", name},
                                                        {"org.opencontainers.image.ref.name", name}})}})})}});
  Tree layers = Tree::list();
  for (std::size_t i = 2; i < parts.size(); ++i) layers.push(inside(parts[i]));
  // Docker rejects a digest instead of a tag.
  Tree tags = Tree::list();
  if (name.find('@') == std::string::npos) tags.push(name);
  const Tree docker = Tree(Tree::List{Tree::map_of(
      {{"Config", inside(parts[1])}, {"RepoTags", std::move(tags)}, {"Layers", std::move(layers)}})});
  TRY(add_text(sink, "oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  TRY(add_text(sink, "index.json", base::json::write(index, 0)));
  TRY(add_text(sink, "manifest.json", base::json::write(docker, 0)));
  std::set<std::string> written;
  for (const BundlePart& part : parts)
    if (written.insert(part.sha256).second) TRY(add_file(sink, inside(part), place(part.sha256), part.size));
  return sink(tar_end());
}

Result<std::filesystem::path> put_together(const BundleFile& image, const BlobPlace& place,
                                           const std::filesystem::path& cache, KnownSums& sums) {
  const fs::path archive = cache / (image.sha256 + ".tar");
  if (const auto there = sums.sum_of(archive); there && *there == image.sha256) {
    // Marks it as used, once a day; unused ones are removed later.
    std::error_code error;
    const auto now = fs::file_time_type::clock::now();
    if (now - fs::last_write_time(archive, error) > std::chrono::hours(24))
      fs::last_write_time(archive, now, error);
    return archive;
  }
  Result<> written;
  TRY(base::write_file(archive, [&](const base::Sink& sink) {
    written = write_image(place, image.name, image.parts, [&](std::string_view piece) -> Result<> {
      sink(piece);
      return {};
    });
  }));
  const std::string sum = TRY(base::sha256_of_file(archive));
  if (written && sum == image.sha256) return archive;
  std::error_code error;
  fs::remove(archive, error);
  if (!written) return std::unexpected(written.error());
  return base::fail(
      Fault::spec, fmt::format("{}: its archive's SHA-256 is {}, expected {}", image.name, sum, image.sha256),
      "the image differs from manifest.yaml: create the bundle again");
}

Result<> assemble_images(Bundle& bundle, const BlobPlace& place, const std::filesystem::path& cache) {
  // Not the file of open_bundle, which keeps only the checksums of one bundle.
  KnownSums sums(cache / "image-sums");
  for (BundleFile& file : bundle.files)
    if (!file.parts.empty() && file.path.empty())
      file.path = TRY(put_together(file, place, cache, sums)).string();
  sums.save();
  return {};
}

}  // namespace bundle
