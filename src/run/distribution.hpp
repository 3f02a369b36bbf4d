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

  /// The route for a host that lacks the file. Nothing: another host is getting it just now; ask again once
  /// one has arrived or failed. The client sends a file to one host at a time while hosts pass it on.
  [[nodiscard]] std::optional<Route> route(const std::string& host, const std::string& digest);
  /// The host has the file now, and passes it on where it has made an offer.
  void arrived(const std::string& host, const std::string& digest, std::optional<Offer> offer);
  /// It has not, and takes no part in it any more.
  void failed(const std::string& host, const std::string& digest);
  /// It could not fetch from another host: from now on the client sends to it.
  void cannot_fetch(const std::string& host, const std::string& digest);

 private:
  struct Holder {
    Offer offer;
    int guests = 0;
  };
  struct File {
    std::map<std::string, Holder> holders;
    std::map<std::string, std::string> ways;  ///< who gets it, and from whom
    bool passed_on = true;                    ///< until a host that has it made no offer
  };
  void end(const std::string& host, File& file);

  std::map<std::string, File> files_;
  std::set<std::string> only_client_;
};

}  // namespace run
