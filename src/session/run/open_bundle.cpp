#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/bundle/signature.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include <fmt/format.h>

#include <chrono>

namespace session {

namespace {

namespace fs = std::filesystem;

/// Removes bundles that were not used for long.
void prune(const fs::path& cache) {
  constexpr std::chrono::hours kept{24 * 14};
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> old;
  for (fs::directory_iterator it(cache, error), end; !error && it != end; it.increment(error))
    if (now - it->last_write_time(error) > kept) old.push_back(it->path());
  for (const fs::path& path : old) fs::remove_all(path, error);
}

}  // namespace

bundle::Result<bundle::Bundle> open_verified(const std::filesystem::path& place,
                                             const std::filesystem::path& signers, const Io& io) {
  const fs::path cache = base::cache_directory() / "bundles";
  const bundle::Signers who = bundle::signers_files(signers);
  const bundle::BundleHead head = TRY(bundle::read_bundle_head(place));
  std::string sum;
  if (who.empty()) {
    io.err(report::wrapped(bundle::nobody_verified(place), 2, io.err_style.width) + "\n");
  } else {
    (void)TRY(bundle::signer_of(head.manifest, head.signature, who, place.string()));
    sum = base::sha256(head.manifest);
  }
  prune(cache);
  prune(cache / "images");
  std::error_code error;
  fs::path folder = place;
  if (fs::is_regular_file(place, error)) {
    folder = TRY(bundle::unpack_bundle(place, cache));
    for (const fs::path& used : {folder, cache / "images"})
      fs::last_write_time(used, fs::file_time_type::clock::now(), error);
    if (!sum.empty() && folder.filename() != sum)
      return base::fail(base::Fault::spec, place.string() + ": changed while reading", "run again");
  }
  return bundle::open_bundle(folder, cache / "images", sum);
}

bundle::Result<> is_for_hosts(const bundle::Bundle& bundle, const spec::Cluster& cluster,
                              const facts::Census& census) {
  const std::string machine = bundle.architecture == "arm64" ? "aarch64" : "x86_64";
  for (const spec::Host& host : cluster.hosts) {
    const auto facts = census.find(host.name);
    if (facts == census.end() || !facts->second) continue;
    const std::string& is = facts->second->os.architecture;
    if (is.empty() || is == machine) continue;
    return base::fail(base::Fault::blocked,
                      fmt::format("{} is {}, but the bundle {} is for {}", host.name, base::printable(is, 50),
                                  bundle.directory.string(), bundle.architecture),
                      "create a bundle with the facts of this host");
  }
  return {};
}

}  // namespace session
