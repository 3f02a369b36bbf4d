#include "gpuadm/assets/assets.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/bundle/fetch.hpp"
#include "gpuadm/checks/checks.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/transport/transport.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

namespace commands {

namespace {

struct VersionOptions {
  std::filesystem::path overrides;
  Format format = Format::text;
};

using base::Tree;

Tree text_or_null(const std::string& text) {
  return text.empty() ? Tree() : Tree(text);
}

constexpr const char* compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#else
    "g++ " __VERSION__;
#endif

constexpr const char* architecture =
#if defined(__x86_64__)
    "amd64";
#elif defined(__aarch64__)
    "arm64";
#else
        "";
#endif

/// Prints the version; as JSON with what a bug report needs: build, libraries at run time, catalog, and
/// overridden assets.
Result<Outcome> version(const VersionOptions& options, Io& io) {
  if (options.format != Format::json && io.out_style.verbosity < report::Verbosity::verbose) {
    io.out("gpuadm " GPUADM_VERSION "\n");
    return Outcome::done;
  }
  const assets::Store assets = TRY(assets::Store::open(options.overrides));
  const checks::DataAge age = TRY(checks::data_age([&](std::string_view path) { return assets.read(path); }));
  if (options.format != Format::json) {
    io.out(fmt::format("gpuadm " GPUADM_VERSION "\ndata of {} ({} {} old)\n", base::day_text(age.looked),
                       age.days, age.days == 1 ? "day" : "days"));
    if (!age.note.empty()) io.out(age.note + "\n");
    return Outcome::done;
  }
  constexpr const char* file = "playbooks/catalog.yaml";
  const Tree catalog = TRY(base::yaml::read(TRY(assets.read(file)), file));
  Tree pinned = Tree::map();
  if (const Tree* date = catalog.find("date")) pinned.set("date", *date);
  if (const Tree* defaults = catalog.find("defaults")) pinned.merge(*defaults);
  Tree overridden = Tree::list();
  for (const auto& over : assets.overrides()) overridden.push(over.path);
  io.out(base::json::write(
             Tree::map_of({{"gpuadm", GPUADM_VERSION},
                           {"commit", text_or_null(GPUADM_COMMIT)},
                           {"architecture", architecture},
                           {"compiler", compiler},
                           {"libraries", Tree::map_of({{"libssh2", transport::libssh2_version()},
                                                       {"libcurl", text_or_null(bundle::curl_version())},
                                                       {"openssl", base::openssl_version()}})},
                           {"catalog", std::move(pinned)},
                           {"overrides", std::move(overridden)}})) +
         "\n");
  return Outcome::done;
}

}  // namespace

Command version_command() {
  return CommandRow<VersionOptions>{.name = "version",
                                    .group = Group::other,
                                    .summary = "Show the version of gpuadm",
                                    .options =
                                        [](Line& line, VersionOptions& options) {
                                          line.assets(options.overrides);
                                          add_format(line, options.format);
                                        },
                                    .examples = {{"gpuadm version -o json", "for another program"}},
                                    .run = version};
}

}  // namespace commands
