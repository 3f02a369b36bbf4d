#include "cli/gpu.hpp"

#include "gpuadm/app/gpu.hpp"

#include "cli/connection.hpp"
#include "cli/options.hpp"

#include <memory>

namespace cli {

namespace {

void add_output(CLI::App& verb, app::Format& format) {
  verb.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& name) {
            format = name == "json" ? app::Format::json : app::Format::text;
          },
          "Output format")
      ->option_text("json|text")
      ->check(CLI::IsMember({"json", "text"}));
}

/// A command that changes one host of the cluster file.
void add_change(CLI::App& group, const char* name, const char* says, app::GpuChange change, const char* how,
                Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = std::make_shared<app::GpuChangeOptions>();
  verb->add_option("HOST", options->host, "Host of the cluster file, or [user@]host")
      ->required()
      ->option_text(" ");
  if (how) verb->add_option("HOW", options->how, how)->required()->option_text(" ");
  verb->add_option("-f,--file", options->file, "Cluster file")->option_text("FILE");
  add_consent(*verb, options->consent, global);
  add_output(*verb, options->format);
  add_connection(*verb, options->common.connection);
  verb->fallthrough();
  verb->final_callback([options, change, &global, &chosen] {
    chosen = [options, change, &global](app::Io& io) {
      options->common.assets = global.assets;
      return app::gpu_change(change, *options, io);
    };
  });
}

}  // namespace

void add_gpu(CLI::App& root, Global& global, Verb& chosen) {
  auto* group =
      root.add_subcommand("gpu", "List, share and partition GPUs")->require_subcommand(1)->fallthrough();
  auto* list =
      group->add_subcommand("list", "List GPUs with node, model, sharing, health, user and availability");
  const auto options = std::make_shared<app::GpuListOptions>();
  add_hosts(*list, options->hosts);
  add_connection(*list, options->common.connection);
  list->add_option("--from", options->from, "Read a recording instead of connecting to hosts")
      ->option_text("DIR");
  add_output(*list, options->format);
  list->fallthrough();
  list->final_callback([options, &global, &chosen] {
    chosen = [options, &global](app::Io& io) {
      options->common.assets = global.assets;
      return app::gpu_list(*options, io);
    };
  });
  add_change(*group, "share", "Configure GPU sharing on a host", app::GpuChange::share,
             "N: time-slicing; mps:N; exclusive", global, chosen);
  add_change(*group, "mig", "Partition the GPUs of a host into MIG instances", app::GpuChange::mig,
             "PROFILE,...: such as 3g.71gb,3g.71gb; off", global, chosen);
  add_change(*group, "reset-config", "Restore defaults: exclusive, MIG off, default compute mode and clocks",
             app::GpuChange::reset, nullptr, global, chosen);
}

}  // namespace cli
