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

/// One item: what is read, what is wanted of it, and who judges. Which of the members a judge reads stands at
/// its declaration.
struct Item {
  std::string_view id;     ///< "sec.cis.1.2.16"
  std::string_view title;  ///< what is so where it passes
  std::string_view why;
  Judge judge = nullptr;
  std::string_view part = {};   ///< "kube-apiserver"
  std::string_view name = {};   ///< of a flag, a setting or a file
  std::string_view want = {};   ///< the value that is wanted
  std::string_view unset = {};  ///< the value that holds where none is set; empty: none
  bool hardened = false;        ///< `gpuadm init --profile hardened` sets it
  Severity severity = Severity::note;
  std::string_view flag = {};  ///< the kubelet's, where it has one beside the setting
  int since = 0;               ///< minor of Kubernetes that first has it; 0: every one
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
                                                     .stages = security,
                                                     .examine = examine<Items, Indexes>}...};
}

/// The checks of a table of items.
template <const auto& Items>
constexpr auto checks_of() {
  return checks_of<Items>(std::make_index_sequence<std::size(Items)>());
}

// --- What is read ------------------------------------------------------------------------------------

/// The static pod of a part of the control plane; says why there is none otherwise: the host is no control
/// plane, the part does not run there, or its flags were not read.
[[nodiscard]] const facts::StaticPod* pod_of(const Subject& subject, std::string_view part, Verdicts& out);
/// The value of a flag, or nullptr where it is not set.
[[nodiscard]] const std::string* flag_of(const facts::StaticPod& pod, std::string_view name);
/// "/etc/kubernetes/manifests/kube-apiserver.yaml"
[[nodiscard]] std::string manifest_of(std::string_view part);
/// The version of a static pod by its image; else that of the kubelet on the host; else the cluster's.
[[nodiscard]] std::optional<base::Version> version_of(const facts::StaticPod& pod, const Subject& subject);
/// Whether the Kubernetes of a static pod has what the item asks for; says that it does not otherwise.
[[nodiscard]] bool has_feature(const Item& item, const facts::StaticPod& pod, const Subject& subject,
                               Verdicts& out);
/// The evidence: "/etc/kubernetes/manifests/etcd.yaml: --auto-tls=true", or that the flag is not there.
[[nodiscard]] std::string flag_text(const Item& item, const facts::StaticPod& pod);
/// "true" and "false" for what Go takes for them; other text as it is.
[[nodiscard]] std::string_view as_boolean(std::string_view text);
/// The parts of "a,b,c".
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view list);
/// The items of `list` that are not among the parts of `allowed`.
[[nodiscard]] std::vector<std::string> others_than(std::string_view list, std::string_view allowed);
/// What to type where a flag is wrong: "set FLAG in MANIFEST", and gpuadm's way for new clusters.
[[nodiscard]] std::string flag_remedy(const Item& item, const std::string& setting);
/// The same for other settings: `what` is the imperative line.
[[nodiscard]] std::string remedy(const Item& item, const std::string& what);

// --- Judges of flags of static pods: `part`, `name`, `want`, `unset` ----------------------------------

/// The flag has the value `want`; where it is not set, `unset` is.
void flag_is(const Item& item, const Subject& subject, Verdicts& out);
/// The flag is not set.
void flag_is_absent(const Item& item, const Subject& subject, Verdicts& out);
/// Each of the flags in `name` ("a,b") has a value.
void flags_are_set(const Item& item, const Subject& subject, Verdicts& out);
/// The list that the flag has contains `want`.
void flag_has(const Item& item, const Subject& subject, Verdicts& out);
/// The list that the flag has does not contain `want`; where the flag is not set, it does not.
void flag_lacks(const Item& item, const Subject& subject, Verdicts& out);
/// Only TLS cipher suites without known weakness.
void flag_ciphers(const Item& item, const Subject& subject, Verdicts& out);
/// The suites that the benchmark has for one.
[[nodiscard]] std::string_view strong_ciphers();

// --- Judges of files: `name` is a path, a folder and "/*", or a folder and "/*.SUFFIX" for all below it; ";"
// --- between several -----------------------------------------------------------------------------------

/// No file has more permissions than `want` (octal). Where others could change it, or read a secret
/// (`severity`), it is a warning.
void files_have_mode(const Item& item, const Subject& subject, Verdicts& out);
/// Every file belongs to `want` ("root:root").
void files_have_owner(const Item& item, const Subject& subject, Verdicts& out);

}  // namespace checks::cis
