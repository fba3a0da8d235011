// Reads the cases of `foretoken predict`: one small reader a kernel, and checks that let nothing
// impossible through, since predictors assume sound shapes.
#include "kernels/kernel_case.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/kernel_case_fields.hpp"
#include "kernels/kernel_case_hybrid.hpp"
#include "kernels/published_experts.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {
namespace {

constexpr int experts_max = 65'536;  // histograms are built in memory
constexpr double bytes_max = 1e15;

void read_dtypes(TableReader& table, DType& dtype, DType& kv_dtype) {
  table.read("dtype", dtype);
  kv_dtype = activation_dtype(dtype);
  table.read("kv_dtype", kv_dtype);
}

Kernel read_gemm(TableReader& table) {
  Gemm gemm;
  require_size(table, "m", gemm.m);
  require_size(table, "n", gemm.n);
  require_size(table, "k", gemm.k);
  table.read("dtype", gemm.dtype);
  return gemm;
}

Kernel read_batched_gemm(TableReader& table) {
  BatchedGemm gemm;
  require_size(table, "batch", gemm.batch);
  require_size(table, "m", gemm.m);
  require_size(table, "n", gemm.n);
  require_size(table, "k", gemm.k);
  table.read("dtype", gemm.dtype);
  return gemm;
}

Kernel read_attention(TableReader& table) {
  Attention attention;
  require_size(table, "query_heads", attention.query_heads);
  require_size(table, "kv_heads", attention.kv_heads);
  require_size(table, "head_dim", attention.head_dim);
  read_dtypes(table, attention.dtype, attention.kv_dtype);
  table.read("causal", attention.causal);
  table.read("window", attention.window);
  table.expect("window", attention.window >= 0 && attention.window <= case_size_max,
               "must be from 0 (all keys) to 1000000000");
  read_size(table, "page_tokens", attention.page_tokens);
  if (attention.query_heads > 0 && attention.kv_heads > 0) {
    table.expect("kv_heads", attention.query_heads % attention.kv_heads == 0,
                 fmt::format("must divide query_heads ({})", attention.query_heads));
  }
  attention.load = read_load(table);
  return attention;
}

Kernel read_mla(TableReader& table) {
  Mla mla;
  require_size(table, "query_heads", mla.query_heads);
  read_size(table, "latent_dim", mla.latent_dim);
  read_size(table, "rope_dim", mla.rope_dim);
  read_size(table, "nope_dim", mla.nope_dim);
  read_size(table, "value_dim", mla.value_dim);
  read_dtypes(table, mla.dtype, mla.kv_dtype);
  table.read("expands_cached", mla.expands_cached);
  mla.load = read_load(table);
  return mla;
}

template <DescribedKernel Kind>
Kernel read_described(TableReader& table) {
  Kind kernel;
  for_each_field(kernel, [&](std::string_view key, auto& field) {
    if constexpr (std::is_enum_v<std::remove_reference_t<decltype(field)>>) {
      table.read(key, field);
    } else {
      require_size(table, key, field);
    }
  });
  return kernel;
}

Kernel read_kv_write(TableReader& table) {
  KvWrite kernel;
  require_size(table, "tokens", kernel.tokens);
  require_size(table, "kv_heads", kernel.kv_heads);
  require_size(table, "head_dim", kernel.head_dim);
  read_dtypes(table, kernel.dtype, kernel.kv_dtype);
  return kernel;
}

void read_experts(TableReader& table, int& experts, int& topk) {
  require_size(table, "experts", experts);
  table.expect("experts", experts <= experts_max, "must be from 1 to 65536");
  require_size(table, "topk", topk);
  if (experts > 0) {
    table.expect("topk", topk <= experts, fmt::format("must be at most experts ({})", experts));
  }
}

Kernel read_topk_routing(TableReader& table) {
  TopKRouting kernel;
  require_size(table, "tokens", kernel.tokens);
  read_experts(table, kernel.experts, kernel.topk);
  return kernel;
}

Kernel read_fused_moe(TableReader& table) {
  FusedMoe moe;
  require_size(table, "tokens", moe.tokens);
  read_experts(table, moe.experts, moe.topk);
  require_size(table, "hidden", moe.hidden);
  require_size(table, "intermediate", moe.intermediate);
  table.read("dtype", moe.dtype);
  read_size(table, "tp", moe.tp);
  read_size(table, "ep", moe.ep);
  if (moe.tp > 0) {
    table.expect("tp", moe.intermediate % moe.tp == 0,
                 fmt::format("must divide intermediate ({})", moe.intermediate));
  }
  table.read("placed_by_load", moe.placed_by_load);
  table.read("redundant", moe.redundant);
  table.expect("redundant", moe.redundant >= 0 && moe.redundant <= experts_max,
               "must be from 0 to 65536");
  table.expect("redundant", moe.redundant == 0 || moe.placed_by_load,
               "requires experts placed by load; set placed_by_load");
  if (moe.ep > 0) {
    table.expect("ep", (moe.experts + moe.redundant) % moe.ep == 0,
                 moe.redundant == 0 ? fmt::format("must divide experts ({})", moe.experts)
                                    : fmt::format("must divide experts and copies ({} + {})",
                                                  moe.experts, moe.redundant));
  }
  moe.routing = read_routing(table, moe.tokens * moe.topk, moe.experts);
  moe.ungated = are_published_without_gate(moe);
  table.read("ungated", moe.ungated);
  return moe;
}

void read_groups(TableReader& table, ExpertTraffic& experts) {
  read_size(table, "groups", experts.groups.count);
  read_size(table, "topk_groups", experts.groups.chosen);
  if (!table.diagnostics().empty()) return;
  const std::string mistake = groups_mistake(experts.experts, experts.topk, experts.groups);
  table.expect("topk_groups", mistake.empty(), mistake);
}

template <CollectiveOp op>
Kernel read_collective(TableReader& table) {
  Collective collective;
  collective.op = op;
  if (op == CollectiveOp::all_to_all) collective.group = CommGroup::expert_parallel;
  if (op == CollectiveOp::send_recv) collective.group = CommGroup::next_stage;
  require_size(table, "ranks", collective.ranks);
  table.require("bytes", collective.bytes);
  table.expect("bytes", collective.bytes >= 1 && collective.bytes <= bytes_max,
               "must be from 1 to 1e15");
  if constexpr (op == CollectiveOp::expert_dispatch || op == CollectiveOp::expert_combine) {
    collective.group = CommGroup::expert_parallel;
    require_size(table, "experts", collective.experts.experts);
    require_size(table, "topk", collective.experts.topk);
    table.expect("topk", collective.experts.topk <= collective.experts.experts,
                 fmt::format("must not exceed experts ({})", collective.experts.experts));
    table.read("mode", collective.experts.mode);
    read_groups(table, collective.experts);
  }
  return collective;
}

struct CaseReader {
  std::string_view name;
  Kernel (*read)(TableReader& table);
};

/// Kernels with rules of their own.
constexpr auto own_readers = std::to_array<CaseReader>({
    {"gemm", read_gemm},
    {"batched_gemm", read_batched_gemm},
    {"attention", read_attention},
    {"mla", read_mla},
    {"kv_write", read_kv_write},
    {"topk_routing", read_topk_routing},
    {"fused_moe", read_fused_moe},
    {"state_scan", read_state_scan},
    {"state_convolution", read_state_convolution},
    {"key_indexer", read_key_indexer},
    {"sparse_attention", read_sparse_attention},
    {"hyper_connection", read_hyper_connection},
    {"draft_verification", read_draft_verification},
    {"all_reduce", read_collective<CollectiveOp::all_reduce>},
    {"all_gather", read_collective<CollectiveOp::all_gather>},
    {"reduce_scatter", read_collective<CollectiveOp::reduce_scatter>},
    {"all_to_all", read_collective<CollectiveOp::all_to_all>},
    {"send_recv", read_collective<CollectiveOp::send_recv>},
    {"broadcast", read_collective<CollectiveOp::broadcast>},
    {"expert_dispatch", read_collective<CollectiveOp::expert_dispatch>},
    {"expert_combine", read_collective<CollectiveOp::expert_combine>},
});

/// And those that are read as they describe themselves, in the order of the variant.
template <std::size_t... index>
std::vector<CaseReader> all_readers(std::index_sequence<index...>) {
  std::vector<CaseReader> readers(own_readers.begin(), own_readers.end());
  const auto add = [&]<class Kind>(const Kind*) {
    if constexpr (DescribedKernel<Kind>) {
      if (std::ranges::find(readers, Kind::type_name, &CaseReader::name) == readers.end()) {
        readers.push_back({Kind::type_name, read_described<Kind>});
      }
    }
  };
  (add(static_cast<const std::variant_alternative_t<index, Kernel>*>(nullptr)), ...);
  return readers;
}

const std::vector<CaseReader>& case_readers() {
  static const std::vector<CaseReader> readers =
      all_readers(std::make_index_sequence<std::variant_size_v<Kernel>>());
  return readers;
}

void read_nodes(TableReader& table, const Collective& collective, int& nodes) {
  read_size(table, "nodes", nodes);
  if (nodes > 0) {
    table.expect("nodes", collective.ranks % nodes == 0,
                 fmt::format("must divide ranks ({})", collective.ranks));
  }
}

/// Who runs a collective; the names are checked by who prices it.
void read_communication(TableReader& table, KernelCase& kernel_case) {
  table.read("algorithm", kernel_case.algorithm);
  table.read("framework_version", kernel_case.framework_version);
  table.read("nccl_protocol", kernel_case.nccl_protocol);
}

void read_implementation(TableReader& table, KernelCase& kernel_case) {
  Implementation& implementation = kernel_case.implementation;
  table.read("framework", implementation.framework);
  const bool says_cold = table.read("cold", implementation.is_cold);
  std::string source;
  if (table.read("kernel_source", source) && !source.empty()) {
    if (const auto known = find_kernel_source(source)) {
      implementation.source = *known;
    } else {
      kernel_case.note =
          fmt::format("unknown kernel_source '{}': priced as the framework's own choice", source);
    }
  }
  std::visit(
      [&](auto& kernel) {
        if constexpr (requires { kernel.implementation; }) kernel.implementation = implementation;
      },
      kernel_case.kernel);
  if (says_cold) set_cold(kernel_case.kernel, implementation.is_cold);
}

/// Keys near a known one are misspellings; all others are the caller's own.
void report_misspellings(const Value& object, TableReader& table) {
  constexpr std::size_t letters_min = 4;  // shorter keys are near everything
  const std::vector<std::string_view> known(table.asked().begin(), table.asked().end());
  for (const auto& [key, value] : std::get<ValueObject>(object.data)) {
    if (key.size() < letters_min || std::ranges::find(known, key) != known.end()) continue;
    const std::string_view nearest = nearest_name(key, known);
    if (!nearest.empty()) table.fail(key, fmt::format("unknown key; did you mean '{}'?", nearest));
  }
}

/// The reader for the kernel that the case names.
const CaseReader& reader_for(const Value& object) {
  const Value* name = object.find("kernel");
  if (name == nullptr) {
    throw ConfigError(object.position, fmt::format("'kernel' is missing; one of {}",
                                                   fmt::join(kernel_case_names(), ", ")));
  }
  if (!name->is_string()) {
    throw ConfigError(name->position,
                      fmt::format("kernel: must be a string, not {}", type_name(*name)));
  }
  const auto& text = std::get<std::string>(name->data);
  const auto found = std::ranges::find(case_readers(), text, &CaseReader::name);
  if (found == case_readers().end()) {
    throw ConfigError(name->position, unknown_name_message("kernel", text, kernel_case_names()));
  }
  return *found;
}

}  // namespace

std::vector<std::string_view> kernel_case_names() {
  std::vector<std::string_view> names;
  for (const CaseReader& reader : case_readers()) names.push_back(reader.name);
  return names;
}

KernelCase read_kernel_case(const Value& object) {
  if (!object.is_object()) {
    throw ConfigError(object.position, fmt::format("a case must be an object such as "
                                                   "{{\"kernel\": \"gemm\", …}}, not {}",
                                                   type_name(object)));
  }
  const CaseReader& reader = reader_for(object);
  Diagnostics diagnostics;
  TableReader table(object, diagnostics, std::string(reader.name));
  KernelCase kernel_case;
  table.find("kernel");
  table.find("id");  // the user's own label
  kernel_case.kernel = reader.read(table);
  if (const auto* collective = std::get_if<Collective>(&kernel_case.kernel)) {
    read_nodes(table, *collective, kernel_case.nodes);
    read_communication(table, kernel_case);
  }
  read_implementation(table, kernel_case);
  report_misspellings(object, table);
  diagnostics.throw_if_any();
  return kernel_case;
}

}  // namespace foretoken
