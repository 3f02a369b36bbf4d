#include "gpuadm/base/file_kind.hpp"
#include "gpuadm/base/files.hpp"
#include "gpuadm/base/json.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"
#include "gpuadm/playbook/playbook.hpp"
#include "gpuadm/session/connections.hpp"
#include "gpuadm/session/run_playbook.hpp"

#include "commands/shared_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace commands {

namespace {

struct RuntimePreviewOptions {
  Common common;
  std::string engine = "containerd";  ///< containerd, docker, crio
  std::filesystem::path config;       ///< the runtime's configuration; empty: none
  std::filesystem::path imports;      ///< stands for the directory that the configuration imports
  std::string engine_version;         ///< empty: the oldest known version
  std::filesystem::path cluster;      ///< a cluster file
  std::string kubernetes_version;
  Format format = Format::text;
};

using base::Tree;
using base::Version;

struct Engine {
  const char* name;
  spec::Engine engine;
  const char* composer;
  const char* path;  ///< of its configuration
};
constexpr Engine engines[] = {
    {"containerd", spec::Engine::containerd, "containerd-config", "/etc/containerd/config.toml"},
    {"docker", spec::Engine::docker, "docker-daemon", "/etc/docker/daemon.json"},
    {"crio", spec::Engine::crio, "crio-config", "/etc/crio/crio.conf"}};

/// Reads a file and rejects invalid syntax, with its local name.
Result<std::string> config_file(const std::filesystem::path& path, const Engine& engine) {
  const std::string text = TRY(base::read_file(path, 1u << 20));
  const auto tree = engine.engine == spec::Engine::docker && !base::trim(text).empty()
                        ? base::json::read(text, path.string())
                    : engine.engine == spec::Engine::docker ? Tree::map()
                                                            : base::toml::read(text, path.string());
  if (!tree) return std::unexpected(tree.error());
  return text;
}

std::string folder_of_imports(const Engine& engine) {
  return engine.engine == spec::Engine::crio ? "/etc/crio/crio.conf.d/" : "/etc/containerd/conf.d/";
}

/// Files of a directory, by their path on a host.
Result<std::map<std::string, std::string>> imported(const RuntimePreviewOptions& options,
                                                    const Engine& engine) {
  std::map<std::string, std::string> texts;
  if (options.imports.empty()) return texts;
  if (const std::string why = base::why_no_directory(options.imports); !why.empty())
    return base::fail(base::Fault::usage, fmt::format("--imports {}: {}", options.imports.string(), why),
                      "--imports DIR: a directory with the files that the configuration imports");
  const std::string folder = folder_of_imports(engine);
  for (const auto& entry : std::filesystem::directory_iterator(options.imports))
    if (entry.is_regular_file())
      texts[folder + entry.path().filename().string()] = TRY(config_file(entry.path(), engine));
  return texts;
}

/// The error with the operator's own names of files in place of their paths on a host.
base::Error with_local_names(base::Error error, const RuntimePreviewOptions& options, const Engine& engine,
                             const std::string& host) {
  const auto rename = [&](const std::string& path, const std::filesystem::path& local) {
    error.what = base::replace_all(error.what, fmt::format("{}:{}:", host, path), local.string() + ":");
  };
  if (!options.config.empty()) rename(engine.path, options.config);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(options.imports, ignored))
    rename(folder_of_imports(engine) + entry.path().filename().string(), entry.path());
  return error;
}

/// The first release that reads such a file, if no version is given.
std::string assumed_version(const Engine& engine, const std::optional<std::string>& text) {
  if (engine.engine == spec::Engine::docker) return "28.3.0";
  if (engine.engine == spec::Engine::crio) return "1.30.0";
  const auto tree = base::toml::read(text.value_or(""), "");
  const Tree* version = tree ? tree->find("version") : nullptr;
  const auto number = version ? version->as_int().value_or(1) : 1;
  return number >= 4 ? "2.3.0" : number == 3 ? "2.1.0" : "1.7.0";
}

/// A host with only this configuration and the NVIDIA Container Toolkit.
Result<facts::Facts> imagined(const RuntimePreviewOptions& options, const Engine& engine) {
  facts::Facts facts;
  facts.os.init = "systemd";
  facts.software.tools = {"nvidia-container-runtime"};
  std::optional<std::string> text;
  if (!options.config.empty()) text = TRY(config_file(options.config, engine));
  const std::string version =
      options.engine_version.empty() ? assumed_version(engine, text) : options.engine_version;
  if (!Version::parse(version))
    return base::fail(base::Fault::usage,
                      fmt::format("invalid version: '{}'", base::printable(options.engine_version, 50)),
                      "for example: --engine-version 1.7.24");
  std::map<std::string, std::string> texts = TRY(imported(options, engine));
  if (engine.engine == spec::Engine::docker) {
    facts.runtime.docker.emplace();
    facts.runtime.docker->version = version;
    facts.runtime.docker->daemon_json = text;
  } else if (engine.engine == spec::Engine::crio) {
    facts.runtime.crio = version;
    facts.runtime.crio_config.emplace();
    if (text) texts[engine.path] = *text;
    facts.runtime.crio_config->texts = std::move(texts);
  } else {
    facts.runtime.containerd.emplace();
    facts.runtime.containerd->version = version;
    facts.runtime.containerd->config = text;
    facts.runtime.containerd->drop_in_texts = std::move(texts);
  }
  return facts;
}

std::string text_before(const facts::Facts& facts, const std::string& path) {
  if (facts.runtime.docker) return facts.runtime.docker->daemon_json.value_or("");
  const auto& texts =
      facts.runtime.crio_config ? facts.runtime.crio_config->texts : facts.runtime.containerd->drop_in_texts;
  if (const auto place = texts.find(path); place != texts.end()) return place->second;
  return facts.runtime.containerd && path == engines[0].path ? facts.runtime.containerd->config.value_or("")
                                                             : "";
}

/// dockershim was removed in 1.24; otherwise the newest known version.
Result<Version> kubernetes_of(const RuntimePreviewOptions& options, const Engine& engine,
                              const spec::Cluster& cluster, const playbook::Catalog& catalog) {
  if (options.kubernetes_version.empty()) {
    if (!cluster.kubernetes.version && engine.engine == spec::Engine::docker) return Version{1, 23, 0};
    return playbook::kubernetes_version(cluster, {}, {}, catalog, nullptr);
  }
  return spec::parse_kubernetes_version(options.kubernetes_version, "--kubernetes-version");
}

/// Prints the files that would be written on a host with that configuration and the NVIDIA toolkit, and what
/// the runtime would read then. Connects to no host.
Result<Outcome> runtime_preview(const RuntimePreviewOptions& options, Io& io) {
  const auto* engine =
      std::ranges::find(engines, options.engine, [](const Engine& e) { return std::string(e.name); });
  if (engine == std::end(engines))
    return base::fail(base::Fault::usage,
                      fmt::format("unknown container runtime: '{}'", base::printable(options.engine, 50)),
                      "containerd, docker or crio");
  const assets::Store assets = TRY(assets::Store::open(options.common.assets));
  const playbook::Library library = TRY(playbook::Library::load(assets, "init"));
  spec::Cluster cluster = options.cluster.empty()
                              ? TRY(spec::single(""))
                              : TRY(session::read_cluster({options.cluster, {}}, options.common.connection));
  cluster.runtime.engine = engine->engine;
  TRY(session::resolve_environment(cluster, assets));
  const facts::Facts facts = TRY(imagined(options, *engine));
  const spec::Decisions decisions;
  const auto kubernetes = TRY(kubernetes_of(options, *engine, cluster, library.catalog()));
  const playbook::Context context{cluster, decisions, cluster.hosts.front(), facts, library.catalog(),
                                  nullptr, kubernetes};
  const auto composed = playbook::compose(engine->composer, context);
  const auto effective =
      composed ? playbook::effective(context, *composed) : Result<Tree>(std::unexpected(composed.error()));
  if (!effective)
    return std::unexpected(with_local_names(effective.error(), options, *engine, context.host.name));
  const auto& files = *composed;

  Tree list = Tree::list();
  std::string diffs;
  for (const playbook::Composed& file : files) {
    const std::string old = text_before(facts, file.path);
    const bool is_new = file.base_sha256 == "absent";
    diffs += base::unified_diff(old, file.content, is_new ? "/dev/null" : file.path, file.path);
    list.push(Tree::map_of(
        {{"path", file.path}, {"changed", is_new || old != file.content}, {"content", file.content}}));
  }
  if (options.format == Format::json) {
    io.out(base::json::write(Tree::map_of({{"engine", options.engine},
                                           {"kubernetes", context.kubernetes.text()},
                                           {"files", list},
                                           {"effective", *effective}})) +
           "\n");
    return Outcome::done;
  }
  const std::string text = engine->engine == spec::Engine::docker ? base::json::write(*effective) + "\n"
                                                                  : base::toml::write(*effective);
  io.out(base::printable(fmt::format("{}\n{} then reads:\n{}", diffs.empty() ? "nothing to change\n" : diffs,
                                     options.engine, text),
                         std::string::npos));
  return Outcome::done;
}

}  // namespace

Command runtime_preview_command() {
  return CommandRow<RuntimePreviewOptions>{
      .name = "runtime preview",
      .group = Group::install,
      .summary = "Show the configuration that would be written",
      .options =
          [](Line& line, RuntimePreviewOptions& options) {
            line.assets(options.common.assets);
            line.value("--engine", options.engine, "ENGINE",
                       "Container runtime: containerd, docker or crio (default containerd)")
                .one_of({"containerd", "docker", "crio"});
            line.value("--config", options.config, "FILE", "Current configuration file (default: none)");
            line.value("--imports", options.imports, "DIR",
                       "Directory with the files that the configuration imports");
            line.value("--engine-version", options.engine_version, "VERSION",
                       "Version of the container runtime, for example 1.7.24");
            line.value("--kubernetes-version", options.kubernetes_version, "VERSION",
                       "Kubernetes version, for example 1.34 or 1.34.2");
            add_file(line, options.cluster);
            add_format(line, options.format);
          },
      .examples = {{"gpuadm runtime preview --engine containerd --config /etc/containerd/config.toml",
                    "without connecting to a host"}},
      .run = runtime_preview};
}

}  // namespace commands
