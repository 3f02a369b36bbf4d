#include "spec/listed/quantities.hpp"

#include "gpuadm/spec/values.hpp"

namespace spec {

Type<std::string> name_space() {
  return text_where(
      "DNS label of at most 63 characters",
      [](const std::string& text) { return check_namespace(text).has_value(); },
      R"(^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$)");
}

Type<std::string> cpus() {
  return text_where(
      "CPUs such as 16", [](const std::string& text) { return millicpus_of("cpus", text).has_value(); },
      R"(^[0-9.]+m?$)");
}

Type<std::string> size() {
  const std::string name = "size such as 64Gi";
  Type<std::string> type = text_where(
      name, [](const std::string& text) { return size_of("size", text).has_value(); },
      R"(^[0-9.]+([KMGTP]i|[kMGTP])?$)");
  type.read = [any = type.read, name](const Tree& tree, const std::string& path,
                                      Problems& problems) -> std::optional<std::string> {
    const std::string with_unit = tree.is_scalar() ? tree.text() + "Gi" : "";
    const bool lacks_unit = tree.as_int() && !size_of("size", tree.text()) && size_of("size", with_unit);
    if (!lacks_unit) return any(tree, path, problems);
    add_unexpected(problems, tree, path, name, with_unit);
    return std::nullopt;
  };
  return type;
}

}  // namespace spec
