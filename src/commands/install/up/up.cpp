#include "commands/install/up/up.hpp"

#include "commands/shared_options.hpp"

namespace commands {

namespace {

constexpr const char* default_size = "10Gi";

/// From a machine with a GPU to a cluster on it, and a notebook. Each stage is the function of an existing
/// command. Can be repeated: what exists is kept. Fault::usage for options that do not fit, before it
/// connects.
Result<Outcome> up(const UpOptions& asked, Io& io) {
  UpOptions options = asked;
  TRY(check_up(options));
  if (!options.notebook.name.empty() && options.notebook.size.empty() && options.notebook.storage.empty())
    options.notebook.size = default_size;
  return run_up(options, io);
}

void add_up(Line& line, UpOptions& options) {
  add_hosts(line, options.hosts, "this machine");
  line.value("--notebook", options.notebook.name, "NAME", "Create a notebook with this name");
  line.value("--gpus", options.notebook.gpus, "GPUS",
             "GPUs of the notebook, as in gpuadm notebook create (default 1, without GPUs 0)");
  line.value("--image", options.notebook.image, "IMAGE",
             "Image of the notebook: pytorch, tensorflow, or a reference (default pytorch)");
  line.value(
      "--size", options.notebook.size, "SIZE",
      "Volume for the files of the notebook (default 10Gi); a cluster without storage gets a local one");
  line.value("--storage", options.notebook.storage, "NAME",
             "PersistentVolumeClaim for the files; with --size: storage or StorageClass of a new one");
  line.flag("--no-tunnel", options.tunnel, false, "Open no tunnel to the notebook, and end");
  line.value("--local-port", options.port, "PORT", "Port of the tunnel on this machine (default: any)")
      .range(1, 65535);
  line.command(options.notebook.command);
  add_preview(line, options.consent);
  add_reboots(line, options.reboots);
  add_bundle_source(line, options.bundle, options.bundle_signers);
  line.value("--kubernetes-version", options.kubernetes_version, "VERSION",
             "Kubernetes version, for example 1.34 or 1.34.2");
  line.value("--region", options.region, "REGION", "Use the mirrors of this region, for example cn");
  line.value("--driver", options.driver, "use|install[=BRANCH]",
             "NVIDIA driver: use the installed one, or install one (of this branch)");
  add_namespace(line, options.notebook.ns);
  add_format(line, options.format);
  add_connection(line, options.common);
}

}  // namespace

Command up_command() {
  return CommandRow<UpOptions>{
      .name = "up",
      .group = Group::install,
      .summary = "Create a cluster on a machine with GPUs, verify it, and open a notebook: one question",
      .options = add_up,
      .examples = {{"gpuadm up root@192.0.2.10 --notebook anna", "to a notebook in the browser"},
                   {"gpuadm up --dry-run", "what it would do on this machine"},
                   {"gpuadm up -f cluster.yaml -y", "all hosts of a cluster file, without a notebook"}},
      .run = up};
}

}  // namespace commands
