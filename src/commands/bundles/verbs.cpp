#include "gpuadm/base/files.hpp"
#include "gpuadm/base/image_reference.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/bundle/files.hpp"
#include "gpuadm/bundle/signature.hpp"
#include "gpuadm/report/wrap.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/bundles/bundle_options.hpp"
#include "commands/bundles/write.hpp"
#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <map>

namespace commands {

namespace {

struct BundleOptions {
  std::filesystem::path bundle, other;
  std::filesystem::path
      signers;  ///< OpenSSH's allowed_signers; empty: ~/.config/gpuadm/allowed_signers, if it exists
  Format format = Format::text;
};

struct BundleExtendOptions {
  std::filesystem::path bundle, output;
  BundleSource source;
  std::vector<std::string> images;
  std::vector<std::filesystem::path> packages;  ///< .deb and .rpm files
  std::filesystem::path sign, signers;
};

namespace fs = std::filesystem;
using base::Fault;
using base::Tree;
using bundle::BundleFile;

Result<bundle::Bundle> read(const fs::path& place) {
  const bundle::BundleHead head = TRY(bundle::read_bundle_head(place));
  return bundle::parse_bundle(head.manifest, place.string() + ":manifest.yaml");
}

std::string label(const BundleFile& file) {
  return !file.name.empty() ? file.name : !file.target.empty() ? file.target : file.path;
}

std::string size_of(const BundleFile& file) {
  return file.size ? base::human_bytes(*file.size) : "";
}

std::string text_of(const bundle::Bundle& bundle) {
  std::string text =
      fmt::format("{}: Kubernetes {}, {}\n", bundle.name, bundle.kubernetes, bundle.architecture);
  if (!bundle.absent.empty()) text += fmt::format("without {}\n", base::join(bundle.absent, ", "));
  for (const BundleFile& file : bundle.files)
    text += fmt::format("  {:<8} {:>10}  {}\n", bundle::name_of(file.kind), size_of(file), label(file));
  return text;
}

void show(const Tree& tree, Io& io) {
  io.out(base::json::write(tree) + "\n");
}

/// Files by their purpose, for a comparison.
std::map<std::string, const BundleFile*> by_label(const bundle::Bundle& bundle) {
  std::map<std::string, const BundleFile*> files;
  for (const BundleFile& file : bundle.files)
    files.emplace(fmt::format("{} {}", bundle::name_of(file.kind), label(file)), &file);
  return files;
}

/// Prints the contents of a bundle. Verifies nothing.
Result<Outcome> bundle_inspect(const BundleOptions& options, Io& io) {
  const bundle::BundleHead head = TRY(bundle::read_bundle_head(options.bundle));
  const std::string source = options.bundle.string() + ":manifest.yaml";
  const bundle::Bundle bundle = TRY(bundle::parse_bundle(head.manifest, source));
  if (options.format == Format::json) {
    Tree tree = TRY(base::yaml::read(bundle::manifest_of(bundle), source));
    tree.set("signed", !head.signature.empty());
    show(tree, io);
  } else {
    io.out(base::printable(text_of(bundle), std::string::npos));
    io.out(head.signature.empty() ? "not signed\n" : "signed; to verify: gpuadm bundle verify\n");
  }
  return Outcome::done;
}

/// Verifies the size and SHA-256 of every file, and the signature. Fault::spec if one differs.
Result<Outcome> bundle_verify(const BundleOptions& options, Io& io) {
  const bundle::BundleHead head = TRY(bundle::read_bundle_head(options.bundle));
  const bundle::Signers signers = bundle::signers_files(options.signers);
  if (signers.empty())
    io.err(report::wrapped(bundle::nobody_verified(options.bundle), 2, io.err_style.width) + "\n");
  const std::string who =
      signers.empty()
          ? ""
          : TRY(bundle::signer_of(head.manifest, head.signature, signers, options.bundle.string()));
  const bundle::Bundle bundle =
      TRY(bundle::parse_bundle(head.manifest, options.bundle.string() + ":manifest.yaml"));
  std::error_code error;
  if (const std::string sum = base::sha256(head.manifest); fs::is_directory(options.bundle, error))
    (void)TRY(bundle::open_bundle(options.bundle, {}, sum));
  else if (TRY(bundle::unpack_bundle(options.bundle, {})).filename() != sum)
    return base::fail(Fault::spec, options.bundle.string() + ": changed while reading", "run again");
  if (options.format == Format::json) {
    show(Tree::map_of({{"bundle", options.bundle.string()},
                       {"files", static_cast<std::int64_t>(bundle.files.size())},
                       {"signedBy", who.empty() ? Tree() : Tree(who)}}),
         io);
  } else {
    io.out(fmt::format("{}: {} files match the manifest; {}\n", options.bundle.string(), bundle.files.size(),
                       !who.empty()             ? "signed by " + who
                       : head.signature.empty() ? "not signed"
                                                : "signature not verified"));
  }
  return Outcome::done;
}

/// Prints how `other` differs from `bundle`. Outcome::failed if it does, as for diff(1).
Result<Outcome> bundle_diff(const BundleOptions& options, Io& io) {
  const bundle::Bundle before = TRY(read(options.bundle)), after = TRY(read(options.other));
  const auto old_files = by_label(before), new_files = by_label(after);
  Tree added = Tree::list(), removed = Tree::list(), changed = Tree::list();
  std::string text;
  const auto head = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    text += fmt::format("~ {} {} -> {}\n", what, a, b);
    changed.push(what);
  };
  head("kubernetes", before.kubernetes, after.kubernetes);
  head("architecture", before.architecture, after.architecture);
  for (const auto& [name, file] : old_files) {
    const auto there = new_files.find(name);
    if (there != new_files.end() && there->second->sha256 == file->sha256) continue;
    (there == new_files.end() ? removed : changed).push(name);
    text += fmt::format("{} {}\n", there == new_files.end() ? '-' : '~', name);
  }
  for (const auto& [name, file] : new_files) {
    if (old_files.contains(name)) continue;
    added.push(name);
    text += fmt::format("+ {}\n", name);
  }
  if (options.format == Format::json)
    show(Tree::map_of({{"added", added}, {"removed", removed}, {"changed", changed}}), io);
  else
    io.out(text.empty() ? "the same\n" : base::printable(text, std::string::npos));
  return text.empty() ? Outcome::done : Outcome::failed;
}

/// Creates a bundle with the contents of `bundle`, which is verified first, and more.
Result<Outcome> bundle_extend(const BundleExtendOptions& options, Io& io) {
  TRY(check_output(options.output));
  for (const std::string& image : options.images) (void)TRY(base::parse_image_reference(image));
  bundle::Bundle opened = TRY(session::open_verified(options.bundle, options.signers, io));
  bundle::Blobs blobs = TRY(bundle::as_blobs(opened));
  bundle::Fetcher fetcher = TRY(open_fetcher(options.source, {}, io));
  std::map<std::string, fs::path> more;
  const auto add = [&](BundleFile file) {
    std::erase_if(blobs.bundle.files,
                  [&](const BundleFile& old) { return old.kind == file.kind && label(old) == label(file); });
    blobs.bundle.files.push_back(std::move(file));
  };
  for (const std::string& name : options.images) {
    BundleFile image = TRY(fetch_image(fetcher, name, opened.architecture));
    for (const bundle::BundlePart& part : image.parts) more[part.sha256] = fetcher.path_of(part.sha256);
    add(std::move(image));
  }
  for (const fs::path& package : options.packages) {
    const std::string name = package.filename().string();
    const bool deb = name.ends_with(".deb");
    std::error_code error;
    const std::uint64_t size = fs::file_size(package, error);
    if (error || (!deb && !name.ends_with(".rpm")))
      return base::fail(Fault::usage, fmt::format("--package {}: {}", package.string(),
                                                  error ? error.message() : "expected a .deb or .rpm file"));
    const std::string sum = TRY(base::sha256_of_file(package));
    more[sum] = package;
    add({.path = {},
         .kind = bundle::BundleKind::package,
         .name = name,
         .os = deb ? "debian" : "redhat",
         .sha256 = sum,
         .size = size});
  }
  TRY(write_bundle(
      blobs.bundle, options.sign,
      [&](const std::string& sha256) {
        const auto found = more.find(sha256);
        return found == more.end() ? blobs.place(sha256) : found->second;
      },
      options.output, io));
  return Outcome::done;
}

void add_bundle(Line& line, BundleOptions& options) {
  line.argument("BUNDLE", options.bundle, "Bundle directory or archive").required();
  add_format(line, options.format);
}

}  // namespace

Command bundle_inspect_command() {
  return CommandRow<BundleOptions>{
      .name = "bundle inspect",
      .group = Group::bundles,
      .summary = "Show the contents of a bundle",
      .options = add_bundle,
      .examples = {{"gpuadm bundle inspect lab.tar.zst", "files, images, sizes"}},
      .run = bundle_inspect};
}

Command bundle_verify_command() {
  return CommandRow<BundleOptions>{
      .name = "bundle verify",
      .group = Group::bundles,
      .summary = "Verify all checksums and the signature",
      .options =
          [](Line& line, BundleOptions& options) {
            add_bundle(line, options);
            add_signers(line, options.signers);
          },
      .examples = {{"gpuadm bundle verify lab.tar.zst --signers allowed_signers", "before transfer"}},
      .run = bundle_verify};
}

Command bundle_diff_command() {
  return CommandRow<BundleOptions>{
      .name = "bundle diff",
      .group = Group::bundles,
      .summary = "Compare two bundles; exit code 1 if they differ",
      .options =
          [](Line& line, BundleOptions& options) {
            add_bundle(line, options);
            line.argument("OTHER", options.other, "Bundle to compare with").required();
          },
      .examples = {{"gpuadm bundle diff old.tar.zst new.tar.zst", "what is new"}},
      .run = bundle_diff};
}

Command bundle_extend_command() {
  return CommandRow<BundleExtendOptions>{
      .name = "bundle extend",
      .group = Group::bundles,
      .summary = "Create a bundle from another one, with more images or packages",
      .options =
          [](Line& line, BundleExtendOptions& options) {
            line.argument("BUNDLE", options.bundle, "Bundle directory or archive").required();
            add_bundle_output(line, options.output);
            line.list("--image", options.images, "NAME,...", "Additional images");
            line.list("--package", options.packages, "FILE,...", "Additional packages, .deb or .rpm");
            add_source(line, options.source,
                       "Source of the images: public registries (public), or a directory or URL that "
                       "mirrors them, https://HOST/PATH as HOST/PATH");
            add_sign(line, options.sign);
            add_signers(line, options.signers);
          },
      .examples = {{"gpuadm bundle extend lab.tar.zst -o more.tar.zst --image "
                    "docker.io/library/busybox:1.36",
                    "with another image"}},
      .run = bundle_extend};
}

}  // namespace commands
