#pragma once

#include "checks/check.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The CIS Kubernetes Benchmark v1.12 as rows of tables: one item, one row. The numbers are the benchmark's.
namespace checks::cis {

struct Item;
using Judge = void (*)(const Item&, const Subject&, Verdicts&);

/// One item: its subject, its requirement, and its judge. The declaration of a judge lists the members that
/// it reads.
struct Item {
  std::string_view id;     ///< "sec.cis.1.2.16"
  std::string_view title;  ///< what is true if it passes
  std::string_view why;
  std::string_view reads;  ///< as in Check
  Judge judge = nullptr;
  std::string_view part = {};   ///< "kube-apiserver"
  std::string_view name = {};   ///< of a flag, a setting or a file
  std::string_view want = {};   ///< the required value
  std::string_view unset = {};  ///< the value that applies if none is set; empty: none
  bool hardened = false;        ///< `gpuadm init --profile hardened` sets it
  Severity severity = Severity::note;
  std::string_view flag = {};  ///< the kubelet's flag, if the setting has one
  int since = 0;               ///< first Kubernetes minor version with it; 0: all
};

template <const auto& Items, std::size_t Index>
void examine(const Subject& subject, Verdicts& out) {
  Items[Index].judge(Items[Index], subject, out);
}

template <const auto& Items, std::size_t... Indexes>
constexpr auto checks_of(std::index_sequence<Indexes...> /*rows*/) {
  return std::array<Check, sizeof...(Indexes)>{Check{.id = Items[Indexes].id,
                                                     .title = Items[Indexes].title,
                                                     .why = Items[Indexes].why,
                                                     .reads = Items[Indexes].reads,
                                                     .stages = security,
                                                     .examine = examine<Items, Indexes>}...};
}

/// The checks of a table of items.
template <const auto& Items>
constexpr auto checks_of() {
  return checks_of<Items>(std::make_index_sequence<std::size(Items)>());
}

// --- What is read ------------------------------------------------------------------------------------

/// The static pod of a control-plane component; skipped with the reason if there is none: the host is not a
/// control-plane node, the component does not run there, or its flags were not read.
[[nodiscard]] const facts::StaticPod* pod_of(const Subject& subject, std::string_view part, Verdicts& out);
/// The value of a flag, or nullptr if it is not set.
[[nodiscard]] const std::string* flag_of(const facts::StaticPod& pod, std::string_view name);
/// "/etc/kubernetes/manifests/kube-apiserver.yaml"
[[nodiscard]] std::string manifest_of(std::string_view part);
/// The version of a static pod by its image; otherwise that of the kubelet on the host; otherwise the
/// cluster's.
[[nodiscard]] std::optional<base::Version> version_of(const facts::StaticPod& pod, const Subject& subject);
/// Whether the item applies to the Kubernetes version of a static pod; skipped otherwise.
[[nodiscard]] bool has_feature(const Item& item, const facts::StaticPod& pod, const Subject& subject,
                               Verdicts& out);
/// The evidence: "/etc/kubernetes/manifests/etcd.yaml: --auto-tls=true", or that the flag is not set.
[[nodiscard]] std::string flag_text(const Item& item, const facts::StaticPod& pod);
/// "true" and "false" for Go's notations of them; other text unchanged.
[[nodiscard]] std::string_view as_boolean(std::string_view text);
/// The parts of "a,b,c".
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view list);
/// The items of `list` that are not in `allowed`.
[[nodiscard]] std::vector<std::string> others_than(std::string_view list, std::string_view allowed);
/// The remedy for a wrong flag: "set FLAG in MANIFEST", and gpuadm's setting for new clusters.
[[nodiscard]] std::string flag_remedy(const Item& item, const std::string& setting);
/// The same for other settings: `what` is the imperative sentence.
[[nodiscard]] std::string remedy(const Item& item, const std::string& what);

// --- Judges of flags of static pods: `part`, `name`, `want`, `unset` ----------------------------------

/// The flag has the value `want`; if it is not set, `unset` is.
void flag_is(const Item& item, const Subject& subject, Verdicts& out);
/// The flag is not set.
void flag_is_absent(const Item& item, const Subject& subject, Verdicts& out);
/// Each of the flags in `name` ("a,b") has a value.
void flags_are_set(const Item& item, const Subject& subject, Verdicts& out);
/// The flag's list contains `want`.
void flag_has(const Item& item, const Subject& subject, Verdicts& out);
/// The flag's list does not contain `want`; an unset flag passes.
void flag_lacks(const Item& item, const Subject& subject, Verdicts& out);
/// Only TLS cipher suites without known weaknesses.
void flag_ciphers(const Item& item, const Subject& subject, Verdicts& out);
/// The suites that the benchmark lists.
[[nodiscard]] std::string_view strong_ciphers();

// --- Judges of files: `name` is a path, a folder and "/*", or a folder and "/*.SUFFIX" for all below it; ";"
// --- between several -----------------------------------------------------------------------------------

/// No file has more permissions than `want` (octal). If others could change it, or read a secret
/// (`severity`), it is a warning.
void files_have_mode(const Item& item, const Subject& subject, Verdicts& out);
/// Every file is owned by `want` ("root:root").
void files_have_owner(const Item& item, const Subject& subject, Verdicts& out);

}  // namespace checks::cis
