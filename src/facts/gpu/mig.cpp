#include "facts/gpu/mig.hpp"

#include "gpuadm/base/text.hpp"

#include "facts/text/words.hpp"

namespace facts {

std::optional<MigInstance> mig_instance_in(std::string_view line) {
  const auto words = base::words(line);
  if (words.size() < 6 || words[0] != "MIG" || words[2] != "Device") return std::nullopt;
  const auto index = count(words[3].substr(0, words[3].find(':')));
  if (!index || *index >= most_instances) return std::nullopt;
  return MigInstance{.index = static_cast<int>(*index),
                     .profile = std::string(words[1]),
                     .uuid = std::string(words[5].substr(0, words[5].find(')'))),
                     .used_mib = {},
                     .total_mib = {}};
}

}  // namespace facts
