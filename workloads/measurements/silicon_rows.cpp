// AIConfigurator's tables of "silicon" runs: sizes of the server in columns, the number of users
// and the source in text. Sizes are of one worker; disaggregated servers have them twice.
#include <algorithm>
#include <charconv>
#include <string_view>

#include "workloads/measurements/closed_loop_rows.hpp"

namespace foretoken {
namespace {

constexpr int gpus_per_node = 8;  // of every server whose sizes may be multiplied twice

/// The value of "key=value" among parts separated by "; "; "" if there is none.
std::string_view part(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    std::string_view pair = text.substr(at, end - at);
    pair.remove_prefix(std::min(pair.find_first_not_of(' '), pair.size()));
    if (pair.starts_with(key) && pair.substr(key.size()).starts_with('=')) {
      return pair.substr(key.size() + 1);
    }
    at = end + 1;
  }
  return {};
}

/// The file or database that the row was collected from.
std::string source_of(std::string_view text) {
  const std::string_view file = part(text, "source_file");
  return std::string(file.empty() ? text.substr(0, text.find(';')) : file);
}

int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "ep8" in "…_tp8_ep8_2": what a name says where the columns do not; 1 if nothing.
int experts_in_name(std::string_view id) {
  const std::size_t at = id.rfind("_ep");
  return at == std::string_view::npos ? 1 : std::max(1, leading_number(id.substr(at + 3)));
}

/// The columns that say how one kind of worker is spread: "", "prefill_" or "decode_" before them.
class LayoutColumns {
 public:
  LayoutColumns(const CsvRows& rows, const std::string& prefix)
      : rows_(rows),
        tensor_(rows.find(prefix + "tp_size")),
        pipeline_(rows.find(prefix + "pp_size")),
        attention_(rows.find(prefix + "attention_dp_size")),
        moe_tensor_(rows.find(prefix + "moe_tp_size")),
        moe_expert_(rows.find(prefix + "moe_ep_size")),
        workers_(rows.find(prefix + "num_workers")),
        batch_(rows.find(prefix + "batch_size")) {}

  [[nodiscard]] int workers() const { return number(workers_); }
  [[nodiscard]] int batch() const { return number(batch_); }
  [[nodiscard]] bool says_attention_ranks() const { return number(attention_) > 1; }

  [[nodiscard]] MeasuredLayout layout(std::string_view id) const {
    MeasuredLayout layout;
    layout.tensor = std::max(1, number(tensor_));
    layout.pipeline = std::max(1, number(pipeline_));
    layout.attention_ranks = std::max(1, number(attention_));
    layout.experts = number(moe_expert_) > 0 ? number(moe_expert_) : experts_in_name(id);
    layout.workers = std::max(1, workers());
    settle_ranks(layout, std::max(1, number(moe_tensor_)));
    return layout;
  }

 private:
  /// An empty cell is 0: not said.
  [[nodiscard]] int number(int column) const {
    if (column < 0 || rows_.text(column).empty()) return 0;
    const std::int64_t value = rows_.integer(column);
    if (value < 0 || value > 1'000'000) {
      throw NoPoint{fmt::format("{} = {} is not a size",
                                rows_.columns()[static_cast<std::size_t>(column)], value)};
    }
    return static_cast<int>(value);
  }

  /// The experts' ranks are the stage's: tables leave the attention's out, or multiply them in.
  static void settle_ranks(MeasuredLayout& layout, int moe_tensor) {
    constexpr std::int64_t stage_max = 1'000'000;
    const std::int64_t ranks = std::int64_t{moe_tensor} * layout.experts;
    if (ranks > stage_max) throw NoPoint{"its experts take more than 1,000,000 GPUs"};
    const auto stage = static_cast<int>(ranks);
    const int widest = std::max(layout.tensor, layout.attention_ranks);
    if (widest > gpus_per_node && moe_tensor > 1 && layout.experts > 1) {
      throw NoPoint{"its TP size is tensor times expert parallelism"};
    }
    if (stage <= 1 || std::int64_t{layout.tensor} * layout.attention_ranks == stage) return;
    if (layout.attention_ranks == 1) {
      if (stage > layout.tensor && stage % layout.tensor == 0)
        layout.attention_ranks = stage / layout.tensor;
    } else if (layout.tensor == stage && layout.tensor % layout.attention_ranks == 0) {
      layout.tensor /= layout.attention_ranks;  // SGLang counts all ranks as tensor parallel
    }
  }

  const CsvRows& rows_;
  int tensor_, pipeline_, attention_, moe_tensor_, moe_expert_, workers_, batch_;
};

class SiliconReader final : public ClosedLoopReader {
 public:
  explicit SiliconReader(const CsvRows& rows)
      : rows_(rows), whole_(rows, ""), prefill_(rows, "prefill_"), decode_(rows, "decode_") {}

  [[nodiscard]] ClosedLoopPoint read() const override {
    ClosedLoopPoint point;
    point.id = id();
    point.position = rows_.position();
    point.source = source_of(rows_.text(source_));
    point.day =
        part(rows_.text(source_), "measured").substr(0, std::string_view("2026-01-14").size());
    point.engine = rows_.text(engine_);
    point.version = rows_.text(version_);
    point.model = rows_.text(model_);
    point.system = rows_.text(system_);
    point.gemm_format = rows_.text(gemm_);
    point.moe_format = rows_.text(moe_);
    point.prompt_tokens = positive_cell(rows_, prompt_);
    point.output_tokens = positive_cell(rows_, output_);
    point.ttft_ms = latency_cell(rows_, ttft_, 1);
    point.tpot_ms = latency_cell(rows_, tpot_, 1);
    read_layout(point);
    return point;
  }

  [[nodiscard]] std::string id() const override { return std::string(rows_.text(id_)); }

 private:
  static int users_of(std::int64_t users) {
    if (users > 1'000'000) throw NoPoint{"it has more than 1,000,000 users"};
    return static_cast<int>(users);
  }

  void read_layout(ClosedLoopPoint& point) const {
    point.users = leading_number(part(rows_.text(source_), "silicon_concurrency"));
    if (point.users < 1) throw NoPoint{"the number of users is missing"};
    if (mode_ >= 0 && rows_.text(mode_) == "disagg") {
      if (prefill_.workers() < 1 || decode_.workers() < 1) {
        throw NoPoint{"the numbers of prefill and decode workers are missing"};
      }
      point.prefill = prefill_.layout("");
      point.layout = decode_.layout("");
      return;
    }
    point.layout = whole_.layout(point.id);
    const std::int64_t batch = whole_.batch();
    if (batch != point.users && batch * point.layout.attention_ranks != point.users) {
      throw NoPoint{"the number of users of one server is missing"};
    }
    // A batch is an attention rank's, and a row that leaves the ranks out takes it for all users':
    // with as many a rank, TPOT of 19 such rows is 5 % off at the median, else 17.
    if (!whole_.says_attention_ranks() && batch == point.users)
      point.users = users_of(batch * point.layout.attention_ranks);
  }

  const CsvRows& rows_;
  LayoutColumns whole_, prefill_, decode_;
  int id_ = rows_.column("id"), source_ = rows_.column("silicon_data_source");
  int engine_ = rows_.column("backend"), version_ = rows_.column("backend_version");
  int model_ = rows_.column("model_path"), system_ = rows_.column("system");
  int mode_ = rows_.find("mode");
  int gemm_ = rows_.column("gemm_quant_mode"), moe_ = rows_.column("moe_quant_mode");
  int prompt_ = rows_.column("isl"), output_ = rows_.column("osl");
  int ttft_ = rows_.column("silicon_ttft_ms"), tpot_ = rows_.column("silicon_tpot_ms");
};

}  // namespace

std::unique_ptr<ClosedLoopReader> silicon_reader(const CsvRows& rows) {
  if (rows.find("silicon_ttft_ms") < 0) return nullptr;
  return std::make_unique<SiliconReader>(rows);
}

}  // namespace foretoken
