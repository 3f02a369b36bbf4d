#include "gpuadm/base/redact.hpp"
#include "gpuadm/base/text.hpp"
#include "gpuadm/base/toml.hpp"
#include "gpuadm/base/yaml.hpp"
#include "gpuadm/facts/runtime_version.hpp"

#include "facts/read.hpp"
#include "facts/text/words.hpp"
#include "facts/tree/tree.hpp"

#include <algorithm>

namespace facts {

namespace {

using base::Tree;

/// Keys of the CRI plugin's settings: containerd 2.x, then 1.x (config version 2), then version 1.
const Tree* cri_part(const Tree& config, std::string_view v3_plugin) {
  for (const std::string_view plugin :
       {v3_plugin, std::string_view("io.containerd.grpc.v1.cri"), std::string_view("cri")})
    if (const Tree* found = config.at({"plugins", plugin})) return found;
  return nullptr;
}

std::string text_at(const Tree* tree, std::initializer_list<std::string_view> path) {
  const Tree* found = tree ? tree->at(path) : nullptr;
  return found ? found->text() : std::string();
}

std::vector<std::string> texts_at(const Tree* tree, std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  if (const Tree* found = tree ? tree->at(path) : nullptr)
    for (const Tree& item : found->items()) texts.push_back(item.text());
  return texts;
}

bool disables_cri(const Tree& config) {
  const Tree* list = config.find("disabled_plugins");
  if (!list) return false;
  static const std::vector<std::string> names = {
      "cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images"};
  return std::any_of(list->items().begin(), list->items().end(), [](const Tree& item) {
    return std::find(names.begin(), names.end(), item.text()) != names.end();
  });
}

/// The effective settings, from the dump if it works, otherwise from the file.
void read_settings(const Tree& config, Containerd& containerd) {
  containerd.cri_disabled = disables_cri(config);
  containerd.root = text_at(&config, {"root"});
  const Tree* runtime = cri_part(config, "io.containerd.cri.v1.runtime");
  const Tree* images = cri_part(config, "io.containerd.cri.v1.images");
  std::string sandbox = text_at(images, {"pinned_images", "sandbox"});
  if (sandbox.empty()) sandbox = text_at(images, {"sandbox_image"});
  if (!sandbox.empty()) containerd.sandbox_image = sandbox;
  containerd.default_runtime = text_at(runtime, {"containerd", "default_runtime_name"});
  if (const Tree* cdi = runtime ? runtime->find("enable_cdi") : nullptr)
    containerd.enable_cdi = cdi->as_bool();
  containerd.cdi_dirs = texts_at(runtime, {"cdi_spec_dirs"});
  containerd.registry_config_path = text_at(images, {"registry", "config_path"});
  containerd.old_mirrors.clear();
  if (const Tree* mirrors = images ? images->at({"registry", "mirrors"}) : nullptr)
    for (const auto& [name, settings] : mirrors->entries()) containerd.old_mirrors.push_back(name);
  const Tree* runtimes = runtime ? runtime->at({"containerd", "runtimes"}) : nullptr;
  if (!runtimes) return;
  for (const auto& [name, settings] : runtimes->entries()) {
    const Tree* driver = settings.at({"options", "SystemdCgroup"});
    containerd.runtimes[name] = driver && driver->as_bool().value_or(false);
  }
}

/// `ctr plugins ls`: "io.containerd.grpc.v1    cri    linux/amd64    ok". Since 2.0 the CRI is three plugins,
/// and this one, which disabled_plugins refers to, is not listed if it is off.
std::optional<std::string> read_cri_status(const Section* plugins) {
  if (!plugins || plugins->status != 0) return std::nullopt;
  std::optional<std::string> status;
  bool served = false;
  for (const std::string_view line : plugins->lines) {
    const auto words = base::words(line);
    if (words.size() < 4) continue;
    const bool service = words[0] == "io.containerd.grpc.v1" && words[1] == "cri";
    const bool cri = service || words[0] == "io.containerd.cri.v1";
    served = served || service;
    if (cri && (!status || *status == "ok")) status = std::string(words.back());
  }
  return served ? status : "skip";
}

/// The overlayfs snapshotter: "skip" if the file system of images does not support it.
std::optional<std::string> read_overlay_status(const Section* plugins) {
  if (!plugins || plugins->status != 0) return std::nullopt;
  for (const std::string_view line : plugins->lines)
    if (const auto words = base::words(line);
        words.size() >= 4 && words[0] == "io.containerd.snapshotter.v1" && words[1] == "overlayfs")
      return std::string(words.back());
  return std::nullopt;
}

std::optional<Containerd> read_containerd(const Sections& sections, const Software& software) {
  const auto line = sections.first("containerd");
  const auto socket = software.paths.find("/run/containerd/containerd.sock");
  if (!line && socket == software.paths.end()) return std::nullopt;
  Containerd containerd;
  containerd.version = version_in(line.value_or("")).value_or("");
  containerd.socket = socket != software.paths.end() && socket->second == "socket";
  containerd.config = sections.text("/etc/containerd/config.toml");
  for (const std::string_view folder : {"/etc/containerd/conf.d/", "/etc/containerd/config.d/"})
    sections.each(folder, ".toml", [&](const std::string& name, const Section& section) {
      containerd.drop_ins.push_back(name);
      containerd.drop_in_texts[name] = section.text();
    });
  for (const std::string_view path : sections.lines("containerd-imports"))
    if (auto text = sections.text(path)) containerd.drop_in_texts[std::string(path)] = std::move(*text);
  if (containerd.config)
    if (const auto config = base::toml::read(*containerd.config, "config.toml")) {
      const Tree* version = config->find("version");
      containerd.config_version = static_cast<int>(version ? version->as_int().value_or(1) : 1);
      read_settings(*config, containerd);
    }
  if (const Section* dump = sections.find("containerd-dump")) {
    if (was_stopped(dump->status.value_or(1))) {
      containerd.dump_stopped = true;
    } else if (dump->status.value_or(1) != 0) {
      containerd.error = base::tail(dump->text(), 3);
    } else {
      containerd.dump = dump->text();
      if (const auto config = base::toml::read(*containerd.dump, "containerd config dump")) {
        read_settings(*config, containerd);
        containerd.loaded_files = texts_at(&*config, {"imports"});
        // Since 2.0 the dump contains patterns instead of files.
        for (const std::string_view path : sections.lines("containerd-imports"))
          containerd.loaded_files.emplace_back(path);
      }
    }
  }
  containerd.cri_status = read_cri_status(sections.find("containerd-plugins"));
  containerd.overlay_status = read_overlay_status(sections.find("containerd-plugins"));
  return containerd;
}

std::optional<Docker> read_docker(const Sections& sections, const Software& software) {
  const auto line = sections.first("docker");
  // The command `docker` may be podman's.
  if (!line || !line->starts_with("Docker version")) return std::nullopt;
  Docker docker;
  docker.version = version_in(*line).value_or("");
  docker.daemon_json = sections.text("/etc/docker/daemon.json");
  docker.socket = software.paths.contains("/run/docker.sock");
  const Section* info = sections.find("docker-info");
  if (!info || info->status != 0) return docker;
  auto values = pairs(info->first());
  if (!values["driver"].empty()) docker.cgroup_driver = values["driver"];
  docker.default_runtime = values["runtime"];
  docker.storage_driver = values["storage"];
  docker.root = values["root"];
  return docker;
}

std::optional<CrioConfig> read_crio(const Sections& sections) {
  std::optional<CrioConfig> crio;
  sections.each("/etc/crio/crio.conf", "", [&](const std::string& name, const Section& section) {
    if (!crio) crio.emplace();
    crio->texts[name] = section.text();
    const auto config = base::toml::read(section.text(), name);
    if (!config) {
      crio->error = config.error().what;
      return;
    }
    const Tree* runtime = config->at({"crio", "runtime"});
    if (const auto text = text_at(runtime, {"cgroup_manager"}); !text.empty()) crio->cgroup_manager = text;
    if (const auto text = text_at(runtime, {"default_runtime"}); !text.empty()) crio->default_runtime = text;
    if (const Tree* runtimes = runtime ? runtime->find("runtimes") : nullptr)
      for (const auto& [runtime_name, settings] : runtimes->entries()) crio->runtimes.push_back(runtime_name);
  });
  return crio;
}

std::optional<std::string> read_crictl(const Sections& sections) {
  const auto text = sections.text("/etc/crictl.yaml");
  const auto yaml = text ? base::yaml::read(*text, "/etc/crictl.yaml") : base::fail(base::Fault::parse, "");
  return yaml ? std::optional(text_at(&*yaml, {"runtime-endpoint"})) : std::nullopt;
}

std::optional<std::string> version_of(const Sections& sections, std::string_view name) {
  const auto line = sections.first(name);
  return line ? version_in(*line) : std::nullopt;
}

}  // namespace

std::string version_of(const Runtimes& runtimes, std::string_view name) {
  if (name == "containerd" && runtimes.containerd) return runtimes.containerd->version;
  if (name == "docker" && runtimes.docker) return runtimes.docker->version;
  if (name == "crio" && runtimes.crio) return *runtimes.crio;
  return {};
}

void read_runtimes(const Sections& sections, Facts& facts) {
  facts.runtime.containerd = read_containerd(sections, facts.software);
  facts.runtime.docker = read_docker(sections, facts.software);
  facts.runtime.crio_config = read_crio(sections);
  facts.runtime.crictl_endpoint = read_crictl(sections);
  facts.runtime.crio = version_of(sections, "crio");
  facts.runtime.runc = version_of(sections, "runc");
  for (const char* path : {"/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/cri-dockerd.sock"})
    if (facts.software.paths.contains(path)) facts.runtime.sockets.emplace_back(path);
}

namespace {

/// Runtime configurations may contain passwords of registries and proxies, also in the middle of a line.
Tree redacted(const std::optional<std::string>& text) {
  if (!text) return {};
  std::string all;
  for (const std::string_view line : base::lines(*text)) {
    const std::size_t equals = line.find_first_of("=:");
    const std::string name = base::lower(line.substr(0, std::min(equals, line.size())));
    const bool secret =
        equals != std::string_view::npos &&
        (name.find("password") != std::string::npos || name.find("token") != std::string::npos ||
         name.find("auth") != std::string::npos || name.find("secret") != std::string::npos);
    all += secret ? std::string(line.substr(0, equals + 1)) + " \"***\"" : std::string(line);
    all += '\n';
  }
  return base::text_without_secrets(all);
}

Tree containerd(const std::optional<Containerd>& c) {
  if (!c) return {};
  Tree runtimes = Tree::map();
  for (const auto& [name, systemd] : c->runtimes)
    runtimes.set(name, Tree::map_of({{"systemdCgroup", systemd}}));
  Tree drop_ins = Tree::map();
  for (const auto& [name, text] : c->drop_in_texts) drop_ins.set(name, redacted(text));
  return Tree::map_of({{"version", c->version},
                       {"socket", c->socket},
                       {"config", redacted(c->config)},
                       {"configVersion", tree_of(c->config_version)},
                       {"dropIns", drop_ins},
                       {"error", c->error},
                       {"criDisabled", tree_of(c->cri_disabled)},
                       {"criStatus", tree_of(c->cri_status)},
                       {"overlayStatus", tree_of(c->overlay_status)},
                       {"sandboxImage", tree_of(c->sandbox_image)},
                       {"runtimes", runtimes},
                       {"defaultRuntime", c->default_runtime},
                       {"root", c->root},
                       {"enableCdi", tree_of(c->enable_cdi)},
                       {"cdiDirs", Tree::list_of(c->cdi_dirs)},
                       {"loadedFiles", Tree::list_of(c->loaded_files)},
                       {"registryConfigPath", c->registry_config_path},
                       {"oldMirrors", Tree::list_of(c->old_mirrors)}});
}

Tree crio_config(const std::optional<CrioConfig>& c) {
  if (!c) return {};
  return Tree::map_of({{"cgroupManager", c->cgroup_manager},
                       {"defaultRuntime", c->default_runtime},
                       {"runtimes", Tree::list_of(c->runtimes)},
                       {"error", c->error}});
}

Tree docker(const std::optional<Docker>& d) {
  if (!d) return {};
  return Tree::map_of({{"version", d->version},
                       {"socket", d->socket},
                       {"daemonJson", redacted(d->daemon_json)},
                       {"cgroupDriver", tree_of(d->cgroup_driver)},
                       {"defaultRuntime", d->default_runtime},
                       {"storageDriver", d->storage_driver},
                       {"root", d->root}});
}

}  // namespace

Tree runtimes_tree(const Facts& f) {
  return Tree::map_of({{"sockets", Tree::list_of(f.runtime.sockets)},
                       {"containerd", containerd(f.runtime.containerd)},
                       {"docker", docker(f.runtime.docker)},
                       {"crio", tree_of(f.runtime.crio)},
                       {"runc", tree_of(f.runtime.runc)},
                       {"nvidiaCtk", tree_of(f.nvidia.ctk)},
                       {"crioConfig", crio_config(f.runtime.crio_config)},
                       {"crictlEndpoint", tree_of(f.runtime.crictl_endpoint)},
                       {"toolkit", toolkit_tree(f.nvidia.toolkit)},
                       {"deviceLabel", tree_of(f.nvidia.device_label)}});
}

}  // namespace facts
