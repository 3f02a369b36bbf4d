#include "commands/cli/verbs/gpu.hpp"

#include "commands/cli/connection.hpp"
#include "commands/cli/options.hpp"
#include "commands/operate/gpu/gpu.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace commands {

namespace {

void add_output(CLI::App& verb, commands::Format& format) {
  verb.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& name) {
            format = name == "json" ? commands::Format::json : commands::Format::text;
          },
          "Output format")
      ->option_text("json|text")
      ->check(CLI::IsMember({"json", "text"}));
}

void add_host(CLI::App& verb, std::string& host) {
  verb.add_option("HOST", host, "Host of the cluster file, or [user@]host")->required()->option_text(" ");
}

/// What every command that changes one host of the cluster file ends with.
template <class Options>
void add_change_options(CLI::App& verb, const std::shared_ptr<Options>& options, Global& global, Verb& chosen,
                        std::function<base::Result<commands::Outcome>(const Options&, commands::Io&)> does) {
  verb.add_option("-f,--file", options->file, "Cluster file")->option_text("FILE");
  add_consent(verb, options->consent, global);
  add_output(verb, options->format);
  add_connection(verb, options->common.connection);
  verb.fallthrough();
  verb.final_callback([options, does, &global, &chosen] {
    chosen = [options, does, &global](commands::Io& io) {
      options->common.assets = global.assets;
      return does(*options, io);
    };
  });
}

void add_change(CLI::App& group, const char* name, const char* says, commands::GpuChange change,
                const char* how, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = std::make_shared<commands::GpuChangeOptions>();
  add_host(*verb, options->host);
  if (how) verb->add_option("HOW", options->how, how)->required()->option_text(" ");
  add_change_options<commands::GpuChangeOptions>(
      *verb, options, global, chosen, [change](const commands::GpuChangeOptions& of, commands::Io& io) {
        return commands::gpu_change(change, of, io);
      });
}

void add_quarantine(CLI::App& group, const char* name, const char* says, commands::Quarantine what,
                    Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(name, says);
  const auto options = std::make_shared<commands::QuarantineOptions>();
  add_host(*verb, options->host);
  verb->add_option("GPU", options->gpu, "Index, UUID or PCI address of the GPU")
      ->required()
      ->option_text(" ");
  if (what == commands::Quarantine::add)
    verb->add_option("--reason", options->reason, "Why, for gpuadm gpu list and doctor")->option_text("TEXT");
  if (what == commands::Quarantine::add)
    verb->add_flag("--evict", options->evict,
                   "With NVIDIA's DRA driver: also delete the pods that use the GPU");
  add_change_options<commands::QuarantineOptions>(
      *verb, options, global, chosen, [what](const commands::QuarantineOptions& of, commands::Io& io) {
        return commands::gpu_quarantine(what, of, io);
      });
}

void add_reset(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand(
      "reset", "Reset one GPU of a node: cordon, evict the pods that use it, reset, verify, uncordon");
  const auto options = std::make_shared<commands::GpuResetOptions>();
  add_host(*verb, options->host);
  verb->add_option("GPU", options->gpu, "Index, UUID or PCI address of the GPU")
      ->required()
      ->option_text(" ");
  verb->add_option("--drain-timeout", options->drain_timeout,
                   "Time limit for evicting the pods that use the GPU (default 300)")
      ->check(CLI::Range(1, 7200))
      ->option_text("SECONDS");
  verb->add_flag_callback(
      "--cancel", [options] { options->what = commands::GpuReset::cancel; },
      "Return the node after a reset that did not complete, without another one");
  add_change_options<commands::GpuResetOptions>(*verb, options, global, chosen, commands::gpu_reset);
}

const std::map<std::string, commands::TopSort> sorts = {{"node", commands::TopSort::node},
                                                        {"util", commands::TopSort::utilization},
                                                        {"mem", commands::TopSort::memory},
                                                        {"power", commands::TopSort::power},
                                                        {"temp", commands::TopSort::temperature}};

void add_top(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb =
      group.add_subcommand("top", "Show utilization, memory, power and users of all GPUs, continuously");
  const auto options = add_verb<commands::GpuTopOptions>(
      *verb, global, chosen, [](commands::GpuTopOptions& of) -> commands::Common& { return of.common; },
      commands::gpu_top);
  add_hosts(*verb, options->hosts);
  verb->add_option("--interval", options->interval, "Seconds between two samples (default 2)")
      ->option_text("SECONDS")
      ->check(CLI::Range(1, 3600));
  verb->add_option("--count", options->count, "Number of samples (default 0: until Ctrl-C)")
      ->option_text("N")
      ->check(CLI::Range(0, 100'000'000));
  verb->add_option_function<std::string>(
          "--sort", [options](const std::string& name) { options->sort = sorts.at(name); },
          "Order of the GPUs (default node); other orders begin with the highest value")
      ->option_text("node|util|mem|power|temp")
      ->check(CLI::IsMember(sorts));
  verb->add_option("--record", options->record, "Write a line of JSON for each sample to this new file")
      ->option_text("FILE");
  verb->add_option("--from", options->from, "Read a file of --record instead of connecting to hosts")
      ->option_text("FILE");
  add_format(
      *verb, options->format,
      {{"text", commands::Format::text}, {"json", commands::Format::json}, {"html", commands::Format::html}});
  add_connection(*verb, options->common.connection);
}

}  // namespace

void add_gpu(CLI::App& root, Global& global, Verb& chosen) {
  auto* group = root.add_subcommand("gpu", "List, watch, share, partition, reset and quarantine GPUs")
                    ->require_subcommand(0, 1)
                    ->fallthrough();
  auto* list =
      group->add_subcommand("list", "List GPUs with node, model, sharing, health, user and availability");
  const auto options = std::make_shared<commands::GpuListOptions>();
  add_hosts(*list, options->hosts);
  add_connection(*list, options->common.connection);
  list->add_option("--from", options->from, "Read a recording instead of connecting to hosts")
      ->option_text("DIR");
  add_output(*list, options->format);
  list->fallthrough();
  list->final_callback([options, &global, &chosen] {
    chosen = [options, &global](commands::Io& io) {
      options->common.assets = global.assets;
      return commands::gpu_list(*options, io);
    };
  });
  add_top(*group, global, chosen);
  add_change(*group, "share", "Configure GPU sharing on a host", commands::GpuChange::share,
             "N: time-slicing; mps:N; exclusive", global, chosen);
  add_change(*group, "mig", "Partition the GPUs of a host into MIG instances", commands::GpuChange::mig,
             "PROFILE,...: such as 3g.71gb,3g.71gb; off", global, chosen);
  add_change(*group, "reset-config", "Restore defaults: exclusive, MIG off, default compute mode and clocks",
             commands::GpuChange::reset, nullptr, global, chosen);
  add_reset(*group, global, chosen);
  add_quarantine(*group, "quarantine", "Keep one GPU of a node from pods; the others remain in use",
                 commands::Quarantine::add, global, chosen);
  add_quarantine(*group, "release", "Offer a GPU in quarantine to pods again", commands::Quarantine::release,
                 global, chosen);
}

}  // namespace commands
