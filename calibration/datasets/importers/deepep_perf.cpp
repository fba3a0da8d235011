// Tables of DeepEP's own tests, eight ranks a node. dispatch sends fp8 with a 4-byte scale for each
// 128 values, combine bf16 (the rates that the low-latency tables print confirm both). Normal mode
// counts the notification that precedes the transfer to it.
#include "calibration/datasets/comm_importer.hpp"

namespace foretoken {
namespace {

constexpr int ranks_a_node = 8;
constexpr double dispatch_element_bytes = 1.0 + 4.0 / 128;
constexpr double combine_element_bytes = 2.0;

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
                     std::string_view operation) {
  CommSample sample;
  sample.gpu = file.gpu;
  sample.nodes = static_cast<int>(rows.integer(columns.nodes));
  sample.ranks = ranks_a_node * sample.nodes;
  sample.operation = operation;
  sample.version = file.version;
  sample.launch = "bench";
  sample.element_bytes = operation == "dispatch" ? dispatch_element_bytes : combine_element_bytes;
  sample.tokens = rows.integer(columns.tokens);
  sample.hidden = static_cast<int>(rows.integer(columns.hidden));
  sample.topk = static_cast<int>(rows.integer(columns.topk));
  sample.experts = static_cast<int>(rows.integer(columns.experts));
  sample.bytes = static_cast<double>(sample.tokens * sample.hidden) * sample.element_bytes;
  sample.origin = "aiconfigurator";
  return sample;
}

}  // namespace

void import_deepep_normal(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const DeepEpColumns columns(rows);
  while (rows.next()) {
    for (const std::string operation : {"dispatch", "combine"}) {
      CommSample sample = sample_of(file, rows, columns, operation);
      sample.library = "deepep_normal";
      sample.sms = static_cast<int>(rows.integer(rows.column(operation + "_sms")));
      sample.time = Seconds((rows.number(rows.column(operation + "_transmit_us")) +
                             rows.number(rows.column(operation + "_notify_us"))) *
                            1e-6);
      dataset.samples.push_back(std::move(sample));
    }
  }
}

void import_deepep_low_latency(const CommFile& file, CommDataset& dataset) {
  CsvRows rows(file.path);
  const DeepEpColumns columns(rows);
  while (rows.next()) {
    for (const std::string operation : {"dispatch", "combine"}) {
      CommSample sample = sample_of(file, rows, columns, operation);
      sample.library = "deepep_ll";
      sample.time = Seconds(rows.number(rows.column(operation + "_avg_t_us")) * 1e-6);
      dataset.samples.push_back(std::move(sample));
    }
  }
}

}  // namespace foretoken
