#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/bundle/signature.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/transport/run_local.hpp"
#include "gpuadm/workload/addon.hpp"

#include "commands/bundles/bundle_options.hpp"
#include "commands/bundles/needs.hpp"
#include "commands/bundles/signed_repository.hpp"
#include "commands/bundles/write.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <sys/utsname.h>

#include <algorithm>

namespace commands {

namespace {

namespace fs = std::filesystem;
using base::Fault;
using bundle::BundleFile;
using bundle::BundleKind;

constexpr std::uint64_t largest_file = std::uint64_t{4} << 30;
constexpr std::uint64_t largest_member = std::uint64_t{1} << 30;
constexpr std::size_t largest_list = 64u << 20;

std::string file_name(std::string_view url) {
  return std::string(url.substr(url.rfind('/') + 1));
}

class Creation {
 public:
  Creation(const BundleNeeds& needs, bundle::Fetcher& fetcher, RepositoryReader& repositories)
      : needs_(needs), fetcher_(fetcher), repositories_(repositories) {}

  Result<> add(const SourceFile& source) {
    if (!source.content.empty()) {
      put(source, TRY(fetcher_.keep(source.content)), source.target);
      return {};
    }
    const bundle::BundlePart file = TRY(fetcher_.file(source.url, TRY(sum_of(source)), largest_file));
    if (source.members.empty()) {
      put(source, file, source.target);
      return {};
    }
    std::map<std::string, std::string> bytes;
    std::map<std::string, std::function<Result<>(std::string_view)>> sinks;
    for (const auto& [name, target] : source.members)
      sinks[name] = [&into = bytes[name]](std::string_view piece) -> Result<> {
        into += piece;
        return {};
      };
    TRY(bundle::extract(fetcher_.path_of(file.sha256), largest_member, sinks));
    for (const auto& [name, target] : source.members) put(source, TRY(fetcher_.keep(bytes[name])), target);
    return {};
  }

  Result<> add_packages(const SystemPackages& packages) {
    for (BundleFile& file : TRY(packages.collect(needs_.hosts))) bundle_.files.push_back(std::move(file));
    return {};
  }

  Result<> add_image(const std::string& name) {
    bundle_.files.push_back(TRY(fetch_image(fetcher_, name, needs_.architecture)));
    return {};
  }

  /// The images that this version of kubeadm requires.
  Result<std::vector<std::string>> kubeadm_images(const SourceFile& kubeadm) {
    const bundle::BundlePart file = TRY(fetcher_.file(kubeadm.url, TRY(sum_of(kubeadm)), largest_file));
    const fs::path program = fetcher_.path_of(file.sha256).string() + ".run";
    std::error_code error;
    fs::copy_file(fetcher_.path_of(file.sha256), program, fs::copy_options::overwrite_existing, error);
    fs::permissions(program, fs::perms::owner_all, error);
    const std::string script = TRY(assets::Store::carried("playbooks/local/kubeadm-images.sh"));
    const auto exit = transport::run_local("list kubeadm's images",
                                           {{"program", program.string()},
                                            {"version", "v" + needs_.kubernetes.text()},
                                            {"repository", needs_.cluster.kubernetes.image_repository}},
                                           script, std::chrono::seconds(60));
    fs::remove(program, error);
    if (!exit) return std::unexpected(exit.error());
    std::vector<std::string> images;
    for (const std::string_view line : base::lines(exit->out))
      if (!base::trim(line).empty()) images.emplace_back(base::trim(line));
    if (exit->status == 0 && !images.empty()) return images;
    return base::fail(Fault::remote,
                      fmt::format("kubeadm {} config images list failed: {}", needs_.kubernetes.text(),
                                  base::tail(exit->err, 3)),
                      "kubeadm must run on this machine for this");
  }

  bundle::Bundle end(const std::vector<std::string>& absent) && {
    bundle_.name = "kubernetes-" + needs_.kubernetes.text();
    bundle_.kubernetes = needs_.kubernetes.text();
    bundle_.architecture = needs_.architecture;
    bundle_.absent = absent;
    return std::move(bundle_);
  }

 private:
  void put(const SourceFile& source, const bundle::BundlePart& file, const std::string& target) {
    BundleFile made{.path = {}, .kind = source.kind, .sha256 = file.sha256, .size = file.size};
    if (source.kind == BundleKind::package) {
      made.os = source.os;
      made.name = file_name(source.url);
    } else {
      made.target = target;
      made.mode = source.mode;
    }
    bundle_.files.push_back(std::move(made));
  }

  /// The expected checksum of a file; empty: unknown.
  Result<std::string> sum_of(const SourceFile& source) {
    const std::string& where = source.sum.empty() ? source.index : source.sum;
    if (where.empty()) return "";
    if (!texts_.contains(where))
      texts_[where] = TRY(source.sum.empty() ? index_of(source) : fetcher_.text(where, largest_list));
    const std::string name = file_name(source.url);
    const auto sum = source.sum.empty() ? find_in_index(texts_[where], name) : find_sum(texts_[where], name);
    if (sum) return *sum;
    return base::fail(Fault::parse, fmt::format("{}: no SHA-256 of {}", where, name),
                      "check that this version exists, or override data/sources.yaml");
  }

  /// The index of a repository, verified with the repository's key; not verified if an override of
  /// data/sources.yaml has no key.
  Result<std::string> index_of(const SourceFile& source) {
    if (source.key.empty()) return fetcher_.text(source.index, largest_list);
    const std::size_t end = std::min(source.index.rfind('/'), source.index.size());
    const Repository repository{.url = source.index.substr(0, end),
                                .suite = {},
                                .components = {},
                                .keyring = {},
                                .key_url = source.key,
                                .fingerprints = source.fingerprints};
    const std::string path = file_name(source.index);
    const auto sums = TRY(repositories_.release(repository));
    const auto sum = sums.find(path);
    if (sum != sums.end()) return repositories_.index(repository, path, sum->second);
    return base::fail(Fault::parse, fmt::format("{}/InRelease: no checksum of {}", repository.url, path),
                      "check the mirror, or override data/sources.yaml");
  }

  const BundleNeeds& needs_;
  bundle::Fetcher& fetcher_;
  RepositoryReader& repositories_;
  bundle::Bundle bundle_;
  std::map<std::string, std::string> texts_;
};

/// kubeadm for this machine's architecture.
Result<SourceFile> kubeadm_of_here(const assets::Store& store, const playbook::Catalog& catalog,
                                   BundleNeeds needs) {
  utsname about{};
  ::uname(&about);
  const std::string machine = about.machine;
  needs.architecture = machine == "aarch64" ? "arm64" : "amd64";
  Sources here = TRY(read_sources(store, catalog, needs));
  const auto found = std::ranges::find_if(here.files, [](const SourceFile& file) {
    return file.part == "kubernetes" && file.target.ends_with("/kubeadm");
  });
  if (found == here.files.end())
    return base::fail(Fault::spec, "data/sources.yaml: kubernetes has no kubeadm");
  return *found;
}

/// The newest patch release of the minor version.
Result<base::Version> newest_patch(const BundleNeeds& needs, const assets::Store& store,
                                   const playbook::Catalog& catalog, bundle::Fetcher& fetcher, Io& io) {
  const std::string minor = needs.kubernetes.minor_text();
  const std::string source = TRY(newest_source(store, catalog, needs.kubernetes));
  constexpr std::size_t largest = 4096;
  auto text = fetcher.text(source, largest);
  if (!text) {
    const auto known = base::Version::parse(catalog.find("kubernetes", needs.kubernetes).value_or(""));
    return base::fail(text.error().fault,
                      fmt::format("the newest patch of Kubernetes {}: {}", minor, text.error().what),
                      fmt::format("set one: --kubernetes-version {}",
                                  known && known->minor_text() == minor ? known->text() : minor + ".0"));
  }
  const base::Version newest = TRY(read_newest(*text, needs.kubernetes, source));
  io.err(fmt::format("Kubernetes {}: the newest patch release of {}\n", newest.text(), minor));
  return newest;
}

/// Downloads everything for the hosts of these files. Downloads are kept in ~/.cache/gpuadm/blobs and reused.
Result<Outcome> bundle_create(const BundleCreateOptions& options, Io& io) {
  const assets::Store store = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(store, "init"));
  TRY(check_output(options.output));
  // Whether the key signs is known before anything is downloaded.
  if (!options.sign.empty()) (void)TRY(bundle::sign("test\n", options.sign));
  for (const std::string& name : options.addons) TRY(workload::find_installable_addon(name));
  BundleNeeds needs = TRY(read_needs(options, library.catalog()));
  needs.cluster.kubernetes.source = spec::Source::bundle;  // as for init --bundle
  TRY(session::resolve_environment(needs.cluster, store));
  if (!options.source.place.empty()) needs.cluster.mirrors.packages.clear();
  bundle::Fetcher fetcher = TRY(open_fetcher(options.source, needs.cluster, io));
  if (needs.version_is_assumed)
    needs.kubernetes = TRY(newest_patch(needs, store, library.catalog(), fetcher, io));
  Sources sources = TRY(read_sources(store, library.catalog(), needs));
  TRY(choose_sources(sources, needs, options.skip));
  const bool driver = TRY(needs_driver(needs, options.skip));
  for (const std::string& image : options.images) (void)TRY(base::parse_image_reference(image));
  const std::vector<std::string> notebooks =
      TRY(catalog_images(store, needs, notebook_images, options.notebooks));
  const std::vector<std::string> engines = TRY(catalog_images(store, needs, engine_images, options.engines));
  const std::vector<std::string> addons =
      TRY(addon_images(library.catalog(), needs.kubernetes, options.addons));

  const bool is_public = options.source.place.empty() || options.source.place == "public";
  RepositoryReader repositories(fetcher, store, io, is_public);
  Creation creation(needs, fetcher, repositories);
  TRY(creation.add_packages({fetcher, store, library.catalog(), needs.cluster, needs.kubernetes,
                             needs.architecture, is_public, driver,
                             std::ranges::count(options.skip, "programs") == 0, io}));
  for (const SourceFile& file : sources.files) TRY(creation.add(file));
  std::vector<std::string> images =
      TRY(creation.kubeadm_images(TRY(kubeadm_of_here(store, library.catalog(), needs))));
  std::vector<std::string> absent;
  if (std::ranges::find(options.skip, "coredns") != options.skip.end()) {
    std::erase_if(images,
                  [](const std::string& image) { return image.find("/coredns") != std::string::npos; });
    absent.emplace_back("coredns");
  }
  for (const SourceImage& image : sources.images) images.push_back(image.name);
  images.insert(images.end(), options.images.begin(), options.images.end());
  images.insert(images.end(), notebooks.begin(), notebooks.end());
  images.insert(images.end(), engines.begin(), engines.end());
  images.insert(images.end(), addons.begin(), addons.end());
  for (std::string& image : images) image = base::full_name(TRY(base::parse_image_reference(image)));
  for (auto it = images.begin(); it != images.end(); ++it)
    if (std::find(images.begin(), it, *it) == it) TRY(creation.add_image(*it));
  const bundle::Bundle bundle = std::move(creation).end(absent);
  TRY(write_bundle(
      bundle, options.sign, [&](const std::string& sha256) { return fetcher.path_of(sha256); },
      options.output, io));
  return Outcome::done;
}

void add_create(Line& line, BundleCreateOptions& options) {
  line.assets(options.common.assets);
  line.list("--for", options.hosts, "FILE,...",
            "Cluster file, and facts as written by `gpuadm facts -o json`")
      .required();
  add_bundle_output(line, options.output);
  add_source(line, options.source,
             "Source of the files: public repositories (public), or a directory or URL that mirrors them, "
             "https://HOST/PATH as HOST/PATH (default: mirrors of the cluster file, then public)");
  line.value("--kubernetes-version", options.kubernetes_version, "VERSION",
             "Kubernetes version, for example 1.36.4");
  line.value("--driver", options.driver, "use|install[=BRANCH]",
             "NVIDIA driver: use the installed one, or include the packages to install one");
  line.value("--architecture", options.architecture, "amd64|arm64",
             "Architecture of the hosts (default: from facts, otherwise amd64)");
  line.list("--skip", options.skip, "PART,...",
            "Exclude any of kubernetes, crictl, cni, runtime, driver, programs, toolkit, network, kube-vip, "
            "device-plugin, dra, coredns, local-path");
  line.list("--image", options.images, "NAME,...", "Additional images");
  line.list("--addon", options.addons, "ADDON,...", "Images of add-ons (gpuadm addon list; default: none)");
  line.list("--notebook", options.notebooks, "FRAMEWORK,...",
            "Images for gpuadm notebook create: pytorch, tensorflow (several GB each; default: none)");
  line.list("--serve", options.engines, "ENGINE,...",
            "Images of these engines of gpuadm serve create (several GB each; default: none)");
  add_sign(line, options.sign);
}

}  // namespace

Command bundle_create_command() {
  return CommandRow<BundleCreateOptions>{
      .name = "bundle create",
      .group = Group::bundles,
      .summary = "Download everything that the hosts need",
      .options = add_create,
      .examples = {{"gpuadm bundle create --for cluster.yaml -o lab.tar.zst", "from the public repositories"},
                   {"gpuadm bundle create --for cluster.yaml,facts.json -o ./bundle --source ./mirror",
                    "from a local mirror"}},
      .run = bundle_create};
}

}  // namespace commands
