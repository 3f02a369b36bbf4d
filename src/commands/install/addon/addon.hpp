#pragma once

#include "commands/app.hpp"

#include <chrono>
#include <string>
#include <vector>

/// `gpuadm addon`: what a cluster runs for its users and operators, from a closed catalogue.
namespace commands {

struct AddonListOptions {
  Common common;
  Hosts hosts;
  Format format = Format::text;
};
/// Prints every add-on with its state in the cluster. Changes nothing.
[[nodiscard]] Result<Outcome> addon_list(const AddonListOptions& options, Io& io);

struct AddonShowOptions {
  Common common;
  std::string name;
  Format format = Format::text;
};
/// Prints what an add-on is: settings, images, proof, data. Connects to no host.
[[nodiscard]] Result<Outcome> addon_show(const AddonShowOptions& options, Io& io);

/// An add-on of a cluster.
struct AddonOptions {
  Common common;
  Hosts hosts;
  std::string name;
};

struct AddonEnableOptions {
  AddonOptions addon;
  std::vector<std::string> settings;  ///< "size=20Gi"
  bool yaml = false;                  ///< print the objects instead of applying them
  bool keep = false;                  ///< keep the objects if the proof fails
  Consent consent = Consent::ask;     ///< to delete objects of an earlier `enable`
  std::chrono::seconds patience{900};
};
/// Applies the objects of an add-on, waits until its pods are ready, and proves that it works. Repeated, it
/// changes settings, and deletes objects that are no longer needed, after a question. If a first `enable`
/// fails, or after Ctrl-C, deletes what it made. Fault::blocked, with nothing changed, if an object or the
/// namespace belongs to others.
[[nodiscard]] Result<Outcome> addon_enable(const AddonEnableOptions& options, Io& io);

struct AddonVerifyOptions {
  AddonOptions addon;
  std::chrono::seconds patience{300};
};
/// Repeats the proof of an add-on that is enabled.
[[nodiscard]] Result<Outcome> addon_verify(const AddonVerifyOptions& options, Io& io);

struct AddonDisableOptions {
  AddonOptions addon;
  bool force = false;  ///< also while users have notebooks, which end
  Consent consent = Consent::ask;
};
/// Shows what `enable` made, asks, deletes exactly that, and names the data that stays. What the inventory in
/// the cluster lists is deleted only if the add-on can have it and it has the labels of the add-on.
[[nodiscard]] Result<Outcome> addon_disable(const AddonDisableOptions& options, Io& io);

}  // namespace commands
