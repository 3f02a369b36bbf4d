#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// Counts of the replacements.
struct Replaced {
  std::size_t names = 0, addresses = 0;  ///< number of different ones
  std::size_t ids = 0, secrets = 0;      ///< number of occurrences
};

/// Replaces names of machines, networks and people, and secrets, in text from hosts. Replacements are
/// consistent, so that the text has the same findings: addresses remain in common networks (private ranges
/// remain private), MAC addresses keep their vendor, ids their format. Secrets become "***". Two sections of
/// a probe with addresses in hexadecimal are removed.
class Redactor {
 public:
  /// `salt`: random; without it, the replacements cannot be reversed.
  explicit Redactor(std::string salt) : salt_(std::move(salt)) {}

  /// A name to replace: a host's, a person's, a domain. Names that are too short or too common to be
  /// recognized are not replaced in text, such as `localhost`.
  void learn(std::string_view name, std::string_view kind);
  /// A host name of one or more labels: the first is the host's, the others are the domain. Addresses are
  /// not learned.
  void learn_host(std::string_view name);
  /// Learns the owners of the home directories in a text.
  void learn_people(std::string_view text);
  /// Learns the names of hosts, domains and people from the output of a probe, and the names of nodes from
  /// that of a control plane.
  void learn_from(std::string_view probe);
  /// The replacement of a learned name, or of an address that is used as a name; otherwise the name itself.
  [[nodiscard]] std::string name(std::string_view name);
  /// The text with everything replaced.
  [[nodiscard]] std::string operator()(std::string_view text);
  [[nodiscard]] Replaced replaced() const;

 private:
  struct Place;
  [[nodiscard]] std::string line(std::string_view text, std::string_view section);
  [[nodiscard]] std::string digits(std::string_view like);
  [[nodiscard]] std::string address(std::string_view text);
  std::string_view secret();
  bool take_number(Place& place);
  bool take_word(Place& place);

  std::string salt_;
  std::map<std::string, std::string, std::less<>> names_;  ///< lower case
  std::map<std::string, int, std::less<>> counts_;
  std::map<std::string, std::string, std::less<>> seen_;
  std::set<std::string, std::less<>> used_;  ///< names that occurred in a text
  std::size_t ids_ = 0, secrets_ = 0;
};

}  // namespace facts
