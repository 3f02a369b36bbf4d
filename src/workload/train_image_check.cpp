#include "gpuadm/base/text.hpp"
#include "gpuadm/workload/train_image.hpp"

#include "workload/cuda_constraint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace workload {

namespace {

using report::Finding;
using report::Severity;
using report::Verdict;
using Pull = ImageOnNode::Pull;
using State = ImageOnNode::State;

class ImageChecks {
 public:
  explicit ImageChecks(const ImageCheckInputs& inputs) : in_(inputs) {}

  std::vector<Finding> all() {
    for (const TrainImage& image : in_.images)
      for (const facts::Node* node : in_.nodes) examine(image, *node);
    // A node that cannot run the job is only a blocker if the others are too few.
    const std::size_t needed =
        in_.job.placement == Placement::one_per_node ? static_cast<std::size_t>(in_.job.ranks()) : 1;
    if (in_.nodes.size() < needed + unfit_.size())
      for (Finding& finding : findings_)
        if (blocking_.contains(&finding - findings_.data())) finding.severity = Severity::blocker;
    return std::move(findings_);
  }

 private:
  Finding& add(std::string_view id, Verdict verdict, const std::string& message, const std::string& evidence,
               const std::string& remedy) {
    Finding finding;
    finding.id = "train." + std::string(id);
    finding.severity = Severity::warning;
    finding.verdict = verdict;
    finding.host = base::printable(node_, 100);
    finding.message = message;
    finding.evidence = base::printable(evidence, 600);
    finding.remedy = remedy;
    findings_.push_back(std::move(finding));
    return findings_.back();
  }
  void pass(std::string_view id, const std::string& message) { add(id, Verdict::pass, message, "", ""); }
  /// The job cannot run on this node.
  void stop(std::string_view id, const std::string& message, const std::string& evidence,
            const std::string& remedy) {
    add(id, Verdict::fail, message, evidence, remedy);
    blocking_.insert(static_cast<std::ptrdiff_t>(findings_.size()) - 1);
    unfit_.insert(node_);
  }
  /// Not a problem of the job: shown by `train check`, and not by `train run`.
  void unknown(std::string_view id, const std::string& message, const std::string& why) {
    add(id, Verdict::unknown, message, why, "").severity = Severity::note;
  }

  void examine(const TrainImage& image, const facts::Node& node) {
    node_ = node.name;
    name_ = base::printable(image.written, 120);
    const auto read = std::ranges::find(in_.read, node.name, &NodeImages::node);
    if (read == in_.read.end() || !read->why.empty())
      return unknown("image-present", fmt::format("whether the image {} is on the node is not known", name_),
                     read == in_.read.end() ? "the node is not a host of the cluster file" : read->why);
    const auto found = read->images.find(image.full);
    const ImageOnNode on = found == read->images.end() ? ImageOnNode{} : found->second;
    present(image, on);
    if (on.state != State::present) return;
    if (!on.is_configured)
      return unknown("image-architecture",
                     fmt::format("the configuration of the image {} is not known", name_),
                     "crictl inspecti does not show it");
    architecture(node, on);
    if (image.has_gpus) cuda(*read, on);
    if (in_.job.framework == Framework::mpi && in_.job.ranks() > 1) mpi(on);
  }

  void present(const TrainImage& image, const ImageOnNode& on) {
    if (on.state == State::unknown)
      unknown("image-present", fmt::format("whether the image {} is on the node is not known", name_),
              on.why.empty() ? "the node did not answer" : on.why);
    else if (on.state == State::present)
      pass("image-present", fmt::format("the image {} is on the node", name_));
    else if (image.pulled == "never")
      stop("image-present", fmt::format("the image {} is not on the node, and is never pulled", name_),
           "imagePullPolicy: Never", "import it on the node, or use another imagePullPolicy");
    else
      pass("image-present", fmt::format("the image {} is not on the node, and has to be pulled", name_));
    const bool needed = image.pulled == "always" || (image.pulled == "missing" && on.state == State::absent);
    if (needed) pull(image, on);
  }

  void pull(const TrainImage& image, const ImageOnNode& on) {
    const std::string always =
        on.state == State::present ? "; it is on the node, but imagePullPolicy is Always" : "";
    const std::string remedy =
        on.state == State::present
            ? "a tag other than latest, or imagePullPolicy: IfNotPresent"
            : fmt::format("import it on the node: ctr -n k8s.io images import FILE, or use another image");
    switch (on.pull) {
      case Pull::possible:
        return pass("image-pull", fmt::format("the registry has the image {}", name_));
      case Pull::missing:
        return stop("image-pull", fmt::format("the registry does not have the image {}", name_),
                    on.pull_why + always, remedy);
      case Pull::unreachable:
        return stop("image-pull",
                    fmt::format("the node cannot reach the registry of the image {}", image.full),
                    on.pull_why + always, remedy);
      case Pull::denied:
        add("image-pull", Verdict::fail,
            fmt::format("the registry refuses the image {} without a login, or does not have it", name_),
            on.pull_why + always, "imagePullSecrets of the namespace, or the login in the cluster file");
        return;
      case Pull::unknown:
      case Pull::not_needed:
        return unknown("image-pull", fmt::format("whether the image {} can be pulled is not known", name_),
                       on.pull_why.empty() ? "the node did not answer" : on.pull_why);
    }
  }

  void architecture(const facts::Node& node, const ImageOnNode& on) {
    const auto label = node.labels.find("kubernetes.io/arch");
    if (on.architecture.empty() || label == node.labels.end())
      return unknown("image-architecture",
                     fmt::format("the architecture of the image {} is not known", name_),
                     label == node.labels.end() ? "the node has no label kubernetes.io/arch" : "");
    if (on.architecture == label->second)
      return pass("image-architecture", fmt::format("the image {} is for {}", name_, on.architecture));
    stop("image-architecture",
         fmt::format("the image {} is for {}, and the node has {}", name_, on.architecture,
                     base::printable(label->second, 40)),
         "", fmt::format("an image for {}", base::printable(label->second, 40)));
  }

  void cuda(const NodeImages& read, const ImageOnNode& on) {
    const auto needs = cuda_of_image(on.environment);
    if (!needs)
      return unknown("image-cuda", fmt::format("the CUDA of the image {} is not known", name_),
                     "neither CUDA_VERSION nor NVIDIA_REQUIRE_CUDA is set in it");
    const auto version = base::Version::parse(read.driver);
    if (!version) return unknown("image-cuda", "the driver of the node is not known", "no driver is loaded");
    const auto lowest = in_.cuda.lowest_driver(*needs);
    const auto lowest_version = lowest ? base::Version::parse(*lowest) : std::nullopt;
    if (!lowest_version)
      return unknown("image-cuda",
                     fmt::format("the driver that CUDA {} needs is not known", needs->minor_text()), "");
    if (*version < *lowest_version)
      return stop(
          "image-cuda",
          fmt::format("the driver is too old for CUDA {} of the image {}", needs->minor_text(), name_),
          fmt::format("driver {}; CUDA {} needs {}", read.driver, needs->minor_text(), *lowest),
          "gpuadm upgrade --driver, or an image with an older CUDA");
    const CudaConstraint::Node driver{*version, in_.cuda.cuda_of(*version)};
    for (const CudaConstraint& constraint : constraints_of(on.environment))
      if (constraint.holds(driver) == CudaConstraint::Answer::no) {
        add("image-cuda", Verdict::fail,
            fmt::format("the NVIDIA Container Toolkit may refuse the image {} with this driver", name_),
            fmt::format("driver {}, {}={}", read.driver, constraint.variable, constraint.value),
            "gpuadm upgrade --driver, --env NVIDIA_DISABLE_REQUIRE=1, or an image with an older CUDA");
        return;
      }
    pass("image-cuda", fmt::format("driver {} runs CUDA {}", read.driver, needs->minor_text()));
  }

  /// The folder of a path is in PATH of the image, or is one that mpi.sh adds. /bin is a link to /usr/bin.
  static bool is_in_path(const std::string& path, const ImageOnNode& on) {
    const auto variable = on.environment.find("PATH");
    const std::string folders =
        (variable == on.environment.end() ? "/usr/local/bin:/usr/bin:/bin" : variable->second) +
        ":/usr/sbin:/usr/local/sbin";
    const auto plain = [](std::string_view folder) {
      while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
      return folder.starts_with("/usr/bin") || folder.starts_with("/usr/sbin") ? folder.substr(4) : folder;
    };
    const std::string_view folder = plain(std::string_view(path).substr(0, path.rfind('/')));
    return std::ranges::any_of(base::split(folders, ':'),
                               [&](std::string_view one) { return plain(one) == folder; });
  }
  static bool has(const ImageOnNode& on, std::string_view program) {
    return std::ranges::any_of(on.programs, [&](const std::string& path) {
      return std::string_view(path).substr(path.rfind('/') + 1) == program && is_in_path(path, on);
    });
  }

  void mpi(const ImageOnNode& on) {
    if (!on.is_searched)
      return unknown("image-mpi", fmt::format("whether the image {} has sshd and mpirun is not known", name_),
                     on.why);
    std::vector<std::string> missing;
    for (const std::string_view program : mpi_servers)
      if (!has(on, program)) missing.emplace_back(program);
    if (!missing.empty())
      return stop("image-mpi", fmt::format("the image {} has no {}", name_, base::join(missing, " and no ")),
                  on.programs.empty() ? "" : "found: " + base::join(on.programs, ", "),
                  "install openssh-server and openssh-client in it");
    if (!std::ranges::any_of(mpi_starters, [&](std::string_view one) { return has(on, one); })) {
      add("image-mpi", Verdict::fail, fmt::format("the image {} has no mpirun in its PATH", name_),
          "found: " + base::join(on.programs, ", "), "install an MPI in it, or set --env PATH=...");
      return;
    }
    pass("image-mpi", fmt::format("the image {} has sshd, ssh and mpirun", name_));
  }

  const ImageCheckInputs& in_;
  std::string node_, name_;
  std::vector<Finding> findings_;
  std::set<std::ptrdiff_t> blocking_;  ///< indexes of findings
  std::set<std::string> unfit_;        ///< nodes that cannot run the job
};

}  // namespace

std::vector<Finding> examine_images(const ImageCheckInputs& inputs) {
  return ImageChecks(inputs).all();
}

}  // namespace workload
