#include "cli/upkeep.hpp"

#include "gpuadm/app/upkeep.hpp"

#include "cli/options.hpp"

namespace cli {

namespace {

/// A verb of a group: its hosts and output, then what `more` adds.
template <class Options>
class Group {
 public:
  Group(CLI::App& root, const char* name, const char* says, Global& global, Verb& chosen)
      : group_(root.add_subcommand(name, says)->require_subcommand(1)->fallthrough()),
        global_(global),
        chosen_(chosen) {}

  enum class Asks { yes, no };
  std::shared_ptr<Options> add(const char* name, const char* says, Asks asks,
                               base::Result<app::Outcome> (*does)(const Options&, app::Io&),
                               const std::function<void(CLI::App&, Options&)>& more) {
    auto* verb = group_->add_subcommand(name, says);
    const auto options =
        add_verb(*verb, global_, chosen_, [](Options& of) -> app::Common& { return of.common; }, does);
    more(*verb, *options);
    add_hosts(*verb, options->hosts);
    if (asks == Asks::yes) add_consent(*verb, options->consent);
    add_format(*verb, options->format);
    add_connection(*verb, options->common.connection);
    return options;
  }

 private:
  CLI::App* group_;
  Global& global_;
  Verb& chosen_;
};

void add_certs(CLI::App& root, Global& global, Verb& chosen) {
  using Certs = Group<app::CertsOptions>;
  Certs group(root, "certs", "The cluster's certificates", global, chosen);
  group.add("status", "When each ends, the soonest first", Certs::Asks::no, app::certs_status,
            [](CLI::App&, app::CertsOptions&) {});
  group.add("renew", "Renew those of control planes, and start these with them, one after the other",
            Certs::Asks::yes, app::certs_renew, [](CLI::App& verb, app::CertsOptions& options) {
              auto* all = verb.add_flag("--all", options.all, "Whenever they end");
              verb.add_option("--within", options.within, "Only where one ends within these days (30)")
                  ->option_text("DAYS")
                  ->check(CLI::Range(0, 300))
                  ->excludes(all);
            });
}

void add_etcd(CLI::App& root, Global& global, Verb& chosen) {
  using Etcd = Group<app::EtcdOptions>;
  Etcd group(root, "etcd", "What the cluster keeps: save it, bring it back, compact it", global, chosen);
  group.add("snapshot", "Save it in a file on this machine", Etcd::Asks::no, app::etcd_snapshot,
            [](CLI::App& verb, app::EtcdOptions& options) {
              verb.add_option("--to", options.file, "The file, which is not there yet")->option_text("FILE");
            });
  group.add("restore", "Make a cluster what it was when a snapshot was made", Etcd::Asks::yes,
            app::etcd_restore, [](CLI::App& verb, app::EtcdOptions& options) {
              verb.add_option("SNAPSHOT", options.file, "A snapshot of etcd on this machine")
                  ->required()
                  ->option_text("FILE");
            });
  group.add("defrag", "Give its free space back to the disk, one member after the other", Etcd::Asks::yes,
            app::etcd_defrag, [](CLI::App&, app::EtcdOptions&) {});
}

void add_repair(CLI::App& root, Global& global, Verb& chosen) {
  using Repair = Group<app::RepairOptions>;
  Repair group(root, "repair", "Mend a cluster whose host has changed", global, chosen);
  group.add("address", "The host has another address or name: make anew what says the old one",
            Repair::Asks::yes, app::repair_address, [](CLI::App&, app::RepairOptions&) {});
}

}  // namespace

void add_upkeep(CLI::App& root, Global& global, Verb& chosen) {
  add_certs(root, global, chosen);
  add_etcd(root, global, chosen);
  add_repair(root, global, chosen);
}

}  // namespace cli
