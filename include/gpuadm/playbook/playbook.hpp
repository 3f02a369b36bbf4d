#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// YAML steps and templates to typed steps: load, select, render. See docs/reference/playbooks.md.
namespace playbook {

using base::Result;

/// A POSIX-sh text, or one for each OS family. Constant: values reach it as variables only.
struct Script {
  std::map<std::string, std::string> by_family;  ///< "debian", "redhat", "suse"; "" serves every family
  [[nodiscard]] bool empty() const { return by_family.empty(); }
  /// The text for a family, or nullptr where the step cannot run there.
  [[nodiscard]] const std::string* find(facts::Family family) const;
};

/// `check` exits 0 = satisfied, 1 = needed, anything else = failure, with the reason on stderr. Where it is
/// still needed after `apply`, and `needs_reboot` exits 0, with the reason on stderr, the host is rebooted.
struct Shell {
  Script check, apply, needs_reboot;
};

/// A file on the host; check (SHA-256) and apply (journal, write atomically) are derived.
struct File {
  std::string path;
  std::string mode = "0644";
  std::string content_from;  ///< asset path of a template, or "compose:NAME", or empty: `content`
  std::string content;       ///< written in the playbook itself; a template too
  std::string restarts;      ///< a unit that must be restarted once this file has changed
  std::string validate;      ///< asks the program that reads it whether it takes $new as $path; constant text
};

/// Polled until `check` exits 0 or the step's timeout has passed.
struct Wait {
  Script check;
  std::string says;  ///< what it waits for
};

/// One action for every bundle file of a kind: `check` as in Shell, `apply` gets the file on its stdin. Both
/// read $bundle_name, $bundle_target, $bundle_mode, $bundle_sha256.
struct Upload {
  bundle::BundleKind kind = bundle::BundleKind::file;
  Script check, apply;
  bool carried = false;  ///< the files that gpuadm itself carries, not those of the operator's bundle
};

/// What an operator wants to know before it happens.
struct Effects {
  std::vector<std::string> packages, restarts;
  bool reboot = false;  ///< the host may have to be rebooted
};

/// A condition on a host, by its name in src/playbook/select.cpp.
struct Selector {
  std::string name;
  bool holds = true;  ///< false: it must not hold
};

struct Step {
  std::string id, title;
  std::vector<Selector> on;        ///< all must hold
  std::vector<std::string> reads;  ///< variables
  std::vector<std::string> fixes;  ///< ids of checks whose finding it mends
  std::string saves;   ///< stdout becomes this variable for later steps of the same run; kept secret
  std::string shares;  ///< the same for the steps of every host
  std::string judge;   ///< who judges what `check` prints once it is satisfied: see run::Judge
  std::chrono::seconds timeout{60};
  Effects effects;
  std::variant<Shell, File, Wait, Upload> does;
};

struct Phase {
  std::string name, title;
  bool refresh = false;  ///< facts are read again after it, where it has changed something
  /// Phases in a row that have it are gone through for one batch of hosts after the other. Who walks:
  /// "itself", the hosts of the batch, or a selector of those that act for them. Empty: every host, at once.
  std::string each;
  std::vector<Step> steps;
  int at_once = 0;  ///< hosts that go through it at the same time; 0: all
};

struct Playbook {
  std::string id, title;
  std::vector<std::string>
      functions;             ///< shell files beside the playbooks, whose functions its steps may call
  bool independent = false;  ///< a step that fails keeps none of the others from running
  std::vector<Phase> phases;
};

/// Every pinned version, image and URL: playbooks/catalog.yaml.
struct Catalog {
  base::Tree tree;
  /// Values that replace the file's, for every version of Kubernetes.
  std::map<std::string, std::string> overrides = {};
  /// The value of a key for a Kubernetes minor: `perKubernetes.<newest listed minor <= version>.<key>`, else
  /// `defaults.<key>`.
  [[nodiscard]] std::optional<std::string> find(const std::string& key,
                                                const base::Version& kubernetes) const;
};

/// What a step is rendered from.
struct Context {
  const spec::Cluster& cluster;
  const spec::Host& host;
  const facts::Facts& facts;
  const Catalog& catalog;
  const bundle::Bundle* bundle = nullptr;
  base::Version kubernetes;               ///< the version this run installs or finds
  const facts::Census* census = nullptr;  ///< of all hosts of the run; nullptr: of this one only
};

/// ID and VERSION_ID of /etc/os-release: "debian-12".
[[nodiscard]] std::string release_of(const facts::Os& os);
/// Whether a file of a bundle is for hosts of this operating system.
[[nodiscard]] bool is_for(const bundle::BundleFile& file, const facts::Os& os);
/// Whether a bundle has packages of the operating system for such hosts.
[[nodiscard]] bool has_packages(const bundle::Bundle& bundle, const facts::Os& os);
/// Whether packages of the operating system can be had: from the bundle where there is one, else from the
/// host's own repositories.
[[nodiscard]] bool offers_packages(const Context& context);

/// The image that a key of the catalog names. Where a bundle carries it by its tag and not by its digest,
/// without the digest: what is in a bundle is verified by the bundle.
[[nodiscard]] std::optional<std::string> image_named(const Context& context, const std::string& key);

/// Who names an image.
enum class ImageSource {
  bundle,
  kubeadm,  ///< `kubeadm config images list` on the host, of the version that is installed there
  table     ///< playbooks/catalog.yaml: serves until kubeadm is installed
};
struct PauseImage {
  std::string name;
  ImageSource source = ImageSource::table;
};
/// The image of pods' sandboxes, which the container runtime is configured with.
[[nodiscard]] PauseImage pause_image(const Context& context);

/// Whether the host is a node, and its join was not cut off.
[[nodiscard]] bool is_node(const facts::Facts& facts);

/// The control plane that the others join: the first that is one already, else the first of the file; nullptr
/// where no host is to be one.
[[nodiscard]] const spec::Host* first_control_plane(const spec::Cluster& cluster,
                                                    const facts::Census& census);

/// The Kubernetes version of a run.
struct ChosenVersion {
  base::Version version;  ///< with its patch
  /// Only the minor is known: packages of it are to be installed, and their repository decides about the
  /// patch.
  bool is_assumed = false;
};
/// The cluster file's, else the bundle's, else the installed kubeadm's, else the catalog's. Fault::spec where
/// the sources contradict each other, or one older than 1.20 is to be installed.
[[nodiscard]] Result<ChosenVersion> choose_version(const spec::Cluster& cluster, const facts::Facts& facts,
                                                   const Catalog& catalog, const bundle::Bundle* bundle);
/// The same, where an assumed patch is as good.
[[nodiscard]] Result<base::Version> kubernetes_version(const spec::Cluster& cluster,
                                                       const facts::Facts& facts, const Catalog& catalog,
                                                       const bundle::Bundle* bundle);

/// The playbooks of one run, and what they need from the assets.
class Library {
 public:
  /// Reads playbooks/NAME.yaml with the step files that it names, and the catalog. Errors name file, line and
  /// column.
  [[nodiscard]] static Result<Library> load(const assets::Store& store, std::string_view name);
  /// The same for a playbook of the operator's. Its templates are relative to its own folder.
  [[nodiscard]] static Result<Library> load_file(const assets::Store& store,
                                                 const std::filesystem::path& file);

  [[nodiscard]] const Playbook& playbook() const { return playbook_; }
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  /// Replaces a value of the catalog in this run, such as an image that nodes already have.
  void override_catalog(const std::string& key, std::string value) {
    catalog_.overrides[key] = std::move(value);
  }
  /// The functions that every program may call on the host: playbooks/prelude.sh and the playbook's own.
  [[nodiscard]] const std::string& prelude() const { return prelude_; }
  /// What programs of uploads can call besides: playbooks/depot.sh.
  [[nodiscard]] const std::string& depot() const { return depot_; }
  /// The text of a template.
  [[nodiscard]] Result<std::string> text(const std::string& path) const;

 private:
  [[nodiscard]] static Result<Library> of(const assets::Store& store, std::string_view text,
                                          const std::string& source);
  const assets::Store* store_ = nullptr;
  std::filesystem::path folder_;
  Playbook playbook_;
  Catalog catalog_;
  std::string prelude_, depot_;
};

/// Whether every selector holds. An unknown one is refused when the playbook is loaded.
[[nodiscard]] bool selected(const Step& step, const Context& context);
[[nodiscard]] std::vector<std::string> selectors();

/// The value of a variable; nothing: no variable of that name. What a step saves is not found here.
[[nodiscard]] std::optional<std::string> variable(const std::string& name, const Context& context);
[[nodiscard]] std::vector<std::string> variables();

/// `text` with each ${name} replaced. An unknown name is Fault::spec naming it; names in `later` are left
/// standing.
[[nodiscard]] Result<std::string> fill(std::string_view text, const base::Variables& values,
                                       const std::vector<std::string>& later, std::string_view source);

/// A file composed with its format's library from what is on the host.
struct Composed {
  std::string path;  ///< empty: the step's own
  std::string content;
  std::optional<std::string>
      base_sha256;  ///< of what it was made from, "absent" where there was no file; nothing: from no file
};
/// The files of one configuration, in the order in which they are to be written. `name`: one of composers(),
/// for example "containerd-config". What cannot be read is refused, with its place.
[[nodiscard]] Result<std::vector<Composed>> compose(std::string_view name, const Context& context);
/// What the cluster's runtime reads once the files that its composer made are written: all that the files say
/// together, without the runtime's own defaults.
[[nodiscard]] Result<base::Tree> effective(const Context& context, const std::vector<Composed>& files);
[[nodiscard]] std::vector<std::string> composers();

}  // namespace playbook
