// AIConfigurator's moe_perf: one row a fused MoE layer call (align, both products, activation,
// reduction). `num_tokens` are one rank's tokens before routing, `inter_size` and `num_experts` the
// full model's before moe_tp_size and moe_ep_size divide them.
#include "calibration/datasets/importer.hpp"
#include "kernels/published_experts.hpp"

namespace foretoken {
namespace {

/// "balanced", or "power_law_1.01" for popularities of density x^-1.01.
Routing table_routing(const CsvRows& rows, int column) {
  std::string text(rows.text(column));
  constexpr std::string_view power_law = "power_law_";
  if (text.starts_with(power_law)) text = "power_law:" + text.substr(power_law.size());
  return parse_routing(text, rows.position());
}

/// Formats of TensorRT-LLM's tables that nothing here prices: 4-bit weights by names of their own.
bool is_unpriced(std::string_view dtype) { return dtype.starts_with("w4a"); }

}  // namespace

void import_moe_perf(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int source = rows.column("kernel_source"), dtype = rows.column("moe_dtype"),
            tokens = rows.column("num_tokens"), hidden = rows.column("hidden_size"),
            intermediate = rows.column("inter_size"), topk = rows.column("topk"),
            experts = rows.column("num_experts"), tp = rows.column("moe_tp_size"),
            ep = rows.column("moe_ep_size"), distribution = rows.column("distribution"),
            latency = rows.column("latency");
  while (rows.next()) {
    if (file.framework == Framework::trtllm && is_unpriced(rows.text(dtype))) continue;
    FusedMoe moe;
    moe.tokens = rows.integer(tokens);
    moe.experts = static_cast<int>(rows.integer(experts));
    moe.topk = static_cast<int>(rows.integer(topk));
    moe.hidden = rows.integer(hidden);
    moe.intermediate = rows.integer(intermediate);
    moe.dtype = parse_table_dtype(rows, dtype);
    moe.tp = static_cast<int>(rows.integer(tp));
    moe.ep = static_cast<int>(rows.integer(ep));
    moe.ungated = are_published_without_gate(moe);
    moe.routing = table_routing(rows, distribution);
    moe.implementation = table_implementation(rows.text(source), file.framework);
    std::string layout = moe_layout(moe);
    sink.add({std::move(moe), file.gpu, Seconds(rows.number(latency) * 1e-3),
              std::string(rows.text(source)), "aiconfigurator", std::move(layout)});
  }
}

}  // namespace foretoken
