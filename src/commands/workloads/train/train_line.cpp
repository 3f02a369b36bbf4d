#include "commands/workloads/train/train_line.hpp"

namespace commands {

void add_job(Line& line, TrainRunOptions& options) {
  line.command(options.command);
  line.argument("NAME", options.name, "Name of the job; not with a manifest");
  line.argument(
      "TARGET", options.hosts.targets,
      "[user@]host[:port], or names from the cluster file (default: all its hosts, or this machine)");
  line.repeated("-f,--file", options.files, "FILE",
                "Cluster file, or the manifest of a job: PyTorchJob, MPIJob, TFJob, JAXJob, TrainJob, JobSet "
                "or Job; can be repeated");
  add_kubeconfig(line, options.common, options.context_ns,
                 add_namespace(line, options.ns,
                               "Namespace (default: of the manifest, with --kubeconfig that of its context, "
                               "otherwise default)"));
  line.value("--image", options.image, "IMAGE", "Container image");
  line.value("--nodes", options.nodes, "N", "Number of ranks, each on a node of its own (default 1)")
      .range(1, 10'000);
  line.value("--gpus", options.gpus, "G",
             "GPUs of each rank (default: 1, or those of the manifest): a number, a share such as 1/4, or "
             "MIG instances such as 1g.10gb:2");
  line.flag("--pack", options.pack, "Allow several ranks on one node");
  const Option tensorflow = line.flag("--tf", options.framework, TrainFramework::tensorflow, "Set TF_CONFIG");
  line.flag("--mpi", options.framework, TrainFramework::mpi,
            "Run the command on rank 0, with sshd on all ranks and a host file for mpirun")
      .excludes(tensorflow);
  line.repeated("--storage", options.volumes, "NAME[:PATH]",
                "Mount a claim at a path (default /data); with --size also a new one on a storage or of a "
                "StorageClass; the first one holds the checkpoints; can be repeated");
  line.value("--size", options.size, "SIZE", "Create a claim of this size, named like the job, such as 10Gi");
  line.value("--src", options.source, "DIR",
             "Copy this folder to /workspace of every rank, at most 900 KiB, without .git, caches, .env and "
             "keys, which are named");
  line.repeated("--include", options.include, "PATTERN",
                "With --src: copy what is left out and has this name or path, such as .env or "
                "'certs/*.pem'; can be repeated");
  line.repeated("--env", options.environment, "NAME=VALUE",
                "Variable of the command, not one that gpuadm sets (RANK, MASTER_ADDR); can be repeated");
  line.repeated(
      "--resource", options.resources, "NAME=NUMBER",
      "Resource of each rank other than GPUs, CPUs and memory, such as rdma/hca=1; can be repeated");
  line.value("--cpus", options.cpus, "CPUS", "CPUs that each rank requests, such as 4 or 500m");
  line.value("--memory", options.memory, "SIZE", "Memory limit of each rank, such as 32Gi");
  line.value("--shm", options.shm, "SIZE",
             "Limit of /dev/shm, which is part of the memory (default: the memory of the node)");
  line.value("--master-port", options.port, "PORT",
             "Port at which the ranks meet (default 29500; with --tf 2222)")
      .range(1024, 65535);
  line.value("--processes", options.processes, "N",
             "Processes of torchrun, or MPI slots, on each rank (default: its number of GPUs, at least 1)")
      .range(1, 1024);
  line.value("--time-limit", options.timeout, "TIME", "End the job after this time: 30m, 12h");
  line.list("--ignore", options.ignore, "ID,...", "Treat these blockers as warnings");
}

void add_existing_job(Line& line, TrainOptions& options) {
  line.argument("NAME", options.name, "Name of the job").required();
  add_hosts(line, options.hosts);
  add_access(line, options.common, options.ns);
  add_connection(line, options.common);
}

void add_detach(Line& line, bool& detach) {
  line.flag("--detach", detach,
            "Return when all ranks run, or when the job is in its queue, without following their logs");
}

void add_train_format(Line& line, TrainForm& form) {
  line.choice<TrainForm, TrainForm>("-o,--output", form,
                                    {{"json", TrainForm::json}, {"text", TrainForm::text}}, "Output format");
}

}  // namespace commands
