#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Who sends a file to whom, where several hosts lack it (decision 15). Knows no host and no clock.
namespace run {

/// How others fetch files from a host: what depot_serve of playbooks/depot.sh prints.
struct Offer {
  std::string addresses, port, host_key, key;  ///< key: private, of this run
};
/// The offer in what a program printed; nothing where there is none, or none that could be one.
[[nodiscard]] std::optional<Offer> read_offer(std::string_view printed);

/// What a host has of a file: all, or so many bytes; from "depot whole" or "depot N" in what a program
/// printed.
struct Held {
  bool whole = false;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Held read_held(std::string_view printed, std::uint64_t size);

class Distribution {
 public:
  /// Where a host gets a file from.
  struct Route {
    std::string host;  ///< empty: from the client
    Offer offer;
  };

  /// The host passes on what it has of the file and what is still to come to it; without an offer it cannot.
  void offers(const std::string& host, const std::string& digest, std::optional<Offer> offer);
  [[nodiscard]] bool has_answered(const std::string& host, const std::string& digest) const;
  /// The route for a host that lacks the file: from one that has it, or that is getting it, whoever passes it
  /// on to the fewest; from the client where there is none. Nothing: those that could are busy; ask again
  /// once a file has arrived or failed somewhere.
  [[nodiscard]] std::optional<Route> route(const std::string& host, const std::string& digest);
  /// The host has all of the file now.
  void arrived(const std::string& host, const std::string& digest);
  /// It has not, and takes no part in it any more.
  void failed(const std::string& host, const std::string& digest);
  /// It got no further from another host. Where that one goes on passing the file on, the way between them is
  /// shut, and the client sends to this host from now on. Returns whether that is so.
  bool cannot_fetch(const std::string& host, const std::string& digest);

 private:
  struct Holder {
    std::optional<Offer> offer;
    int guests = 0;
    bool whole = false;
  };
  struct File {
    std::map<std::string, Holder> holders;    ///< who has answered whether it passes the file on
    std::map<std::string, std::string> ways;  ///< who gets it, and from whom
  };
  /// Whether the file comes, or has come, to `holder` without passing through `host`.
  [[nodiscard]] static bool has_a_source(const File& file, const std::string& holder,
                                         const std::string& host);
  static void end(const std::string& host, File& file);

  std::map<std::string, File> files_;
  std::set<std::string> only_client_;
};

}  // namespace run
