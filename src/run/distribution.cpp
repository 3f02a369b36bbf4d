#include "run/distribution.hpp"

#include "gpuadm/base/text.hpp"

#include <algorithm>

namespace run {

namespace {

constexpr int most_guests = 2;  // a host sends a file to at most two others at a time
// A chain is as fast as its slowest link, and one that is carried twice may be slow; but a file takes up to
// 0.2 s for each host of a chain, and one host that goes away or is slow holds up all behind it.
constexpr int chain = 16;
constexpr int last_choice = 1000 * chain;

/// The rest of a line that begins with a word.
std::optional<std::string> behind(std::string_view printed, std::string_view word) {
  for (const std::string_view line : base::lines(printed))
    if (line.starts_with(word)) return std::string(base::trim(line.substr(word.size())));
  return std::nullopt;
}

bool is_plain(const std::string& text, std::string_view further) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           further.find(c) != std::string_view::npos;
  });
}

}  // namespace

std::optional<Offer> read_offer(std::string_view printed) {
  const auto addresses = behind(printed, "offer "), port = behind(printed, "port "),
             host_key = behind(printed, "host ");
  const std::size_t begin = printed.find("-----BEGIN OPENSSH PRIVATE KEY-----");
  const std::string_view last = "-----END OPENSSH PRIVATE KEY-----";
  const std::size_t end = begin == std::string_view::npos ? begin : printed.find(last, begin);
  if (!addresses || !port || !host_key || end == std::string_view::npos) return std::nullopt;
  Offer offer{*addresses, *port, *host_key, std::string(printed.substr(begin, end + last.size() - begin))};
  // They are passed to another host's shell as words.
  if (!is_plain(offer.addresses, ".: ") || !is_plain(offer.port, "") || !is_plain(offer.host_key, "-+/= "))
    return std::nullopt;
  return offer;
}

Held read_held(std::string_view printed, std::uint64_t size) {
  const std::string held = behind(printed, "depot ").value_or("");
  const auto bytes = base::to_int(held);
  if (held == "whole") return {true, size};
  // More bytes than the file has mean another file.
  if (!bytes || *bytes < 0 || static_cast<std::uint64_t>(*bytes) > size) return {};
  return {false, static_cast<std::uint64_t>(*bytes)};
}

void Distribution::offers(const std::string& host, const std::string& digest, std::optional<Offer> offer) {
  files_[digest].holders[host].offer = std::move(offer);
}

bool Distribution::has_answered(const std::string& host, const std::string& digest) const {
  const auto file = files_.find(digest);
  return file != files_.end() && file->second.holders.contains(host);
}

bool Distribution::has_a_source(const File& file, const std::string& holder, const std::string& host) {
  const std::string* at = &holder;
  while (*at != host) {
    const auto known = file.holders.find(*at);
    if (known != file.holders.end() && known->second.whole) return true;
    const auto way = file.ways.find(*at);
    if (way == file.ways.end()) return false;
    if (way->second.empty()) return true;
    at = &way->second;
  }
  return false;
}

int Distribution::Holder::cost() const {
  if (guests == most_guests) return 2 * last_choice;
  return (whole ? 0 : depth) + guests * chain + (stalled ? last_choice : 0);
}

std::optional<Distribution::Route> Distribution::route(const std::string& host, const std::string& digest) {
  File& file = files_[digest];
  const auto from = [&](const std::string& who, const Offer& offer, int depth) {
    file.ways[host] = who;
    if (const auto holder = file.holders.find(host); holder != file.holders.end()) {
      holder->second.depth = depth;
      holder->second.stalled = false;
    }
    return Route{who, offer};
  };
  if (only_client_.contains(host)) return from("", {}, 0);
  auto best = file.holders.end();
  for (auto holder = file.holders.begin(); holder != file.holders.end(); ++holder)
    if (holder->second.offer && (best == file.holders.end() || holder->second.cost() < best->second.cost()) &&
        has_a_source(file, holder->first, host))
      best = holder;
  if (best == file.holders.end()) return from("", {}, 0);
  if (best->second.guests == most_guests) return std::nullopt;
  ++best->second.guests;
  return from(best->first, *best->second.offer, best->second.whole ? 1 : best->second.depth + 1);
}

void Distribution::end(const std::string& host, File& file) {
  const auto way = file.ways.find(host);
  if (way == file.ways.end()) return;
  if (const auto holder = file.holders.find(way->second); holder != file.holders.end())
    --holder->second.guests;
  file.ways.erase(way);
}

void Distribution::arrived(const std::string& host, const std::string& digest) {
  File& file = files_[digest];
  end(host, file);
  file.holders[host].whole = true;
  file.holders[host].stalled = false;
}

void Distribution::failed(const std::string& host, const std::string& digest) {
  File& file = files_[digest];
  end(host, file);
  file.holders.erase(host);
}

bool Distribution::cannot_fetch(const std::string& host, const std::string& digest, Came came) {
  File& file = files_[digest];
  const auto way = file.ways.find(host);
  if (came == Came::some && way != file.ways.end())
    if (const auto source = file.holders.find(way->second);
        source != file.holders.end() && !source->second.whole)
      source->second.stalled = true;
  const bool shut = came == Came::nothing && way != file.ways.end() && has_a_source(file, way->second, host);
  end(host, file);
  if (shut) only_client_.insert(host);
  return shut;
}

}  // namespace run
