#include "commands/cli/verbs/bundle.hpp"

#include "commands/bundles/bundle.hpp"
#include "commands/cli/options.hpp"

#include <memory>

namespace commands {

namespace {

void add_source(CLI::App& verb, commands::BundleSource& source, const char* says) {
  verb.add_option("--source", source.place, says)->option_text("public|DIR|URL");
  add_list(verb, "--mirror", source.mirrors, "REGISTRY=URL,...", "Use another registry in place of this one");
  verb.add_option("--registry-logins", source.logins,
                  "Registry credentials as written by `docker login` or `skopeo login --authfile`, mode 0600 "
                  "(default ~/.docker/config.json)")
      ->option_text("FILE");
}

void add_output(CLI::App& verb, std::filesystem::path& output) {
  verb.add_option("-o,--output", output, "Directory (must be empty or not exist) or FILE.tar.zst")
      ->required()
      ->option_text("DIR|FILE");
}

void add_sign(CLI::App& verb, std::filesystem::path& key) {
  verb.add_option("--sign", key, "Sign with this SSH key, as for `ssh-keygen -Y sign -f`")
      ->option_text("FILE");
}

void add_signers(CLI::App& verb, std::filesystem::path& signers) {
  verb.add_option("--signers", signers,
                  "Trusted signers, in OpenSSH's allowed_signers format (default: in ~/.config/gpuadm and "
                  "/etc/gpuadm)")
      ->option_text("FILE");
}

void add_bundle_create(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("create", "Download everything that the hosts need");
  const auto options = add_verb(
      *verb, global, chosen, [](commands::BundleCreateOptions& of) -> commands::Common& { return of.common; },
      commands::bundle_create);
  verb->add_option("--for", options->hosts, "Cluster file, and facts as written by `gpuadm facts -o json`")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FILE,...");
  add_output(*verb, options->output);
  add_source(*verb, options->source,
             "Source of the files: public repositories (public), or a directory or URL that mirrors them, "
             "https://HOST/PATH as HOST/PATH (default: mirrors of the cluster file, then public)");
  verb->add_option("--kubernetes-version", options->kubernetes_version,
                   "Kubernetes version, for example 1.36.4")
      ->option_text("VERSION");
  verb->add_option("--driver", options->driver,
                   "NVIDIA driver: use the installed one, or include the packages to install one")
      ->option_text("use|install[=BRANCH]");
  verb->add_option("--architecture", options->architecture,
                   "Architecture of the hosts (default: from facts, otherwise amd64)")
      ->option_text("amd64|arm64");
  add_list(*verb, "--skip", options->skip, "PART,...",
           "Exclude any of kubernetes, crictl, cni, runtime, driver, programs, toolkit, network, kube-vip, "
           "device-plugin, dra, coredns, local-path");
  add_list(*verb, "--image", options->images, "NAME,...", "Additional images");
  add_list(*verb, "--addon", options->addons, "ADDON,...",
           "Images of add-ons (gpuadm addon list; default: none)");
  add_list(*verb, "--notebook", options->notebooks, "FRAMEWORK,...",
           "Images for gpuadm notebook create: pytorch, tensorflow (several GB each; default: none)");
  add_sign(*verb, options->sign);
}

void add_extend(CLI::App& group, Verb& chosen) {
  auto* verb =
      group.add_subcommand("extend", "Create a bundle from another one, with more images or packages");
  const auto options = std::make_shared<commands::BundleExtendOptions>();
  verb->add_option("BUNDLE", options->bundle, "Bundle directory or archive")->required()->option_text(" ");
  add_output(*verb, options->output);
  add_list(*verb, "--image", options->images, "NAME,...", "Additional images");
  verb->add_option("--package", options->packages, "Additional packages, .deb or .rpm")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FILE,...");
  add_source(*verb, options->source,
             "Source of the images: public registries (public), or a directory or URL that mirrors them, "
             "https://HOST/PATH as HOST/PATH");
  add_sign(*verb, options->sign);
  add_signers(*verb, options->signers);
  verb->fallthrough();
  verb->final_callback([options, &chosen] {
    chosen = [options](commands::Io& io) { return commands::bundle_extend(*options, io); };
  });
}

using Reads = base::Result<commands::Outcome> (*)(const commands::BundleOptions&, commands::Io&);

std::shared_ptr<commands::BundleOptions> add_reader(CLI::App& verb, Verb& chosen, Reads reads) {
  const auto options = std::make_shared<commands::BundleOptions>();
  verb.add_option("BUNDLE", options->bundle, "Bundle directory or archive")->required()->option_text(" ");
  add_format(verb, options->format);
  verb.fallthrough();
  verb.final_callback([options, reads, &chosen] {
    chosen = [options, reads](commands::Io& io) { return reads(*options, io); };
  });
  return options;
}

}  // namespace

void add_bundle(CLI::App& root, Global& global, Verb& chosen) {
  auto* group = root.add_subcommand("bundle", "Create and inspect bundles for offline installation")
                    ->require_subcommand(0, 1)
                    ->fallthrough();
  add_bundle_create(*group, global, chosen);
  add_reader(*group->add_subcommand("inspect", "Show the contents of a bundle"), chosen,
             commands::bundle_inspect);
  auto* verify = group->add_subcommand("verify", "Verify all checksums and the signature");
  add_signers(*verify, add_reader(*verify, chosen, commands::bundle_verify)->signers);
  auto* diff = group->add_subcommand("diff", "Compare two bundles; exit code 1 if they differ");
  const auto both = add_reader(*diff, chosen, commands::bundle_diff);
  diff->add_option("OTHER", both->other, "Bundle to compare with")->required()->option_text(" ");
  add_extend(*group, chosen);
}

}  // namespace commands
