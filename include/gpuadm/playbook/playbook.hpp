#pragma once

#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/error.hpp"
#include "gpuadm/base/shell.hpp"
#include "gpuadm/base/tree.hpp"
#include "gpuadm/base/version.hpp"
#include "gpuadm/bundle/bundle.hpp"
#include "gpuadm/facts/cluster.hpp"
#include "gpuadm/facts/facts.hpp"
#include "gpuadm/spec/cluster.hpp"
#include "gpuadm/spec/decisions.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Loads YAML steps and templates, and renders typed steps. See docs/reference/playbooks.md.
namespace playbook {

using base::Result;

/// A POSIX sh script, or one for each OS family. Constant: values are passed as variables only.
struct Script {
  std::map<std::string, std::string> by_family;  ///< "debian", "redhat", "suse"; "": all families
  [[nodiscard]] bool empty() const { return by_family.empty(); }
  /// The script for a family, or nullptr if there is none.
  [[nodiscard]] const std::string* find(facts::Family family) const;
};

/// `check` exits 0 = satisfied, 1 = needed, anything else = failure, with the reason on stderr. If it is
/// still needed after `apply`, and `needs_reboot` exits 0, with the reason on stderr, the host is rebooted.
struct Shell {
  Script check, apply, needs_reboot;
};

/// A file on the host; check (SHA-256) and apply (journal, write atomically) are derived.
struct File {
  std::string path;
  std::string mode = "0644";
  std::string content_from;  ///< asset path of a template, or "compose:NAME", or empty: `content`
  std::string content;       ///< inline content; also a template
  std::string restarts;      ///< a unit that must be restarted after this file has changed
  std::string validate;      ///< validates $new with the program that reads $path; constant text
};

/// Polled until `check` exits 0 or the step's timeout expires.
struct Wait {
  Script check;
  std::string message;  ///< what it waits for
};

/// One action for each bundle file of a kind: `check` as in Shell; `apply` gets the file on its stdin. Both
/// read $bundle_name, $bundle_target, $bundle_mode, $bundle_sha256.
struct Upload {
  bundle::BundleKind kind = bundle::BundleKind::file;
  Script check, apply;
  bool carried = false;  ///< files that gpuadm itself contains, instead of those of the operator's bundle
  /// Several files at a time; `apply` must not write to files that another of them writes, nor to the journal
  /// other than with journal_thing.
  bool together = false;
};

/// Side effects that the operator is shown in advance.
struct Effects {
  std::vector<std::string> packages, restarts;
  bool reboot = false;   ///< the host may need a reboot
  bool network = false;  ///< pods may lose connections if their cluster runs already
};

/// A condition on a host, by its name in src/playbook/select.cpp.
struct Selector {
  std::string name;
  bool holds = true;  ///< false: the condition is negated
};

struct Step {
  std::string id, title;
  std::vector<Selector> on;        ///< all must hold
  std::vector<std::string> reads;  ///< variables
  std::vector<std::string> fixes;  ///< ids of checks whose findings it fixes
  std::string
      saves;  ///< stdout is saved as this variable for later steps of the same run; treated as a secret
  std::string shares;  ///< the same for the steps of every host
  std::string judge;   ///< which judge evaluates the output of `check` once it is satisfied: see run::Judge
  std::chrono::seconds timeout{60};
  Effects effects;
  std::variant<Shell, File, Wait, Upload> does;
};

struct Phase {
  std::string name, title;
  bool refresh = false;  ///< facts are read again after it, if it has changed something
  /// Consecutive phases with `each` are executed for one batch of hosts after the other. The acting hosts:
  /// "itself" for the hosts of the batch, or a selector of hosts that act for them. Empty: all hosts, in
  /// parallel.
  std::string each;
  std::vector<Step> steps;
  int at_once = 0;  ///< hosts that execute it in parallel; 0: all
};

struct Playbook {
  std::string id, title;
  std::vector<std::string>
      functions;             ///< shell files of the playbooks with functions that its steps may call
  bool independent = false;  ///< a failed step does not stop the others
  std::vector<Phase> phases;
};

/// Every pinned version, image and URL: playbooks/catalog.yaml.
struct Catalog {
  base::Tree tree;
  /// Values that override the file's, for all versions of Kubernetes.
  std::map<std::string, std::string> overrides = {};
  /// The value of a key for a Kubernetes minor version: `perKubernetes.<newest listed minor <=
  /// version>.<key>`, otherwise `defaults.<key>`.
  [[nodiscard]] std::optional<std::string> find(const std::string& key,
                                                const base::Version& kubernetes) const;
};

/// Inputs for rendering a step.
struct Context {
  const spec::Cluster& cluster;
  const spec::Decisions& decisions;
  const spec::Host& host;
  const facts::Facts& facts;
  const Catalog& catalog;
  const bundle::Bundle* bundle = nullptr;
  base::Version kubernetes;               ///< the version this run installs or finds
  const facts::Census* census = nullptr;  ///< of all hosts of the run; nullptr: only of this one
};

/// ID and VERSION_ID of /etc/os-release: "debian-12".
[[nodiscard]] std::string release_of(const facts::Os& os);
/// Whether a file of a bundle is for this operating system.
[[nodiscard]] bool is_for(const bundle::BundleFile& file, const facts::Os& os);
/// Whether a bundle has operating-system packages for such hosts.
[[nodiscard]] bool has_packages(const bundle::Bundle& bundle, const facts::Os& os);
/// Whether operating-system packages are available: from the bundle if there is one, otherwise from the
/// host's repositories.
[[nodiscard]] bool offers_packages(const Context& context);

/// The image for a key of the catalog. If a bundle contains it by its tag and not by its digest, without the
/// digest: the bundle verifies its contents.
[[nodiscard]] std::optional<std::string> image_named(const Context& context, const std::string& key);

/// Source of an image's name.
enum class ImageSource {
  bundle,
  kubeadm,  ///< `kubeadm config images list` on the host, of the installed version
  table     ///< playbooks/catalog.yaml, until kubeadm is installed
};
struct PauseImage {
  std::string name;
  ImageSource source = ImageSource::table;
};
/// The pods' sandbox image, for the configuration of the container runtime.
[[nodiscard]] PauseImage pause_image(const Context& context);

/// Whether the host is a node whose join has completed.
[[nodiscard]] bool is_node(const facts::Facts& facts);

/// The control-plane node that the others join: the first existing one, otherwise the first of the file;
/// nullptr if there is none.
[[nodiscard]] const spec::Host* first_control_plane(const spec::Cluster& cluster,
                                                    const facts::Census& census);

/// How gpuadm has set up the GPUs of a node in Kubernetes.
struct GpuSetUp {
  spec::Allocator allocator = spec::Allocator::device_plugin;
  std::string mig;           ///< "", "mig-single", "mig-mixed"; with DRA always empty
  spec::GpuProfile sharing;  ///< with DRA always exclusive
  bool operator==(const GpuSetUp&) const = default;
};
/// From the labels of the node that steps of gpu/labels have set. Nothing if it has none.
[[nodiscard]] std::optional<GpuSetUp> gpu_set_up(const std::map<std::string, std::string>& labels);
/// What a run with this cluster sets up on a host with these GPUs.
[[nodiscard]] GpuSetUp gpu_set_up(const spec::Cluster& cluster, const spec::Host& host,
                                  const facts::Nvidia& nvidia);
/// The MIG instances of each of a node's GPUs, from its labels and its capacity. Nothing if it has none, or
/// if the node does not say which. `gpus`: how many GPUs it has, all with the same instances.
[[nodiscard]] std::optional<spec::Mig> mig_of(const facts::Node& node, std::size_t gpus);
/// "time-slicing-4", "mig-single, mps-2", "exclusive", "NVIDIA's DRA driver", "no allocator"
[[nodiscard]] std::string to_text(const GpuSetUp& set_up);

/// The Kubernetes version of a run.
struct ChosenVersion {
  base::Version version;  ///< with its patch
  /// Only the minor is known: its packages are to be installed, and their repository determines the patch
  /// version.
  bool is_assumed = false;
};
/// From the cluster file, otherwise the bundle, otherwise the installed kubeadm, otherwise the catalog.
/// Fault::spec if the sources contradict each other, or if a version older than 1.20 is to be installed.
[[nodiscard]] Result<ChosenVersion> choose_version(const spec::Cluster& cluster, const facts::Facts& facts,
                                                   const Catalog& catalog, const bundle::Bundle* bundle);
/// The version of the steps on one host: the same from the decided version, if there is one; its patch
/// version may be assumed.
[[nodiscard]] Result<base::Version> kubernetes_version(const spec::Cluster& cluster,
                                                       const spec::Decisions& decisions,
                                                       const facts::Facts& facts, const Catalog& catalog,
                                                       const bundle::Bundle* bundle);

/// The playbooks of one run, with their assets.
class Library {
 public:
  /// Loads playbooks/NAME.yaml with its step files, and the catalog. Errors contain file, line and column.
  [[nodiscard]] static Result<Library> load(const assets::Store& store, std::string_view name);
  /// The same for the operator's own playbook. Its templates are relative to its directory.
  [[nodiscard]] static Result<Library> load_file(const assets::Store& store,
                                                 const std::filesystem::path& file);

  [[nodiscard]] const Playbook& playbook() const { return playbook_; }
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  /// Overrides a value of the catalog in this run, such as an image that nodes already have.
  void override_catalog(const std::string& key, std::string value) {
    catalog_.overrides[key] = std::move(value);
  }
  /// The functions that every program on a host may call: playbooks/prelude.sh and the playbook's own.
  [[nodiscard]] const std::string& prelude() const { return prelude_; }
  /// Additional functions for uploads: playbooks/depot.sh.
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

/// Whether all selectors match. Unknown selectors are rejected when the playbook is loaded.
[[nodiscard]] bool selected(const Step& step, const Context& context);
[[nodiscard]] std::vector<std::string> selectors();

/// The value of a variable; nothing: unknown variable. Values that steps save are not found here.
[[nodiscard]] std::optional<std::string> variable(const std::string& name, const Context& context);
[[nodiscard]] std::vector<std::string> variables();

/// `text` with each ${name} replaced. An unknown name is Fault::spec; names in `later` are not replaced.
[[nodiscard]] Result<std::string> fill(std::string_view text, const base::Variables& values,
                                       const std::vector<std::string>& later, std::string_view source);

/// A file composed with its format's library from the host's facts.
struct Composed {
  std::string path;  ///< empty: the step's path
  std::string content;
  std::optional<std::string> base_sha256;  ///< of the file that it was derived from, "absent" if it did not
                                           ///< exist; nothing: not derived
};
/// The files of one configuration, in the order in which they must be written. `name`: one of composers(),
/// for example "containerd-config". An unreadable input is rejected, with its position.
[[nodiscard]] Result<std::vector<Composed>> compose(std::string_view name, const Context& context);
/// The effective configuration of the container runtime once its composer's files are written: all files
/// merged, without the runtime's defaults.
[[nodiscard]] Result<base::Tree> effective(const Context& context, const std::vector<Composed>& files);
[[nodiscard]] std::vector<std::string> composers();

}  // namespace playbook
