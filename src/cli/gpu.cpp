#include "cli/gpu.hpp"

#include "gpuadm/app/gpu.hpp"

#include "cli/connection.hpp"

#include <memory>

namespace cli {

namespace {

void add_output(CLI::App& verb, app::Format& format) {
  verb.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& name) {
            format = name == "json" ? app::Format::json : app::Format::text;
          },
          "The form of the result")
      ->option_text("json|text")
      ->check(CLI::IsMember({"json", "text"}));
}

/// A verb that changes one host of the cluster file.
void add_change(CLI::App& group, const char* name, const char* says, app::GpuChange change, const char* how,
                Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = std::make_shared<app::GpuChangeOptions>();
  verb->add_option("HOST", options->host, "A host of the cluster file; without a file [user@]host")
      ->required()
      ->option_text(" ");
  if (how) verb->add_option("HOW", options->how, how)->required()->option_text(" ");
  verb->add_option("-f,--file", options->file, "The cluster file")->option_text("FILE");
  auto* dry_run = verb->add_flag_callback(
      "--dry-run", [options] { options->consent = app::Consent::preview; },
      "Show what would change, and change nothing");
  verb->add_flag_callback(
          "-y,--yes", [options] { options->consent = app::Consent::given; }, "Do not ask")
      ->excludes(dry_run);
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
  auto* group = root.add_subcommand("gpu", "The GPUs one by one: list, share, divide")
                    ->require_subcommand(1)
                    ->fallthrough();
  auto* list = group->add_subcommand(
      "list", "One line a GPU: where, what, how shared, how it is, who holds it, whether pods can have it");
  const auto options = std::make_shared<app::GpuListOptions>();
  add_hosts(*list, options->hosts);
  add_connection(*list, options->common.connection);
  list->add_option("--from", options->from, "Read what was recorded there, and connect to nothing")
      ->option_text("DIR");
  add_output(*list, options->format);
  list->fallthrough();
  list->final_callback([options, &global, &chosen] {
    chosen = [options, &global](app::Io& io) {
      options->common.assets = global.assets;
      return app::gpu_list(*options, io);
    };
  });
  add_change(*group, "share", "Let pods share each GPU of a host, or not", app::GpuChange::share,
             "N: time-slicing; mps:N; exclusive", global, chosen);
  add_change(*group, "mig", "Divide each GPU of a host into MIG instances, or not", app::GpuChange::mig,
             "PROFILE,...: such as 3g.71gb,3g.71gb; off", global, chosen);
  add_change(*group, "reset-config",
             "The GPUs of a host as they came: exclusive, without MIG, default compute mode and clocks",
             app::GpuChange::reset, nullptr, global, chosen);
}

}  // namespace cli
