// Finds a cluster by what a person calls it:
//   "h100-sxm-8x4"                a built-in file, or <gpu>-<GPUs a node>[x<nodes>] with any counts
//   "h200-sxm", "my-gpu.toml"     a GPU alone: a cluster of one
//   "my-cluster.toml"             the user's file
//   "H100", "NVIDIA H200-8x4"     with whatever a GPU is called (gpu_name.hpp) in place of its name
// A name with counts takes links, network cards and fabric of the GPU's usual chassis, which is the
// built-in cluster "<gpu>-<n>" (h200-sxm-8, gb200-72); network cards and the host's memory are
// scaled with the GPUs.
#include <algorithm>
#include <charconv>

#include "hardware/cluster.hpp"
#include "hardware/gpu_name.hpp"
#include "hardware/spec_source.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

// The largest NVLink domain sold (GB200 NVL72), and four times the largest clusters of 2025.
constexpr int gpus_per_node_max = 72;
constexpr int named_nodes_max = 100000;

struct Counts {
  int gpus = 0;
  int nodes = 1;
  bool has_nodes = false;
};

/// "8" or "8x4"; nullopt for anything else. A number too large to hold reads as 0.
std::optional<Counts> parse_counts(std::string_view text) {
  const auto parse = [](std::string_view digits, int& out) {
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
      return false;
    }
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (result.ec != std::errc()) out = 0;
    return true;
  };
  const auto times = text.find('x');
  Counts counts;
  counts.has_nodes = times != std::string_view::npos;
  if (!parse(text.substr(0, times), counts.gpus)) return std::nullopt;
  if (counts.has_nodes && !parse(text.substr(times + 1), counts.nodes)) return std::nullopt;
  return counts;
}

/// The part of `name` after "<gpu>-", or nullopt if it does not begin so.
std::optional<std::string_view> after_gpu(std::string_view name, std::string_view gpu) {
  if (!name.starts_with(gpu) || name.size() <= gpu.size() || name[gpu.size()] != '-') {
    return std::nullopt;
  }
  return name.substr(gpu.size() + 1);
}

/// The built-in GPU that `name` begins with, the longest if several: GPU names contain '-' and
/// digits themselves. "" if none.
std::string gpu_of(std::string_view name) {
  std::string longest;
  for (const std::string& gpu : gpu_names()) {
    if (after_gpu(name, gpu) && gpu.size() > longest.size()) longest = gpu;
  }
  return longest;
}

ClusterSpec load_chassis(const std::string& gpu) {
  for (const EmbeddedFile& file : embedded_clusters()) {
    const auto rest = after_gpu(file.stem, gpu);
    const auto counts = rest ? parse_counts(*rest) : std::nullopt;
    if (counts && !counts->has_nodes) return read_cluster(parse_spec(file, "clusters"));
  }
  FORETOKEN_CHECK(false, "no chassis for the built-in GPU {}", gpu);
}

ClusterSpec scaled(ClusterSpec chassis, std::string name, const Counts& counts) {
  const int gpus = chassis.node.gpus;
  chassis.name = std::move(name);
  chassis.nodes = counts.nodes;
  chassis.node.gpus = counts.gpus;
  chassis.node.nics = (chassis.node.nics * counts.gpus + gpus - 1) / gpus;
  chassis.node.host_memory *= static_cast<double>(counts.gpus) / gpus;
  const int gpus_per_tray = gpus / chassis.node.trays;
  chassis.node.trays = counts.gpus % gpus_per_tray == 0 ? counts.gpus / gpus_per_tray : 1;
  if (counts.gpus == 1) {
    chassis.node.link = NodeLink::single;
    chassis.node.link_bandwidth = {};
    chassis.node.link_latency = {};
    chassis.node.link_efficiency = 1.0;
    chassis.node.host_bandwidth = {};
    chassis.node.trays = 1;
  }
  return chassis;
}

ClusterSpec single_gpu(GpuSpec gpu) {
  ClusterSpec cluster;
  cluster.name = gpu.name;
  cluster.node.host_link_bandwidth = gpu.pcie_bandwidth;
  cluster.gpu = std::move(gpu);
  return cluster;
}

ClusterSpec load_by_path(const std::string& path, const SourcePosition& asked_at) {
  const Value root = load_spec_file(path, "cluster", asked_at);
  const bool is_gpu =
      root.find("sm") != nullptr && root.find("gpu") == nullptr && root.find("groups") == nullptr;
  if (!is_gpu) expect_kind(root, path, FileKind::cluster);
  return is_gpu ? single_gpu(read_gpu(root)) : read_cluster(root);
}

[[noreturn]] void throw_unknown(const std::string& name, const SourcePosition& asked_at) {
  const auto dash = name.rfind('-');
  if (dash != std::string::npos && parse_counts(std::string_view(name).substr(dash + 1))) {
    const std::vector<std::string> gpus = gpu_names();
    throw ConfigError(
        asked_at,
        fmt::format("cluster '{}': {}", name,
                    unknown_name_message("GPU", name.substr(0, dash), {gpus.begin(), gpus.end()})),
        Mistake::slip);
  }
  const std::vector<std::string> names = cluster_names();
  throw ConfigError(asked_at,
                    unknown_name_message("cluster", name, {names.begin(), names.end()}) +
                        ", or any <gpu>-<GPUs per node>[x<nodes>], or a path to a TOML file",
                    Mistake::slip);
}

/// "; did you mean 'h100-sxm-8x128-superpod'?", or "": of names that are more than counts.
std::string nearest_named(const std::string& name) {
  const std::vector<std::string> names = cluster_names();
  std::vector<std::string_view> named;
  for (const std::string& known : names) {
    const auto rest = after_gpu(known, gpu_of(known));
    if (rest && !parse_counts(*rest)) named.push_back(known);
  }
  const std::string_view nearest = nearest_name(name, named);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

void check_counts(const std::string& name, const std::string& gpu,
                  const std::optional<Counts>& counts, const SourcePosition& asked_at) {
  if (!counts) {
    throw ConfigError(
        asked_at,
        fmt::format("cluster '{0}': after '{1}-' comes the number of GPUs per node, then 'x' and "
                    "the number of nodes if there are several: {1}-8 or {1}-8x4{2}",
                    name, gpu, nearest_named(name)));
  }
  if (counts->gpus < 1 || counts->gpus > gpus_per_node_max) {
    throw ConfigError(asked_at, fmt::format("cluster '{}': a node has 1 to {} GPUs; write more as "
                                            "nodes, {}-8x4",
                                            name, gpus_per_node_max, gpu));
  }
  if (counts->nodes < 1 || counts->nodes > named_nodes_max) {
    throw ConfigError(asked_at,
                      fmt::format("cluster '{}': there are 1 to {} nodes", name, named_nodes_max));
  }
}

/// "h100-sxm-8x4" for "H100-8x4", or "" where no built-in GPU is called so; several are a mistake.
std::string own_name(const std::string& name, const SourcePosition& asked_at) {
  const auto dash = name.rfind('-');
  const bool has_counts =
      dash != std::string::npos && parse_counts(std::string_view(name).substr(dash + 1));
  const std::string said = has_counts ? name.substr(0, dash) : name;
  const std::vector<std::string> found = gpus_called(said);
  if (found.size() > 1) throw ConfigError(asked_at, ambiguous_gpu_message(said, found));
  if (found.empty()) return "";
  return has_counts ? found.front() + name.substr(dash) : found.front();
}

}  // namespace

std::vector<std::string> cluster_names() { return spec_names(embedded_clusters()); }

ClusterSpec load_cluster(const std::string& name_or_path, const SourcePosition& asked_at) {
  const std::string& name = name_or_path;
  if (is_spec_path(name)) return load_by_path(name, asked_at);
  if (const EmbeddedFile* file = find_spec(embedded_clusters(), name)) {
    return read_cluster(parse_spec(*file, "clusters"));
  }
  if (find_spec(embedded_gpus(), name) != nullptr) {
    return scaled(load_chassis(name), name, Counts{.gpus = 1});
  }
  const std::string gpu = gpu_of(name);
  if (gpu.empty()) {
    const std::string own = own_name(name, asked_at);
    if (own.empty()) throw_unknown(name, asked_at);
    return load_cluster(own, asked_at);
  }
  const auto counts = parse_counts(*after_gpu(name, gpu));
  check_counts(name, gpu, counts, asked_at);
  return scaled(load_chassis(gpu), name, *counts);
}

ClusterSpec usual_cluster(const GpuSpec& gpu, int gpus) {
  FORETOKEN_CHECK(gpus >= 1, "a cluster of {} GPUs", gpus);
  const bool is_known = find_spec(embedded_gpus(), gpu.name) != nullptr;
  const bool has_nvlink = gpu.nvlink_bandwidth > BytesPerSecond(0.0);
  // A part nobody sells is wired like the commonest server of its kind.
  ClusterSpec chassis = load_chassis(is_known ? gpu.name : has_nvlink ? "h200-sxm" : "l40s");
  const int per_node = std::min(gpus, chassis.node.gpus);
  const int nodes = (gpus + per_node - 1) / per_node;
  std::string name = fmt::format("{}-{}", gpu.name, per_node);
  if (nodes > 1) name += fmt::format("x{}", nodes);
  ClusterSpec cluster = scaled(std::move(chassis), std::move(name), {per_node, nodes, true});
  cluster.gpu = gpu;
  if (!is_known) cluster.node.host_link_bandwidth = gpu.pcie_bandwidth;
  if (!is_known && per_node > 1) {
    cluster.node.link_bandwidth = has_nvlink ? gpu.nvlink_bandwidth : gpu.pcie_bandwidth;
  }
  return cluster;
}

}  // namespace foretoken
