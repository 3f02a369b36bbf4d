#include "commands/cli/verbs/upkeep.hpp"

#include "commands/cli/options.hpp"
#include "commands/operate/upkeep.hpp"

namespace commands {

namespace {

/// A subcommand: its hosts and output, then the additions of `more`.
template <class Options>
class Group {
 public:
  Group(CLI::App& root, const char* name, const char* says, Global& global, Verb& chosen)
      : group_(root.add_subcommand(name, says)->require_subcommand(0, 1)->fallthrough()),
        global_(global),
        chosen_(chosen) {}

  enum class Asks { yes, no };
  std::shared_ptr<Options> add(const char* name, const char* says, Asks asks,
                               base::Result<commands::Outcome> (*does)(const Options&, commands::Io&),
                               const std::function<void(CLI::App&, Options&)>& more) {
    auto* verb = group_->add_subcommand(name, says);
    const auto options =
        add_verb(*verb, global_, chosen_, [](Options& of) -> commands::Common& { return of.common; }, does);
    more(*verb, *options);
    add_hosts(*verb, options->hosts);
    if (asks == Asks::yes) add_consent(*verb, options->consent, global_);
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
  using Certs = Group<commands::CertsOptions>;
  Certs group(root, "certs", "Show, renew and rotate certificates and keys", global, chosen);
  group.add("status", "Show expiration dates, soonest first", Certs::Asks::no, commands::certs_status,
            [](CLI::App&, commands::CertsOptions&) {});
  group.add(
      "renew", "Renew certificates of control-plane nodes and restart their components, one node at a time",
      Certs::Asks::yes, commands::certs_renew, [](CLI::App& verb, commands::CertsOptions& options) {
        auto* all = verb.add_flag("--all", options.all, "Renew all, whatever their expiration date");
        verb.add_option("--within", options.within, "Renew if one expires within this many days (default 30)")
            ->option_text("DAYS")
            ->check(CLI::Range(0, 300))
            ->excludes(all);
      });
  group.add("rotate-encryption-key", "Encrypt the Secrets of a hardened cluster with a new key",
            Certs::Asks::yes, commands::certs_rotate_encryption_key,
            [](CLI::App&, commands::CertsOptions&) {});
}

void add_etcd(CLI::App& root, Global& global, Verb& chosen) {
  using Etcd = Group<commands::EtcdOptions>;
  Etcd group(root, "etcd", "Back up, restore and defragment etcd", global, chosen);
  group.add("snapshot", "Save a snapshot to a local file", Etcd::Asks::no, commands::etcd_snapshot,
            [](CLI::App& verb, commands::EtcdOptions& options) {
              verb.add_option("--to", options.file, "File to create; must not exist")->option_text("FILE");
            });
  group.add(
      "restore", "Restore the cluster state from a snapshot", Etcd::Asks::yes, commands::etcd_restore,
      [](CLI::App& verb, commands::EtcdOptions& options) {
        verb.add_option("SNAPSHOT", options.file, "Local etcd snapshot")->required()->option_text("FILE");
        add_list(verb, "--lost", options.lost, "HOST,...",
                 "Control-plane nodes that are permanently lost, and left out");
      });
  group.add("defrag", "Defragment etcd, one member at a time", Etcd::Asks::yes, commands::etcd_defrag,
            [](CLI::App&, commands::EtcdOptions&) {});
}

void add_repair(CLI::App& root, Global& global, Verb& chosen) {
  using Repair = Group<commands::RepairOptions>;
  Repair group(root, "repair", "Repair a cluster after a host's address or name changed", global, chosen);
  group.add("address", "Regenerate certificates and configuration for the new address or name",
            Repair::Asks::yes, commands::repair_address, [](CLI::App&, commands::RepairOptions&) {});
}

}  // namespace

void add_upkeep(CLI::App& root, Global& global, Verb& chosen) {
  add_certs(root, global, chosen);
  add_etcd(root, global, chosen);
  add_repair(root, global, chosen);
}

}  // namespace commands
