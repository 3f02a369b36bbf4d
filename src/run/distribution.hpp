#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Decides which host sends a file to which, if several hosts lack it (decision 15). Pure; knows no
/// connections and no clock.
namespace run {

/// How other hosts fetch files from a host: output of depot_serve in playbooks/depot.sh.
struct Offer {
  std::string addresses, port, host_key, key;  ///< key: private, of this run
};
/// The offer in a program's output; nothing if it is missing or invalid.
[[nodiscard]] std::optional<Offer> read_offer(std::string_view printed);

/// The part of a file that a host has: all, or this many bytes; from "depot whole" or "depot N" in a
/// program's output.
struct Held {
  bool whole = false;
  std::uint64_t bytes = 0;
};
[[nodiscard]] Held read_held(std::string_view printed, std::uint64_t size);

class Distribution {
 public:
  /// The source of a file for a host.
  struct Route {
    std::string host;  ///< empty: from the client
    Offer offer;
  };

  /// The host can pass on the part of the file that it has and the part that it will receive; without an
  /// offer it cannot.
  void offers(const std::string& host, const std::string& digest, std::optional<Offer> offer);
  [[nodiscard]] bool has_answered(const std::string& host, const std::string& digest) const;
  /// The source for a host that lacks the file: a host that has or receives it and sends it to nobody, or, if
  /// those are many hosts farther from the client, one that sends it to one. One that has stalled is the last
  /// choice. The client if there is none. Nothing: all possible sources are busy; try again once a file has
  /// arrived or failed.
  [[nodiscard]] std::optional<Route> route(const std::string& host, const std::string& digest);
  /// The host has the whole file.
  void arrived(const std::string& host, const std::string& digest);
  /// The host does not have it and no longer participates.
  void failed(const std::string& host, const std::string& digest);
  enum class Came { nothing, some };
  /// The host failed to fetch from another host. If nothing came, and that one still has a source, the
  /// connection between the two is blocked, and the client sends to this host from now on. Returns whether
  /// that is the case. If some of the file came, the reason is before the other host.
  bool cannot_fetch(const std::string& host, const std::string& digest, Came came);

 private:
  struct Holder {
    std::optional<Offer> offer;
    int guests = 0;
    int depth = 0;         ///< hosts between the client and this one, when its source was chosen
    bool stalled = false;  ///< it had nothing more for a host that it sent to
    bool whole = false;
    /// The lower, the better as a source.
    [[nodiscard]] int cost() const;
  };
  struct File {
    std::map<std::string, Holder> holders;    ///< hosts that have reported whether they pass the file on
    std::map<std::string, std::string> ways;  ///< receiver -> source
  };
  /// Whether the route of the file to `holder` does not include `host`.
  [[nodiscard]] static bool has_a_source(const File& file, const std::string& holder,
                                         const std::string& host);
  static void end(const std::string& host, File& file);

  std::map<std::string, File> files_;
  std::set<std::string> only_client_;
};

}  // namespace run
