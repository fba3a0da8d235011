#include "kernels/communication/group_traffic.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// The ranks of a group on one node, and the NICs over which they leave it.
struct RanksOfNode {
  std::vector<GpuId> gpus;
  std::vector<int> rails;
};

/// As many of the node's NICs as the group may use, those next to its GPUs first, none that is
/// down.
std::vector<int> rails_of(const Wiring& wiring, const std::vector<GpuId>& gpus, std::size_t count) {
  const std::vector<int> up = wiring.nics_up(wiring.cluster().node_of(gpus.front()));
  std::vector<int> rails;
  const auto add = [&](int nic) {
    const bool is_new = std::ranges::find(rails, nic) == rails.end();
    if (rails.size() < count && is_new && std::ranges::find(up, nic) != up.end())
      rails.push_back(nic);
  };
  for (const GpuId gpu : gpus) std::ranges::for_each(wiring.own_nics(gpu), add);
  std::ranges::for_each(up, add);
  return rails;
}

std::vector<RanksOfNode> split_by_node(const Wiring& wiring, std::span<const GpuId> group) {
  const ClusterSpec& cluster = wiring.cluster();
  FORETOKEN_CHECK(!group.empty(), "traffic of no GPU");
  std::vector<GpuId> sorted(group.begin(), group.end());
  std::ranges::sort(sorted);
  FORETOKEN_CHECK(std::ranges::adjacent_find(sorted) == sorted.end(),
                  "a GPU is twice in a collective");
  FORETOKEN_CHECK(sorted.back().value < static_cast<std::uint32_t>(cluster.gpu_count()),
                  "GPU {} of a cluster of {}", sorted.back().value, cluster.gpu_count());
  std::vector<RanksOfNode> nodes;
  for (const GpuId gpu : sorted) {
    if (nodes.empty() || cluster.node_of(nodes.back().gpus.back()) != cluster.node_of(gpu))
      nodes.emplace_back();
    nodes.back().gpus.push_back(gpu);
  }
  if (nodes.size() == 1) return nodes;

  // A GPU lends the NICs next to it, and at least one; the node with the fewest decides, since a
  // rail has two ends.
  std::size_t rails = std::numeric_limits<std::size_t>::max();
  for (const RanksOfNode& ranks : nodes) {
    const int number = cluster.node_of(ranks.gpus.front());
    const NodeSpec& node = cluster.node_at(number);
    const std::size_t up = wiring.nics_up(number).size();
    FORETOKEN_CHECK(up > 0 || node.nics == 0, "all network cards of node {} are down", number);
    const auto lent = static_cast<std::size_t>(std::max(1, node.nics / node.gpus));
    rails = std::min({rails, up, ranks.gpus.size() * lent});
  }
  for (RanksOfNode& node : nodes) node.rails = rails_of(wiring, node.gpus, rails);
  return nodes;
}

class Traffic {
 public:
  explicit Traffic(const Wiring& wiring) : wiring_(wiring) {}

  void inside(GpuId from, GpuId to, double share) {
    result_.shares.push_back({wiring_.route_inside(from, to), share, false});
    slowest(result_.inside_latency, wiring_.latency(from, to));
  }

  /// Over rails `first` to `last` (exclusive) of both nodes.
  void between(GpuId from, const RanksOfNode& from_node, GpuId to, const RanksOfNode& to_node,
               std::size_t first, std::size_t last, double share) {
    const ClusterSpec& cluster = wiring_.cluster();
    for (std::size_t i = first; i < last; ++i) {
      const int out = from_node.rails[i];
      const int in = to_node.rails[i];
      result_.shares.push_back({wiring_.route_between(from, out, to, in),
                                share / static_cast<double>(last - first), true});
      slowest(result_.across_latency,
              wiring_.latency_between(cluster.node_of(from), out, cluster.node_of(to), in));
    }
  }

  /// `from` sends `share` over all its wires to the other ranks of the node.
  void over_wires(GpuId from, const std::vector<GpuId>& ranks, double share) {
    int wires = 0;
    for (const GpuId to : ranks) wires += wires_between(from, to);
    for (const GpuId to : ranks) {
      const int joined = wires_between(from, to);
      if (joined > 0) inside(from, to, share * joined / wires);
    }
  }

  [[nodiscard]] int wires_between(GpuId from, GpuId to) const { return wiring_.wires_up(from, to); }

  GroupTraffic take() { return std::move(result_); }

 private:
  void slowest(Seconds& of_kind, Seconds latency) {
    of_kind = std::max(of_kind, latency);
    result_.latency = std::max(result_.latency, latency);
  }

  const Wiring& wiring_;
  GroupTraffic result_;
};

/// Whether wires between the ranks themselves join them all.
bool are_wired_together(const Traffic& traffic, const std::vector<GpuId>& ranks) {
  std::vector<GpuId> reached = {ranks.front()};
  std::vector<GpuId> left(ranks.begin() + 1, ranks.end());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const GpuId from = reached[i];
    const auto [joined, last] = std::ranges::partition(
        left, [&](GpuId to) { return traffic.wires_between(from, to) == 0; });
    reached.insert(reached.end(), joined, last);
    left.erase(joined, last);
  }
  return left.empty();
}

/// Rails that rank `i` of a node takes, first and end: ranks share them out evenly, some each, or
/// one each, or (no multiple) all each.
std::pair<std::size_t, std::size_t> rails_of_rank(const RanksOfNode& node, std::size_t i) {
  const std::size_t rails = node.rails.size();
  const std::size_t k = node.gpus.size();
  if (k % rails == 0) return {i % rails, i % rails + 1};
  if (rails % k == 0) return {i * (rails / k), (i + 1) * (rails / k)};
  return {0, rails};
}

void add_ring_inside(Traffic& traffic, const std::vector<GpuId>& ranks, bool closes) {
  const std::size_t hops = closes ? ranks.size() : ranks.size() - 1;
  const bool has_wires = ranks.size() > 1 && are_wired_together(traffic, ranks);
  for (std::size_t i = 0; i < hops; ++i) {
    if (has_wires) {
      traffic.over_wires(ranks[i], ranks, 1);
    } else {
      traffic.inside(ranks[i], ranks[(i + 1) % ranks.size()], 1);
    }
  }
}

/// Whether GPUs of a node differ in how they reach each other, so that who talks to whom matters.
bool has_near_and_far(const NodeSpec& node) {
  if (node.link == NodeLink::pairwise) return true;
  return node.link == NodeLink::pcie && (node.gpus_per_switch > 0 || node.sockets > 1);
}

/// `staying` is what a rank sends inside its node, of 1 in all.
void add_exchange_inside(Traffic& traffic, const NodeSpec& node, const std::vector<GpuId>& ranks,
                         double staying) {
  const std::size_t k = ranks.size();
  if (k < 2) return;
  const std::size_t targets = has_near_and_far(node) ? k - 1 : 1;
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t step = 1; step <= targets; ++step)
      traffic.inside(ranks[i], ranks[(i + step) % k], staying / static_cast<double>(targets));
}

// Nodes that stand for all others in an exchange; a power of two, for shift_of(). Against all pairs
// the rate of 12 to 64 nodes differs by up to a sixth (a test).
constexpr std::size_t shifts_max = 8;
// Flows of an exchange that SimGrid shares out in about a millisecond.
constexpr std::size_t flows_max = 512;

/// From every node to another: each digit of the node's number, of the size given, grows by so
/// much, and round.
struct Shift {
  std::vector<std::size_t> sizes, by;

  [[nodiscard]] std::size_t apply(std::size_t node) const {
    std::size_t shifted = 0, stride = 1;
    for (std::size_t digit = sizes.size(); digit-- > 0; stride *= sizes[digit])
      shifted += (node / stride + by[digit]) % sizes[digit] * stride;
    return shifted;
  }
};

/// The digits that number `nodes` nodes of a fabric of that shape; one, if they end amid a stage.
std::vector<std::size_t> digits_of(const std::vector<int>& shape, std::size_t nodes) {
  std::size_t below = 1;
  for (std::size_t digit = 1; digit < shape.size(); ++digit) below *= shape[digit];
  if (nodes % below != 0) return {nodes};
  std::vector<std::size_t> sizes(shape.begin(), shape.end());
  sizes.front() = nodes / below;
  return sizes;
}

/// The `i`-th of `shifts_max`. Each digit grows by values spread evenly over its range, in another
/// order for every digit, so that no stage of the fabric is spared.
Shift shift_of(std::size_t i, const std::vector<std::size_t>& sizes) {
  Shift shift{sizes, std::vector<std::size_t>(sizes.size())};
  for (std::size_t digit = 0; digit < sizes.size(); ++digit) {
    const std::size_t order = (2 * i + 1) * (2 * digit + 1) % (2 * shifts_max);
    shift.by[digit] = sizes[digit] * order / (2 * shifts_max);
  }
  // Nobody sends to itself: then to the nearest.
  const bool stays = std::ranges::all_of(shift.by, [](std::size_t by) { return by == 0; });
  for (std::size_t digit = sizes.size(); stays && digit-- > 0;) {
    if (sizes[digit] == 1) continue;
    shift.by[digit] = 1;
    break;
  }
  return shift;
}

/// The nodes that a node exchanges with.
std::vector<Shift> shifts_between(const Wiring& wiring, std::size_t nodes) {
  if (wiring.fabric().link_count() == 0) return {{{nodes}, {1}}};
  std::vector<Shift> shifts;
  if (nodes <= shifts_max + 1) {
    for (std::size_t by = 1; by < nodes; ++by) shifts.push_back({{nodes}, {by}});
  } else {
    const std::vector<std::size_t> sizes = digits_of(wiring.fabric().shape(), nodes);
    for (std::size_t i = 0; i < shifts_max; ++i) shifts.push_back(shift_of(i, sizes));
  }
  return shifts;
}

/// Those that rank `i` of the `k` of a node takes.
std::vector<Shift> shifts_of_rank(const std::vector<Shift>& shifts, std::size_t i, std::size_t k,
                                  bool takes_all) {
  if (takes_all) return shifts;
  std::vector<Shift> taken;
  for (std::size_t j = i % shifts.size(); j < shifts.size(); j += k) taken.push_back(shifts[j]);
  return taken;
}

}  // namespace

GroupTraffic ring_traffic(const Wiring& wiring, std::span<const GpuId> group) {
  Traffic traffic(wiring);
  const std::vector<RanksOfNode> nodes = split_by_node(wiring, group);
  if (group.size() == 1) return traffic.take();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const RanksOfNode& node = nodes[n];
    add_ring_inside(traffic, node.gpus, nodes.size() == 1);
    if (nodes.size() == 1) break;
    const RanksOfNode& next = nodes[(n + 1) % nodes.size()];
    traffic.between(node.gpus.back(), node, next.gpus.front(), next, 0, node.rails.size(), 1);
  }
  return traffic.take();
}

GroupTraffic node_ring_traffic(const Wiring& wiring, std::span<const GpuId> group) {
  Traffic traffic(wiring);
  for (const RanksOfNode& node : split_by_node(wiring, group))
    if (node.gpus.size() > 1) add_ring_inside(traffic, node.gpus, true);
  return traffic.take();
}

GroupTraffic rail_traffic(const Wiring& wiring, std::span<const GpuId> group) {
  Traffic traffic(wiring);
  const std::vector<RanksOfNode> nodes = split_by_node(wiring, group);
  for (std::size_t n = 0; nodes.size() > 1 && n < nodes.size(); ++n) {
    const RanksOfNode& node = nodes[n];
    const RanksOfNode& next = nodes[(n + 1) % nodes.size()];
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      const auto [first, last] = rails_of_rank(node, i);
      traffic.between(node.gpus[i], node, next.gpus[i % next.gpus.size()], next, first, last, 1);
    }
  }
  return traffic.take();
}

std::vector<TrafficShare> shares_of(const GroupTraffic& traffic, bool is_across) {
  std::vector<TrafficShare> shares;
  for (const TrafficShare& share : traffic.shares)
    if (share.is_across == is_across) shares.push_back(share);
  return shares;
}

GroupTraffic exchange_traffic(const Wiring& wiring, std::span<const GpuId> group) {
  Traffic traffic(wiring);
  const std::vector<RanksOfNode> nodes = split_by_node(wiring, group);
  if (group.size() == 1) return traffic.take();
  const std::vector<Shift> shifts = shifts_between(wiring, nodes.size());
  // Rails that have uplinks of their own must each see all of the traffic.
  const bool takes_all = group.size() * shifts.size() <= flows_max ||
                         wiring.cluster().fabric.kind == FabricKind::rail_optimized;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const RanksOfNode& node = nodes[n];
    const std::size_t k = node.gpus.size();
    // Of the messages of a rank, k-1 stay in its node of k ranks.
    const double staying = static_cast<double>(k - 1) / static_cast<double>(group.size() - 1);
    const ClusterSpec& cluster = wiring.cluster();
    add_exchange_inside(traffic, cluster.node_at(cluster.node_of(node.gpus.front())), node.gpus,
                        staying);
    if (nodes.size() == 1) continue;
    for (std::size_t i = 0; i < k; ++i) {
      const auto [first, last] = rails_of_rank(node, i);
      const std::vector<Shift> taken = shifts_of_rank(shifts, i, k, takes_all);
      for (const Shift& shift : taken) {
        const RanksOfNode& target = nodes[shift.apply(n)];
        traffic.between(node.gpus[i], node, target.gpus[i % target.gpus.size()], target, first,
                        last, (1 - staying) / static_cast<double>(taken.size()));
      }
    }
  }
  return traffic.take();
}

GroupTraffic send_traffic(const Wiring& wiring, GpuId from, GpuId to) {
  Traffic traffic(wiring);
  const std::vector<GpuId> pair = {from, to};
  const std::vector<RanksOfNode> nodes = split_by_node(wiring, pair);
  if (nodes.size() == 1) {
    traffic.inside(from, to, 1);
  } else {
    const bool ascending = nodes.front().gpus.front() == from;
    const RanksOfNode& source = ascending ? nodes.front() : nodes.back();
    const RanksOfNode& target = ascending ? nodes.back() : nodes.front();
    traffic.between(from, source, to, target, 0, source.rails.size(), 1);
  }
  return traffic.take();
}

GroupTraffic spread_traffic(const Wiring& wiring, std::span<const GpuId> from,
                            std::span<const GpuId> to) {
  GroupTraffic traffic;
  const std::size_t step = (from.size() * to.size() + flows_max - 1) / flows_max;
  for (std::size_t sender = 0; sender < from.size(); ++sender) {
    std::vector<TrafficShare> own;
    double receivers = 0;
    for (std::size_t receiver = sender % step; receiver < to.size(); receiver += step) {
      const GroupTraffic send = send_traffic(wiring, from[sender], to[receiver]);
      own.insert(own.end(), send.shares.begin(), send.shares.end());
      ++receivers;
      traffic.latency = std::max(traffic.latency, send.latency);
      traffic.inside_latency = std::max(traffic.inside_latency, send.inside_latency);
      traffic.across_latency = std::max(traffic.across_latency, send.across_latency);
    }
    for (TrafficShare& share : own) {
      share.share /= receivers;
      traffic.shares.push_back(std::move(share));
    }
  }
  return traffic;
}

BytesPerSecond full_rate(const Wiring& wiring, std::span<const TrafficShare> shares) {
  std::vector<std::pair<LinkIndex, double>> loads;
  for (const TrafficShare& share : shares)
    for (const LinkIndex link : share.route) loads.emplace_back(link, share.share);
  std::ranges::stable_sort(loads, {}, &std::pair<LinkIndex, double>::first);
  double rate = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < loads.size();) {
    const LinkIndex link = loads[i].first;
    double load = 0;
    for (; i < loads.size() && loads[i].first == link; ++i) load += loads[i].second;
    if (load > 0) rate = std::min(rate, wiring.capacity(link).value() / load);
  }
  return BytesPerSecond(rate);
}

}  // namespace foretoken
