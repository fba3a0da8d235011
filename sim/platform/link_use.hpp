// Who is on each link: transfers with flows on it, a step that has leased it because nobody else is
// there (transfers.hpp), and how much longer transfers took because they had to share it. It
// decides nothing about speed; that is SimGrid's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hardware/wiring.hpp"
#include "sim/platform/course.hpp"

namespace foretoken {

class LinkUse {
 public:
  explicit LinkUse(const Wiring& wiring);

  /// Whether nobody is on any of the links and nobody has leased one.
  [[nodiscard]] bool are_free(std::span<const LinkIndex> links) const;
  void lease(std::span<const LinkIndex> links, std::uint32_t lessee);
  void end_lease(std::span<const LinkIndex> links);
  [[nodiscard]] std::optional<std::uint32_t> lessee_of(LinkIndex link) const;

  void enter(std::span<const LinkIndex> links);
  void leave(std::span<const LinkIndex> links);

  /// The flows of a round begin or end: what they ask of their links.
  void load(std::span<const PlannedFlow> flows, Seconds now);
  void unload(std::span<const PlannedFlow> flows, Seconds now);
  /// Flows that began at `since` took `beyond` longer than they would have alone: the link of
  /// theirs on which most was asked for since then has cost that.
  void charge(std::span<const PlannedFlow> flows, Seconds since, Seconds beyond);
  /// Seconds, by link.
  [[nodiscard]] Seconds charged(LinkIndex link) const { return links_[link].charged; }

  /// From now on the link has this share of its full rate; below 1 it counts as never free.
  void set_share(LinkIndex link, double share);

 private:
  struct Link {
    double capacity = 0;  // B/s
    double share = 1;     // of it that is left
    double asked = 0;     // B/s, by the flows on it
    double crowding = 0;  // asked / capacity at its worst since it last was too much
    Seconds crowded_until{-1.0};
    Seconds charged;
    std::uint32_t users = 0;
    std::optional<std::uint32_t> lessee;

    [[nodiscard]] bool is_crowded() const { return asked > capacity * share * (1 + 1e-9); }
  };
  std::vector<Link> links_;
};

}  // namespace foretoken
