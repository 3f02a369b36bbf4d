#include "commands/bundles/system_packages.hpp"

#include "gpuadm/base/files.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/bundle/debian.hpp"
#include "gpuadm/bundle/pack.hpp"
#include "gpuadm/checks/checks.hpp"

#include "commands/bundles/signed_repository.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace commands {

namespace {

namespace fs = std::filesystem;
namespace debian = bundle::debian;
using base::Fault;
using base::Tree;

constexpr const char* repositories_file = "data/system-repositories.yaml";

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 100 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("+-._~").find(c) != std::string_view::npos;
  });
}

std::vector<std::string> texts_of(const Tree& row, const char* key) {
  std::vector<std::string> texts;
  if (const Tree* list = row.find(key))
    for (const Tree& item : list->items()) texts.push_back(item.text());
  return texts;
}

/// One release of an operating system.
class Collection {
 public:
  Collection(const SystemPackages& from, const facts::Os& os)
      : from_(from), os_(os), reader_(from.fetcher, from.store, from.io, from.public_source) {}

  Result<bundle::BundleFile> collect(const std::vector<const PackageHost*>& hosts) {
    for (const Repository& repository : TRY(of_the_system())) TRY(add(repository));
    const auto data = TRY(checks::read_data([&](std::string_view path) { return from_.store.read(path); }));
    std::vector<const debian::Package*> roots;
    for (const PackageHost* host : hosts) {
      for (const std::string& name : from_.missing(*host))
        TRY(add_newest(*host, name, "check that the mirror is complete", roots));
      if (!from_.lacks_driver(*host)) continue;
      const auto choice =
          checks::choose_driver(host->facts.nvidia.pci_gpus, from_.cluster.gpu.driver_branch, *data);
      if (!choice)
        return base::fail(choice.error().fault, fmt::format("{}: {}", host->name, choice.error().what),
                          choice.error().hint);
      TRY(add_driver(*host, *choice, roots));
      TRY(add_tools(*host, roots));
    }
    return pack(TRY(index_.closure(roots)));
  }

 private:
  [[nodiscard]] std::string release() const { return playbook::release_of(os_); }

  Result<std::vector<Repository>> of_the_system() const {
    const Tree all = TRY(base::yaml::read(TRY(from_.store.read(repositories_file)), repositories_file));
    const Tree* rows = all.find(os_.parent_id);
    if (!rows || !is_word(os_.parent_codename) || !is_word(os_.parent_version_id))
      return base::fail(Fault::usage,
                        fmt::format("the repositories of {} are unknown ({})",
                                    base::printable(os_.pretty, 100), repositories_file),
                        "exclude its packages with --skip driver,programs, and install them yourself");
    std::vector<Repository> found;
    for (const Tree& row : rows->items()) {
      const auto architectures = texts_of(row, "architectures");
      if (!architectures.empty() && std::ranges::count(architectures, from_.architecture) == 0) continue;
      for (const std::string& suite : texts_of(row, "suites"))
        found.push_back({.url = text_at(row, {"url"}),
                         .suite = base::replace_all(suite, "{codename}", os_.parent_codename),
                         .components = texts_of(row, "components"),
                         .keyring = text_at(row, {"keyring"})});
    }
    return found;
  }

  Result<Repository> of_nvidia() const {
    const auto mirror = from_.cluster.mirrors.packages.find("nvidiaDriver");
    const std::string place = mirror != from_.cluster.mirrors.packages.end()
                                  ? mirror->second
                                  : from_.catalog.find("cuda_repository", from_.kubernetes).value_or("");
    const std::string url =
        fmt::format("{}/{}{}/{}", place, os_.parent_id, base::replace_all(os_.parent_version_id, ".", ""),
                    from_.architecture == "arm64" ? "sbsa" : "x86_64");
    const auto in_catalog = [&](const char* key) {
      return from_.catalog.find(key, from_.kubernetes).value_or("");
    };
    const auto keys = from_.cluster.mirrors.package_keys.find("nvidiaDriver");
    return Repository{.url = url,
                      .key_url = url + "/" + in_catalog("cuda_keyring"),
                      .fingerprints = keys != from_.cluster.mirrors.package_keys.end()
                                          ? keys->second
                                          : in_catalog("cuda_key_fingerprints")};
  }

  Result<> add(const Repository& repository) {
    const auto sums = TRY(reader_.release(repository));
    std::vector<std::string> folders;
    for (const std::string& component : repository.components)
      folders.push_back(fmt::format("{}/binary-{}/", component, from_.architecture));
    if (folders.empty()) folders.emplace_back();
    for (const std::string& folder : folders) {
      const auto found = std::ranges::find_if(
          endings, [&](const char* ending) { return sums.contains(folder + "Packages" + ending); });
      if (found == std::end(endings)) continue;  // the suite does not have this component
      const std::string path = folder + "Packages" + *found;
      std::string text = TRY(reader_.index(repository, path, sums.at(path)));
      TRY(index_.add(std::move(text), reader_.as_mirrored(repository.url),
                     reader_.as_mirrored(repository.release()) + "/" + path));
    }
    return {};
  }

  /// The first name of `what` that a repository has for the branch.
  [[nodiscard]] const debian::Package* of_branch(std::string_view what, int branch) const {
    const std::string names = from_.catalog.find("driver_names", from_.kubernetes).value_or("");
    for (const std::string_view line : base::lines(names)) {
      const auto words = base::words(line);
      if (words.empty() || words.front() != what) continue;
      for (const std::string_view name : std::span(words).subspan(1))
        if (const auto* found =
                index_.newest(base::replace_all(std::string(name), "BRANCH", std::to_string(branch)),
                              fmt::format("{}.", branch)))
          return found;
    }
    return nullptr;
  }

  Result<> add_driver(const PackageHost& host, const checks::DriverChoice& choice,
                      std::vector<const debian::Package*>& roots) {
    if (!of_branch(choice.modules, choice.branch) && !std::exchange(asked_nvidia_, true))
      TRY(add(TRY(of_nvidia())));
    const auto missing = [&](const char* what) {
      return base::fail(Fault::blocked,
                        fmt::format("{}: no repository of {} has {} of the driver branch {}", host.name,
                                    release(), what, choice.branch),
                        "use another branch: gpu.driver: install=BRANCH, or --driver install=BRANCH");
    };
    const std::pair<const char*, const char*> needed[] = {
        {choice.modules.c_str(), "the kernel modules"}, {"smi", "nvidia-smi"}, {"cuda", "libcuda.so"}};
    for (const auto& [what, said] : needed) {
      const debian::Package* found = of_branch(what, choice.branch);
      if (!found) return missing(said);
      roots.push_back(found);
    }
    for (const char* what : {"ml", "persistence"})
      if (const debian::Package* found = of_branch(what, choice.branch)) roots.push_back(found);
    if (host.facts.nvidia.nvswitches.empty() && host.facts.nvidia.nvlink_managers.empty()) return {};
    const debian::Package* fabric = of_branch("fabric", choice.branch);
    if (!fabric) return missing("the fabric manager");
    roots.push_back(fabric);
    return {};
  }

  /// Build dependencies of the modules, and NVLink 5's subnet manager.
  Result<> add_tools(const PackageHost& host, std::vector<const debian::Package*>& roots) {
    TRY(add_newest(host, "linux-headers-" + host.facts.kernel.release,
                   "boot a kernel whose headers are in the repositories, and read its facts again", roots));
    std::vector<std::string> names = {"gcc", "make", "dkms"};
    if (!host.facts.nvidia.nvlink_managers.empty()) names.emplace_back("nvlsm");
    for (const std::string& name : names)
      TRY(add_newest(host, name, "check that the mirror is complete", roots));
    return {};
  }

  Result<> add_newest(const PackageHost& host, const std::string& name, const char* hint,
                      std::vector<const debian::Package*>& roots) {
    const auto found = index_.find(name);
    if (found.empty())
      return base::fail(Fault::blocked,
                        fmt::format("{}: no repository of {} has {}", host.name, release(), name), hint);
    roots.push_back(found.front());
    return {};
  }

  Result<bundle::BundleFile> pack(const std::vector<const debian::Package*>& packages) {
    std::uint64_t bytes = 0;
    std::string index;
    for (const debian::Package* package : packages) {
      bytes += package->size;
      index += debian::stanza_with(*package, file_of(*package)) + "\n";
    }
    from_.io.err(
        fmt::format("{}: {} packages of {}\n", release(), packages.size(), base::human_bytes(bytes)));
    for (const debian::Package* package : packages)
      TRY(from_.fetcher.file(package->url, std::string(package->sha256), package->size));
    const bundle::BundlePart archive = TRY(write(index, packages));
    return bundle::BundleFile{.path = {},
                              .kind = bundle::BundleKind::repository,
                              .name = "packages-" + release(),
                              .os = release(),
                              .sha256 = archive.sha256,
                              .size = archive.size};
  }

  static std::string file_of(const debian::Package& package) {
    return fmt::format("pool/{}.deb", package.sha256);
  }

  /// First the index, then its files; the output is reproducible.
  Result<bundle::BundlePart> write(const std::string& index,
                                   const std::vector<const debian::Package*>& packages) {
    const fs::path beside = from_.fetcher.path_of(release() + ".tar.part");
    std::ofstream out(beside, std::ios::binary | std::ios::trunc);
    base::Sha256 sum;
    std::uint64_t size = 0;
    const auto put = [&](std::string_view bytes) {
      sum.add(bytes);
      size += bytes.size();
      out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    };
    put(bundle::tar_header("Packages", index.size()) + index + bundle::tar_padding(index.size()));
    std::set<std::string_view> written;
    std::vector<char> piece(1u << 20);
    for (const debian::Package* package : packages) {
      if (!written.insert(package->sha256).second) continue;
      put(bundle::tar_header(file_of(*package), package->size));
      std::ifstream in(from_.fetcher.path_of(std::string(package->sha256)), std::ios::binary);
      while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0)
        put({piece.data(), static_cast<std::size_t>(in.gcount())});
      put(bundle::tar_padding(package->size));
    }
    put(bundle::tar_end());
    out.close();
    const std::string digest = sum.end();
    std::error_code error;
    if (out) fs::rename(beside, from_.fetcher.path_of(digest), error);
    if (!out || error) {
      fs::remove(beside, error);
      return base::fail(Fault::usage, fmt::format("cannot write {}", beside.string()),
                        "free space on its file system, or set XDG_CACHE_HOME to another one");
    }
    return bundle::BundlePart{digest, size};
  }

  static constexpr const char* endings[] = {".xz", ".gz", ""};
  const SystemPackages& from_;
  const facts::Os& os_;
  RepositoryReader reader_;
  debian::Index index_;
  bool asked_nvidia_ = false;
};

}  // namespace

bool SystemPackages::lacks_driver(const PackageHost& host) const {
  return driver && !host.facts.nvidia.pci_gpus.empty();
}

std::set<std::string> SystemPackages::missing(const PackageHost& host) const {
  std::set<std::string> packages;
  // Facts without any program do not mean that none is installed.
  if (!programs || host.facts.software.tool_paths.empty() || host.facts.os.family != facts::Family::debian)
    return packages;
  const std::string rows = catalog.find("system_programs", kubernetes).value_or("");
  for (const std::string_view row : base::lines(rows)) {
    const auto words = base::words(row);
    if (words.size() == 2 && !host.facts.software.tool_paths.contains(std::string(words[0])))
      packages.emplace(words[1]);
  }
  const auto lacks = [&](const char* program) { return !host.facts.software.tool_paths.contains(program); };
  for (const spec::Storage& storage : cluster.storage) {
    if (storage.kind == spec::StorageKind::nfs && lacks("mount.nfs")) packages.emplace("nfs-common");
    // The host uses one of them: ceph-fuse if its kernel has no CephFS.
    if (storage.kind != spec::StorageKind::cephfs) continue;
    if (lacks("mount.ceph")) packages.emplace("ceph-common");
    if (lacks("ceph-fuse")) packages.emplace("ceph-fuse");
  }
  return packages;
}

Result<std::vector<bundle::BundleFile>> SystemPackages::collect(const std::vector<PackageHost>& hosts) const {
  std::map<std::string, std::vector<const PackageHost*>> releases;
  for (const PackageHost& host : hosts) {
    if (!lacks_driver(host) && missing(host).empty()) continue;
    if (!is_word(host.facts.kernel.release))
      return base::fail(Fault::spec, fmt::format("{}: its facts have no kernel", host.name),
                        "name a file that `gpuadm facts -o json` wrote");
    releases[playbook::release_of(host.facts.os)].push_back(&host);
  }
  std::vector<bundle::BundleFile> files;
  for (const auto& [release, of_it] : releases)
    files.push_back(TRY(Collection(*this, of_it.front()->facts.os).collect(of_it)));
  return files;
}

}  // namespace commands
