#include "cli/bundle.hpp"

#include "gpuadm/app/bundle.hpp"

#include "cli/options.hpp"

#include <memory>

namespace cli {

namespace {

void add_source(CLI::App& verb, app::BundleSource& source, const char* says) {
  verb.add_option("--source", source.place, says)->option_text("public|DIR|URL");
  add_list(verb, "--mirror", source.mirrors, "REGISTRY=URL,...", "A registry that answers for another one");
  verb.add_option(
          "--registry-logins", source.logins,
          "Logins for registries, as `docker login` and `skopeo login --authfile` write them, for you "
          "alone (chmod 600); else ~/.docker/config.json")
      ->option_text("FILE");
}

void add_output(CLI::App& verb, std::filesystem::path& output) {
  verb.add_option("-o,--output", output, "A folder that is missing or empty, or FILE.tar.zst")
      ->required()
      ->option_text("DIR|FILE");
}

void add_sign(CLI::App& verb, std::filesystem::path& key) {
  verb.add_option("--sign", key, "Sign with this key, as `ssh-keygen -Y sign -f` takes it")
      ->option_text("FILE");
}

void add_signers(CLI::App& verb, std::filesystem::path& signers) {
  verb.add_option("--signers", signers, "Whose signatures count: OpenSSH's allowed_signers")
      ->option_text("FILE");
}

void add_create(CLI::App& group, Global& global, Verb& chosen) {
  auto* verb = group.add_subcommand("create", "Fetch everything that hosts need");
  const auto options = add_verb(
      *verb, global, chosen, [](app::BundleCreateOptions& of) -> app::Common& { return of.common; },
      app::bundle_create);
  verb->add_option("--for", options->hosts, "A cluster file, and facts as `gpuadm facts -o json` writes them")
      ->required()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FILE,...");
  add_output(*verb, options->output);
  add_source(
      *verb, options->source,
      "Where files come from: the public repositories (public), or a folder or URL that mirrors them, "
      "https://HOST/PATH as HOST/PATH; else the cluster file's mirrors before the public repositories");
  verb->add_option("--kubernetes-version", options->kubernetes_version, "For example 1.36.4")
      ->option_text("VERSION");
  verb->add_option("--driver", options->driver,
                   "What init is to do with the NVIDIA driver; to install one, a bundle has its packages")
      ->option_text("use|install[=BRANCH]");
  verb->add_option("--architecture", options->architecture, "Of the hosts; facts say it themselves (amd64)")
      ->option_text("amd64|arm64");
  add_list(*verb, "--skip", options->skip, "PART,...",
           "Leave out crictl, cni, runtime, driver, programs, toolkit, network, kube-vip, device-plugin, "
           "dra, coredns");
  add_list(*verb, "--image", options->images, "NAME,...", "Further images");
  add_sign(*verb, options->sign);
}

void add_extend(CLI::App& group, Verb& chosen) {
  auto* verb = group.add_subcommand("extend", "Make a bundle with more in it");
  const auto options = std::make_shared<app::BundleExtendOptions>();
  verb->add_option("BUNDLE", options->bundle, "A folder or an archive")->required()->option_text(" ");
  add_output(*verb, options->output);
  add_list(*verb, "--image", options->images, "NAME,...", "Further images");
  verb->add_option("--package", options->packages, "Further packages, .deb or .rpm")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("FILE,...");
  add_source(*verb, options->source,
             "Where images come from: the public registries (public), or a folder or URL that mirrors them, "
             "https://HOST/PATH as HOST/PATH");
  add_sign(*verb, options->sign);
  add_signers(*verb, options->signers);
  verb->fallthrough();
  verb->final_callback(
      [options, &chosen] { chosen = [options](app::Io& io) { return app::bundle_extend(*options, io); }; });
}

using Reads = base::Result<app::Outcome> (*)(const app::BundleOptions&, app::Io&);

std::shared_ptr<app::BundleOptions> add_reader(CLI::App& verb, Verb& chosen, Reads reads) {
  const auto options = std::make_shared<app::BundleOptions>();
  verb.add_option("BUNDLE", options->bundle, "A folder or an archive")->required()->option_text(" ");
  add_format(verb, options->format);
  verb.fallthrough();
  verb.final_callback(
      [options, reads, &chosen] { chosen = [options, reads](app::Io& io) { return reads(*options, io); }; });
  return options;
}

}  // namespace

void add_bundle(CLI::App& root, Global& global, Verb& chosen) {
  auto* group =
      root.add_subcommand("bundle", "What an installation needs, for machines that reach no network")
          ->require_subcommand(0, 1)
          ->fallthrough();
  add_create(*group, global, chosen);
  add_reader(*group->add_subcommand("inspect", "What a bundle holds"), chosen, app::bundle_inspect);
  auto* verify = group->add_subcommand("verify", "Whether every file and the signature are as they must be");
  add_signers(*verify, add_reader(*verify, chosen, app::bundle_verify)->signers);
  auto* diff = group->add_subcommand("diff", "How a second bundle differs; exit 1 where it does");
  const auto both = add_reader(*diff, chosen, app::bundle_diff);
  diff->add_option("OTHER", both->other, "The second one")->required()->option_text(" ");
  add_extend(*group, chosen);
}

}  // namespace cli
