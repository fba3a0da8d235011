#include "calibration/evaluate/comm_rows.hpp"

#include <cmath>
#include <tuple>

namespace foretoken {
namespace {

constexpr int nodes_max = 8;

/// `ranks` GPUs spread evenly over the first `nodes` nodes.
std::vector<GpuId> spread_group(const ClusterSpec& cluster, int nodes, int ranks) {
  if (nodes < 1 || nodes > cluster.nodes || ranks < nodes || ranks % nodes != 0 ||
      ranks / nodes > cluster.node.gpus) {
    throw ConfigError({}, fmt::format("{} ranks on {} node(s) were measured, which do not fit {} "
                                      "nodes of {} GPUs",
                                      ranks, nodes, cluster.nodes, cluster.node.gpus));
  }
  std::vector<GpuId> group;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < ranks / nodes; ++gpu)
      group.push_back({static_cast<std::uint32_t>(node * cluster.node.gpus + gpu)});
  }
  return group;
}

CommRow row_of(const CommSample& sample, MeasuredClusters& clusters) {
  CommRow row;
  const ClusterSpec& cluster = clusters.find(sample.gpu, sample.cluster);
  row.point = point_on(cluster, sample.nodes, sample.ranks);
  row.links = group_links(cluster, spread_group(cluster, sample.nodes, sample.ranks));
  row.point.op = sample.op;
  row.point.bytes = sample.bytes;
  row.point.experts = sample.experts;
  row.point.library = sample.library;
  row.point.launch = sample.launch;
  row.point.element_bytes = sample.element_bytes;
  row.point.sms = sample.sms;
  row.time = sample.time;
  row.gpu = sample.gpu;
  row.cluster = sample.cluster;
  row.origin = sample.origin;
  return row;
}

auto row_key(const CommSample& sample) {
  return std::tuple(sample.gpu, sample.library, sample.launch, sample.op, sample.nodes,
                    sample.ranks, sample.element_bytes, sample.hidden, sample.experts.mode,
                    sample.experts.experts, sample.experts.topk, sample.sms,
                    std::lround(comm_sizes_an_octave * std::log2(sample.bytes)));
}

}  // namespace

const ClusterSpec& MeasuredClusters::find(const std::string& gpu, const std::string& cluster) {
  const std::string name = cluster.empty() ? fmt::format("{}-8x{}", gpu, nodes_max) : cluster;
  const auto found = clusters_.find(name);
  if (found != clusters_.end()) return found->second;
  return clusters_.emplace(name, load_cluster(name, {"dataset"})).first->second;
}

std::vector<CommRow> comm_rows(std::span<const CommSample> samples) {
  MeasuredClusters clusters;
  std::map<decltype(row_key(samples[0])), std::vector<const CommSample*>> groups;
  for (const CommSample& sample : samples) {
    const bool has_usual_sms = sample.sms == 0 || sample.sms >= deepep_sms_min;
    if (sample.algorithm == "auto" && sample.protocol == "auto" && has_usual_sms)
      groups[row_key(sample)].push_back(&sample);
  }
  std::vector<CommRow> rows;
  for (const auto& [key, members] : groups) {
    CommRow row = row_of(*members.front(), clusters);
    double size_log = 0, time_log = 0;
    for (const CommSample* const sample : members) {
      size_log += std::log(sample->bytes);
      time_log += std::log(sample->time.value());
    }
    const auto count = static_cast<double>(members.size());
    row.point.bytes = std::round(std::exp(size_log / count));
    row.time = Seconds(std::exp(time_log / count));
    rows.push_back(row);
  }
  return rows;
}

}  // namespace foretoken
