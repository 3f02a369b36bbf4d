#include "commands/cli/verbs/storage.hpp"

#include "commands/cli/options.hpp"
#include "commands/workloads/storage/storage.hpp"

namespace commands {

namespace {

void add_add(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("add", "Mount a storage on every host of the cluster");
  const auto options =
      add_verb<commands::StorageAddOptions>(*verb, global, chosen, common_of, commands::storage_add);
  verb->add_option("NAME", options->name, "Name of the storage")->required()->option_text(" ");
  verb->add_option(
          "KIND", options->kind,
          "local: a folder on one host; path: a folder that every host has, on a share that you mount; nfs; "
          "cephfs")
      ->required()
      ->option_text(" ")
      ->check(CLI::IsMember({"local", "path", "nfs", "cephfs"}));
  add_hosts(*verb, options->hosts);
  const auto add = [&](const char* name, auto& value, const char* text, const char* says) {
    verb->add_option(name, value, says)->option_text(text);
  };
  add("--host", options->host, "HOST", "local: the host with the folder");
  add("--path", options->path, "PATH", "local, path: folder on hosts; cephfs: folder in the file system");
  add("--server", options->server, "ADDRESS", "nfs: address of the server");
  add("--export", options->exported, "PATH", "nfs: path that the server exports");
  add_list(*verb, "--monitors", options->monitors, "HOST[:PORT],...", "cephfs: addresses of the monitors");
  add("--ceph-user", options->user, "NAME", "cephfs: user, without client.");
  add("--key-file", options->key_file, "FILE",
      "cephfs: file with the key or the keyring of the user, mode 0600");
  add("--options", options->mount_options, "OPTIONS", "nfs, cephfs: mount options, separated by commas");
  verb->add_flag("--default-class", options->default_class,
                 "local: make local-path the default StorageClass, with its volumes on this storage");
  add_consent(*verb, options->consent, global);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_storage_list(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("list", "List storages with hosts, claims and space");
  const auto options =
      add_verb<commands::StorageListOptions>(*verb, global, chosen, common_of, commands::storage_list);
  add_hosts(*verb, options->hosts);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_storage_remove(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("remove", "Unmount a storage on every host; its data stays");
  const auto options =
      add_verb<commands::StorageRemoveOptions>(*verb, global, chosen, common_of, commands::storage_remove);
  verb->add_option("NAME", options->name, "Name of the storage")->required()->option_text(" ");
  add_hosts(*verb, options->hosts);
  verb->add_flag("--purge", options->purge, "Delete its claims and their files, too; asks twice");
  add_consent(*verb, options->consent, global);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

void add_claim(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("claim", "Create a volume on a storage, and a claim for pods");
  const auto options =
      add_verb<commands::StorageClaimOptions>(*verb, global, chosen, common_of, commands::storage_claim);
  verb->add_option("NAME", options->name, "Name of the claim")->required()->option_text(" ");
  verb->add_option("--on", options->storage, "Storage")->required()->option_text("STORAGE");
  verb->add_option("--size", options->size, "Size of the volume, such as 10Gi; it is not enforced")
      ->required()
      ->option_text("SIZE");
  add_namespace(*verb, options->space, "Namespace of the claim (default: default)");
  verb->add_option(
          "--owner", options->owner,
          "Owner of the folder, mode 0770 (default: root, and pods of every user may write, mode 0777)")
      ->option_text("UID:GID");
  add_hosts(*verb, options->hosts);
  add_format(*verb, options->format);
  add_connection(*verb, options->common.connection);
}

}  // namespace

void add_storage(CLI::App& root, Global& global, Verb& chosen) {
  auto* group = root.add_subcommand("storage", "Add storage that pods share, and claims on it")
                    ->require_subcommand(0, 1)
                    ->fallthrough();
  add_add(*group, global, chosen);
  add_storage_list(*group, global, chosen);
  add_storage_remove(*group, global, chosen);
  add_claim(*group, global, chosen);
}

}  // namespace commands
