#include "gpuadm/base/text.hpp"

#include "commands/workloads/notebook/notebook.hpp"
#include "commands/workloads/notebook/notebook_plan.hpp"
#include "commands/workloads/storage/claim_folders.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

using base::Fault;
using base::Tree;

/// The volume of a notebook that is deleted.
enum class VolumeFate { ask, keep, purge };

struct NotebookDeleteOptions {
  NotebookOptions notebook;
  VolumeFate volume = VolumeFate::ask;
};

/// Whether the own volume is deleted too.
Result<bool> decide(const NotebookDeleteOptions& options, const NotebookVolumes& volumes, const Io& io) {
  if (volumes.own.empty() || options.volume == VolumeFate::keep) return false;
  if (options.volume == VolumeFate::purge) return true;
  const auto answer = io.confirm(fmt::format("Also delete the volume {}/{} ({}) with all files in it?",
                                             options.notebook.ns, volumes.own, volumes.size));
  if (!answer)
    return base::fail(
        Fault::usage,
        fmt::format("the notebook {} has a volume with files", shown_notebook(options.notebook)),
        "add --keep-volume to keep it, or --purge to delete it");
  return *answer;
}

bool uses_claims(const std::vector<Tree>& objects) {
  const Tree* deployment = object_of(objects, "Deployment");
  return deployment && deployment->at({"spec", "template", "spec", "resourceClaims"});
}

/// Deletes a notebook. Fault::usage, with nothing deleted, if the volume needs a decision and there is no
/// terminal.
Result<Outcome> notebook_delete(const NotebookDeleteOptions& options, Io& io) {
  const NotebookOptions& notebook = options.notebook;
  const auto cluster = TRY(reach_notebook(notebook, session::Access::full, io));
  const auto objects = TRY(find_notebook(*cluster, notebook));
  const NotebookVolumes volumes = volumes_of(objects);
  const bool purge = TRY(decide(options, volumes, io));
  const Tree* claim = purge ? object_of(objects, "PersistentVolumeClaim") : nullptr;
  const auto on_storage =
      claim ? TRY(claim_of_notebook(*claim, notebook.hosts, *cluster)) : std::optional<ClaimPlan>();
  TRY(remove_notebook(*cluster, notebook.ns, selector_of_notebook(notebook),
                      uses_claims(objects) ? workload::GpuClaims::yes : workload::GpuClaims::no,
                      purge ? workload::OwnVolume::deleted : workload::OwnVolume::kept));
  if (on_storage) TRY(remove_volume(*on_storage, ClaimFiles::deleted, cluster->client()));
  io.out(fmt::format("the notebook {} is deleted{}\n", shown_notebook(notebook),
                     purge ? ", with its volume " + volumes.own : ""));
  if (!purge && !volumes.own.empty())
    io.out(fmt::format("the volume {}/{} ({}) is kept; a new notebook {} uses it, {} --purge deletes it\n",
                       notebook.ns, volumes.own, volumes.size, notebook.name,
                       command_for("delete", notebook)));
  if (!volumes.foreign.empty())
    io.out(fmt::format("the volume {}/{}, which it mounted, is not changed\n", notebook.ns, volumes.foreign));
  return Outcome::done;
}

}  // namespace

Command notebook_delete_command() {
  return CommandRow<NotebookDeleteOptions>{
      .name = "notebook delete",
      .group = Group::workloads,
      .summary = "Delete a notebook, and its volume if you confirm it",
      .options =
          [](Line& line, NotebookDeleteOptions& options) {
            add_notebook(line, options.notebook);
            const Option keep = line.flag("--keep-volume", options.volume, VolumeFate::keep,
                                          "Keep the volume: a new notebook of this name uses it");
            line.flag("--purge", options.volume, VolumeFate::purge, "Also delete the volume, without asking")
                .excludes(keep);
          },
      .examples = {{"gpuadm notebook delete anna -f cluster.yaml", "asks before it deletes the volume"},
                   {"gpuadm notebook delete anna -f cluster.yaml --keep-volume", "never deletes the volume"}},
      .run = notebook_delete};
}

}  // namespace commands
