// Tables of DeepEP's own tests, eight ranks a node. dispatch sends fp8 with a 4-byte scale for each
// 128 values, combine bf16 (the rates that the low-latency tables print confirm both). Normal mode
// counts the notification that precedes the transfer to it.
#include <array>

#include "calibration/datasets/comm_importer.hpp"

namespace foretoken {
namespace {

constexpr int ranks_a_node = 8;
constexpr double dispatch_element_bytes = 1.0 + 4.0 / 128;
constexpr double combine_element_bytes = 2.0;

struct Direction {
  std::string_view name;
  CollectiveOp op;
};
constexpr auto directions = std::to_array<Direction>(
    {{"dispatch", CollectiveOp::expert_dispatch}, {"combine", CollectiveOp::expert_combine}});

struct DeepEpColumns {
  explicit DeepEpColumns(const CsvRows& rows)
      : nodes(rows.column("node_num")),
        hidden(rows.column("hidden_size")),
        tokens(rows.column("num_token")),
        topk(rows.column("num_topk")),
        experts(rows.column("num_experts")) {}
  int nodes, hidden, tokens, topk, experts;
};

CommSample sample_of(const CommFile& file, const CsvRows& rows, const DeepEpColumns& columns,
                     CollectiveOp op) {
  CommSample sample;
  sample.gpu = file.gpu;
  sample.nodes = static_cast<int>(rows.integer(columns.nodes));
  sample.ranks = ranks_a_node * sample.nodes;
  sample.op = op;
  sample.library = CommLibrary::deepep;
  sample.version = file.version;
  sample.launch = CommLaunch::bench;
  sample.element_bytes =
      op == CollectiveOp::expert_dispatch ? dispatch_element_bytes : combine_element_bytes;
  sample.tokens = rows.integer(columns.tokens);
  sample.hidden = static_cast<int>(rows.integer(columns.hidden));
  sample.experts.topk = static_cast<int>(rows.integer(columns.topk));
  sample.experts.experts = static_cast<int>(rows.integer(columns.experts));
  sample.bytes = static_cast<double>(sample.tokens * sample.hidden) * sample.element_bytes;
  sample.origin = "aiconfigurator";
  return sample;
}

}  // namespace

void import_deepep_normal(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const DeepEpColumns columns(rows);
  for (const Direction& direction : directions) {
    const std::string name(direction.name);
    const int sms = rows.column(name + "_sms"), transmit = rows.column(name + "_transmit_us"),
              notify = rows.column(name + "_notify_us");
    CsvRows pass(file.path);
    while (pass.next()) {
      CommSample sample = sample_of(file, pass, columns, direction.op);
      sample.experts.mode = ExpertMode::normal;
      sample.sms = static_cast<int>(pass.integer(sms));
      sample.time = Seconds((pass.number(transmit) + pass.number(notify)) * 1e-6);
      dataset.samples.push_back(std::move(sample));
    }
  }
}

void import_deepep_low_latency(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const DeepEpColumns columns(rows);
  for (const Direction& direction : directions) {
    const int time = rows.column(std::string(direction.name) + "_avg_t_us");
    CsvRows pass(file.path);
    while (pass.next()) {
      CommSample sample = sample_of(file, pass, columns, direction.op);
      sample.experts.mode = ExpertMode::low_latency;
      sample.time = Seconds(pass.number(time) * 1e-6);
      dataset.samples.push_back(std::move(sample));
    }
  }
}

}  // namespace foretoken
