// The links inside one node, and which of them a transfer takes: NVSwitch ports, wires between two
// GPUs, the PCIe tree, network cards. Links are numbered from 0 within the node; wiring.hpp puts
// the nodes of a cluster side by side. Rules of the way:
//   nvswitch   out of one GPU's port, into the other's
//   pairwise   the wires that join the two; else over one GPU that both are joined to (NCCL's
//              "NVB" path), the one with the widest way; else PCIe
//   pcie       the lowest switch or bridge that both stand under; between sockets over their link
//   host       up the PCIe tree to the bridge of the GPU's socket; without a tree a link of the
//              GPU's own, which nobody shares
//   NICs       GPU i owns NIC i * nics / gpus and those up to the next GPU's. It reaches another's
//              over NVLink (NCCL's "PXN"), or over PCIe where that is all there is.
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "hardware/route.hpp"

namespace foretoken {

class NodeWiring {
 public:
  /// `node` must outlive the wiring. NICs have links only if there is a fabric for them.
  NodeWiring(const NodeSpec& node, bool has_fabric);

  [[nodiscard]] LinkIndex link_count() const { return nics_ + 2 * nic_count_; }
  [[nodiscard]] BytesPerSecond capacity(LinkIndex link) const;  // payload, one direction
  [[nodiscard]] std::string name(LinkIndex link) const;         // "gpu 3 out"
  [[nodiscard]] bool is_nic(LinkIndex link) const { return link >= nics_; }
  [[nodiscard]] int nic_count() const { return static_cast<int>(nic_count_); }
  /// Both directions of every GPU's port on the node's NVSwitch; none without one.
  [[nodiscard]] LinkIndex port_count() const { return pairs_; }

  /// How two GPUs reach each other, nearest first.
  enum class Way { wire, nvswitch, relay, pcie_switch, bridge, sockets };
  [[nodiscard]] Way way(int from, int to) const;
  [[nodiscard]] Seconds latency(int from, int to) const;

  /// Each adds to `route` the links of the node whose links begin at `base`.
  void append_inside(Route& route, LinkIndex base, int from, int to) const;
  void append_to_nic(Route& route, LinkIndex base, int gpu, int nic) const;
  void append_from_nic(Route& route, LinkIndex base, int nic, int gpu) const;

  /// Every way between two GPUs or a GPU and a NIC, the usual one first: then over a third GPU's
  /// wires and over PCIe, as far as the node has them (node_detours.cpp).
  [[nodiscard]] std::vector<Route> ways_inside(LinkIndex base, int from, int to) const;
  [[nodiscard]] std::vector<Route> ways_to_nic(LinkIndex base, int gpu, int nic) const;
  [[nodiscard]] std::vector<Route> ways_from_nic(LinkIndex base, int nic, int gpu) const;

  /// Between a GPU and the memory of its socket, over the PCIe tree. Adds nothing where the GPU has
  /// a link of its own to the host.
  void append_to_host(Route& route, LinkIndex base, int gpu) const;
  void append_from_host(Route& route, LinkIndex base, int gpu) const;

  struct OwnNics {
    int first = 0, count = 0;
  };
  [[nodiscard]] OwnNics own_nics(int gpu) const;
  /// The first GPU that owns `nic`, or else the last one before it.
  [[nodiscard]] int owner_of(int nic) const;

  /// Wires that join the two GPUs without another between; 0 = none.
  [[nodiscard]] int wires(int first, int second) const;

  /// Whether GPUs that are not in `members` (true by GPU) use the link when they talk to each other
  /// or to members.
  [[nodiscard]] bool is_shared(LinkIndex link, const std::vector<bool>& members) const;

 private:
  struct Position {  // in the PCIe tree
    int pcie_switch = 0, socket = 0;
    bool has_switch = false;
  };
  [[nodiscard]] bool has_tree() const;
  [[nodiscard]] Position position_of_gpu(int gpu) const;
  [[nodiscard]] Position position_of_nic(int nic) const;
  [[nodiscard]] int relay_between(int from, int to) const;  // -1: none
  [[nodiscard]] int pair_index(int first, int second) const;
  [[nodiscard]] LinkIndex pair_link(int from, int to) const;
  [[nodiscard]] LinkIndex socket_link(int from, int to) const;
  void append_relayed(Route& route, LinkIndex base, int from, int relay, int to) const;
  void append_over_pcie(Route& route, LinkIndex base, int from, int to) const;
  void append_climb(Route& route, LinkIndex base, const Position& from, const Position& to,
                    bool to_nic) const;
  void append_descent(Route& route, LinkIndex base, const Position& from, const Position& to,
                      bool from_nic) const;
  [[nodiscard]] bool goes_through_owner(int gpu, int nic) const;

  const NodeSpec& node_;
  // Where each kind of link begins; out is 2 i, in 2 i + 1.
  LinkIndex pairs_ = 0, wires_ = 0, switches_ = 0, bridges_ = 0, sockets_ = 0, nics_ = 0;
  LinkIndex nic_count_ = 0;
  int switch_count_ = 0;
  std::vector<GpuPair> joined_;   // pairwise: each two GPUs once
  std::vector<int> pair_number_;  // by first * gpus + second; -1 = not joined
};

}  // namespace foretoken
