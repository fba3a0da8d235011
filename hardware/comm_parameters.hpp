// What communication costs on a kind of fabric beyond what its wires do: alpha-beta costs of each
// protocol of NCCL, of the all-reduce kernels of serving frameworks, and of expert exchange. Plain
// numbers that a fit can fill in from measurements and a TOML file can hold (specs/fabrics/*.toml);
// kernels/communication/collectives.hpp holds the formulas.
//
// A transfer of n steps in which a rank moves W bytes over its link takes
//     launch + n (link latency + step) + W / (share * link rate)
// where link latency and link rate (bandwidth * efficiency) are the cluster's.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct ProtocolCosts {
  Seconds launch;    // once a call, queued behind other kernels or inside a CUDA graph
  Seconds step;      // each step, besides the link's latency
  double share = 0;  // of the link rate, 0 to 1; 0 = the protocol is not offered on this fabric
  friend bool operator==(const ProtocolCosts&, const ProtocolCosts&) = default;
};

/// The protocols of a fabric, in the order of FabricCosts::protocols.
///   ll, ll128, simple   NCCL's rings and trees: flag a word, flag a line, and plain copies
///   direct_ll, direct   NCCL's grouped send/recv, all peers at once (all_to_all)
///   send_ll, send       one send and its receive, as between pipeline stages
///   broadcast_ll,       NCCL's broadcast, a chain from rank to rank
///   broadcast
///   nvls                reduction inside the switch (NVLink SHARP)
///   one_shot, two_shot  the all-reduce kernels of vLLM, SGLang and TensorRT-LLM
///   dispatch, combine   expert exchange for throughput (DeepEP's normal kernels)
///   low_latency_*       expert exchange for latency (DeepEP's low-latency kernels)
enum class Protocol {
  ll,
  ll128,
  simple,
  direct_ll,
  direct,
  send_ll,
  send,
  broadcast_ll,
  broadcast,
  nvls,
  one_shot,
  two_shot,
  dispatch,
  combine,
  low_latency_dispatch,
  low_latency_combine
};
template <>
struct EnumNames<Protocol> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"ll", "ll128", "simple", "direct_ll", "direct", "send_ll", "send", "broadcast_ll",
       "broadcast", "nvls", "one_shot", "two_shot", "dispatch", "combine", "low_latency_dispatch",
       "low_latency_combine"});
};
constexpr std::size_t protocol_count = EnumNames<Protocol>::names.size();

/// A rank's own part of the data goes through the same SMs without crossing a link. It costs this
/// share of what crossing would.
struct OwnPart {
  double all_reduce = 0, all_gather = 0, reduce_scatter = 0, all_to_all = 0;
  friend bool operator==(const OwnPart&, const OwnPart&) = default;
};

struct FabricCosts {
  std::string name;  // "nvswitch-hopper"
  std::array<ProtocolCosts, protocol_count> protocols{};
  OwnPart own_part;
  /// A call issued outside a CUDA graph takes at least this: the host prepares the launch.
  Seconds host_floor;

  [[nodiscard]] const ProtocolCosts& of(Protocol protocol) const {
    return protocols[static_cast<std::size_t>(protocol)];
  }
  [[nodiscard]] ProtocolCosts& of(Protocol protocol) {
    return protocols[static_cast<std::size_t>(protocol)];
  }
  friend bool operator==(const FabricCosts&, const FabricCosts&) = default;
};

/// Of a cluster: links inside a node, and the network between nodes.
struct CommParameters {
  FabricCosts inside, across;
  friend bool operator==(const CommParameters&, const CommParameters&) = default;
};

/// Names of the fabrics inside the program, sorted.
std::vector<std::string> fabric_names();

/// A built-in fabric by name, or a TOML file by path. An unknown name or a faulty file is a
/// ConfigError; `asked_at` is where the name stands.
FabricCosts load_fabric(const std::string& name_or_path, const SourcePosition& asked_at);

/// All mistakes are thrown together.
FabricCosts read_fabric_costs(const Value& root);

/// As a TOML table that read_fabric_costs() reads back: what a fit writes.
Value fabric_table(const FabricCosts& costs);

}  // namespace foretoken
