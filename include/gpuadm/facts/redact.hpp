#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace facts {

/// What a redactor has replaced so far.
struct Replaced {
  std::size_t names = 0, addresses = 0;  ///< how many different ones
  std::size_t ids = 0, secrets = 0;      ///< in how many places
};

/// Replaces what names a machine, a network or a person, and what is secret, in text that hosts gave. The
/// same thing becomes the same other thing everywhere, so that what is judged of the text stays the same:
/// addresses keep which networks they share (private ranges stay private), MAC addresses their vendor, ids
/// their form. Secrets become
/// "***". Two sections of a probe that tell addresses in hexadecimal are left out.
class Redactor {
 public:
  /// `salt`: something random; who does not know it cannot find out what was replaced.
  explicit Redactor(std::string salt) : salt_(std::move(salt)) {}

  /// A name that must not stay: a host's, a person's, a domain. Names too short or too common to be told from
  /// other words are left alone in text, as `localhost` is.
  void learn(std::string_view name, std::string_view kind);
  /// Learns what the output of a probe calls its host, its domains and its people, and what that of a control
  /// plane calls its nodes.
  void learn_from(std::string_view probe);
  /// What a learned name became, or an address that somebody uses as a name; else the name itself.
  [[nodiscard]] std::string name(std::string_view name);
  /// The text with everything replaced.
  [[nodiscard]] std::string operator()(std::string_view text);
  [[nodiscard]] Replaced replaced() const;

 private:
  struct Place;
  [[nodiscard]] std::string line(std::string_view text, std::string_view section);
  void learn_host(std::string_view name);
  [[nodiscard]] std::string digits(std::string_view like);
  [[nodiscard]] std::string address(std::string_view text);
  std::string_view secret();
  bool take_number(Place& place);
  bool take_word(Place& place);

  std::string salt_;
  std::map<std::string, std::string, std::less<>> names_;  ///< lower case
  std::map<std::string, int, std::less<>> counts_;
  std::map<std::string, std::string, std::less<>> seen_;
  std::set<std::string, std::less<>> used_;  ///< names that stood in some text
  std::size_t ids_ = 0, secrets_ = 0;
};

}  // namespace facts
