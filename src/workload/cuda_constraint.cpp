#include "workload/cuda_constraint.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>
#include <array>

namespace workload {

namespace {

using base::Version;
using Answer = CudaConstraint::Answer;

struct Term {
  std::string_view subject, comparison;
  std::optional<Version> version;
};

std::optional<Term> term_of(std::string_view text) {
  static constexpr std::array comparisons = {">=", "<=", "!=", "=", ">", "<"};
  for (const std::string_view comparison : comparisons)
    if (const std::size_t place = text.find(comparison); place != std::string_view::npos)
      return Term{text.substr(0, place), comparison, Version::parse(text.substr(place + comparison.size()))};
  return std::nullopt;
}

Answer compare(const Version& actual, std::string_view comparison, const Version& wanted) {
  const bool holds = comparison == ">="   ? actual >= wanted
                     : comparison == "<=" ? actual <= wanted
                     : comparison == "!=" ? actual != wanted
                     : comparison == ">"  ? actual > wanted
                     : comparison == "<"  ? actual < wanted
                                          : actual == wanted;
  return holds ? Answer::yes : Answer::no;
}

Answer answer_of(std::string_view text, const CudaConstraint::Node& node) {
  const auto term = term_of(text);
  if (!term || !term->version) return Answer::unknown;
  if (term->subject == "driver") return compare(node.driver, term->comparison, *term->version);
  if (term->subject != "cuda" || !node.cuda) return Answer::unknown;
  // The CUDA version of a driver has no patch version.
  return compare(*node.cuda, term->comparison, Version{term->version->major, term->version->minor, -1});
}

Answer all_of(std::string_view terms, const CudaConstraint::Node& node) {
  Answer all = Answer::yes;
  for (const std::string_view term : base::split(terms, ',')) {
    const Answer one = answer_of(term, node);
    if (one == Answer::no) return Answer::no;
    if (one == Answer::unknown) all = Answer::unknown;
  }
  return all;
}

}  // namespace

Answer CudaConstraint::holds(const Node& node) const {
  Answer any = Answer::no;
  for (const std::string_view terms : base::words(value)) {
    const Answer one = all_of(terms, node);
    if (one == Answer::yes) return Answer::yes;
    if (one == Answer::unknown) any = Answer::unknown;
  }
  return any;
}

std::vector<CudaConstraint> constraints_of(const std::map<std::string, std::string>& environment) {
  std::vector<CudaConstraint> constraints;
  if (const auto disabled = environment.find("NVIDIA_DISABLE_REQUIRE"); disabled != environment.end())
    if (disabled->second == "1" || base::lower(disabled->second) == "true") return constraints;
  for (const auto& [name, value] : environment)
    if (name.starts_with("NVIDIA_REQUIRE_") && !base::words(value).empty())
      constraints.push_back({name, value});
  return constraints;
}

std::optional<Version> cuda_of_image(const std::map<std::string, std::string>& environment) {
  if (const auto found = environment.find("CUDA_VERSION"); found != environment.end())
    if (const auto version = Version::parse(found->second); version && version->minor >= 0) return version;
  const auto required = environment.find("NVIDIA_REQUIRE_CUDA");
  if (required == environment.end()) return std::nullopt;
  for (const std::string_view terms : base::words(required->second))
    for (const std::string_view text : base::split(terms, ','))
      if (const auto term = term_of(text);
          term && term->subject == "cuda" && term->comparison == ">=" && term->version)
        return term->version;
  return std::nullopt;
}

}  // namespace workload
