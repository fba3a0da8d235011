// h200_flashinfer: launches of FlashInfer's own kernels on one H200, L2 cold, inside a CUDA graph,
// with batches of unequal sequences. `spec` is "key=value;…" with lists "a|b*count|…".
#include <charconv>

#include "calibration/datasets/importer.hpp"

namespace foretoken {
namespace {

class Spec {
 public:
  Spec(std::string_view text, SourcePosition position)
      : text_(text), position_(std::move(position)) {}

  [[nodiscard]] std::int64_t integer(std::string_view key) const { return parse(value(key)); }

  /// "7|3*2" → 7, 3, 3.
  [[nodiscard]] std::vector<std::int64_t> list(std::string_view key) const {
    std::vector<std::int64_t> numbers;
    std::string_view rest = value(key);
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find('|'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      const std::size_t star = part.find('*');
      const std::int64_t count = star == std::string_view::npos ? 1 : parse(part.substr(star + 1));
      numbers.insert(numbers.end(), static_cast<std::size_t>(count), parse(part.substr(0, star)));
    }
    return numbers;
  }

 private:
  [[nodiscard]] std::string_view value(std::string_view key) const {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::string_view pair = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
      if (pair.size() > key.size() && pair.starts_with(key) && pair[key.size()] == '=') {
        return pair.substr(key.size() + 1);
      }
    }
    throw ConfigError(position_, fmt::format("spec has no '{}'", key));
  }

  [[nodiscard]] std::int64_t parse(std::string_view text) const {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw ConfigError(position_, fmt::format("spec: '{}' is not an integer", text));
    }
    return number;
  }

  std::string_view text_;
  SourcePosition position_;
};

struct AttentionKind {
  std::string_view kernel;
  KernelSource source;
  bool is_decode;
};
constexpr auto attention_kinds = std::to_array<AttentionKind>({
    {"decode", KernelSource::flashinfer_decode, true},
    {"decode_tc", KernelSource::flashinfer_decode_tc, true},
    {"prefill_paged", KernelSource::flashinfer_fa2, false},
    {"prefill_ragged", KernelSource::flashinfer_fa2, false},
    {"prefill_fa3_paged", KernelSource::flashinfer_fa3, false},
    {"prefill_fa3_ragged", KernelSource::flashinfer_fa3, false},
});

Attention read_attention(const AttentionKind& kind, const Spec& spec) {
  Attention attention;
  attention.query_heads = static_cast<int>(spec.integer("nh"));
  attention.kv_heads = static_cast<int>(spec.integer("nkv"));
  attention.head_dim = static_cast<int>(spec.integer("hd"));
  // A ragged cache is one run a sequence: what a page of one token stands for.
  attention.page_tokens =
      kind.kernel.ends_with("ragged") ? 1 : static_cast<int>(spec.integer("page"));
  const std::vector<std::int64_t> contexts = spec.list("kv");
  const std::vector<std::int64_t> queries =
      kind.is_decode ? std::vector<std::int64_t>(contexts.size(), 1) : spec.list("q");
  std::vector<SequenceSlice> slices;
  for (std::size_t i = 0; i < contexts.size(); ++i) slices.push_back({queries.at(i), contexts[i]});
  attention.load = AttentionLoad::exact(std::move(slices));
  attention.implementation = {Framework::pytorch, kind.source, true};
  return attention;
}

std::optional<Kernel> read_kernel(std::string_view name, const Spec& spec) {
  for (const AttentionKind& kind : attention_kinds) {
    if (kind.kernel == name) return read_attention(kind, spec);
  }
  if (name == "rmsnorm") return RmsNorm{spec.integer("rows"), spec.integer("d"), DType::bf16};
  if (name == "fused_add_rmsnorm") {
    return FusedAddRmsNorm{spec.integer("rows"), spec.integer("d"), DType::bf16};
  }
  if (name == "silu_and_mul")
    return SiluAndMul{spec.integer("rows"), spec.integer("d"), DType::bf16};
  return std::nullopt;  // the empty kernel
}

}  // namespace

void import_flashinfer(const MeasuredFile& file, SampleSink& sink) {
  CsvRows rows(file.path);
  const int name = rows.column("kernel"), time = rows.column("median_us"),
            spec = rows.column("spec");
  while (rows.next()) {
    auto kernel = read_kernel(rows.text(name), Spec(rows.text(spec), rows.position()));
    if (!kernel) continue;
    std::string layout = kernel_layout(*kernel);
    sink.add({std::move(*kernel), file.gpu, Seconds(rows.number(time) * 1e-6),
              "flashinfer " + std::string(rows.text(name)), "flashinfer_h200", std::move(layout)});
  }
}

}  // namespace foretoken
