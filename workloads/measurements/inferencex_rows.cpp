// InferenceX's results (utils/process_result.py and its database's export): times in seconds, sizes
// in the columns tp, ep and dp_attention, or in one word: tp8, tep8 (experts spread over the same
// ranks), dep8 (attention ranks of one GPU each).
#include <algorithm>
#include <charconv>
#include <string_view>

#include "workloads/measurements/closed_loop_rows.hpp"

namespace foretoken {
namespace {

constexpr double ms = 1e3;  // of a second

/// The first of several columns that is there, or -1.
int any_column(const CsvRows& rows, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const int column = rows.find(name); column >= 0) return column;
  }
  return -1;
}

bool says_yes(std::string_view text) {
  return text == "true" || text == "True" || text == "t" || text == "1";
}

class InferenceXReader final : public ClosedLoopReader {
 public:
  explicit InferenceXReader(const CsvRows& rows)
      : rows_(rows), is_median_(rows.find("mean_ttft") < 0) {
    const auto time = [&](std::string_view name) {
      return rows.column(fmt::format("{}_{}", is_median_ ? "median" : "mean", name));
    };
    ttft_ = time("ttft");
    tpot_ = time("tpot");
  }

  [[nodiscard]] ClosedLoopPoint read() const override {
    ClosedLoopPoint point;
    point.id = id();
    point.position = rows_.position();
    point.source = point.day = text(date_);
    point.model = rows_.text(model_);
    point.system = text(gpu_);
    point.engine = engine_ < 0 ? "vllm" : text(engine_);  // whose client writes such files
    point.version = text(version_);
    point.gemm_format = point.moe_format = text(precision_);
    point.prompt_tokens = positive_cell(rows_, prompt_);
    point.output_tokens = positive_cell(rows_, output_);
    if (users_ < 0) throw NoPoint{"the number of users is missing"};
    point.users = positive_cell(rows_, users_);
    if (requests_ >= 0) point.requests = positive_cell(rows_, requests_);
    point.is_median = is_median_;
    point.ttft_ms = latency_cell(rows_, ttft_, ms);
    point.tpot_ms = latency_cell(rows_, tpot_, ms);
    read_layout(point.layout);
    return point;
  }

  [[nodiscard]] std::string id() const override {
    return fmt::format("{} {} line {}", text(date_), text(parallel_), rows_.position().line);
  }

 private:
  [[nodiscard]] std::string text(int column) const {
    return column < 0 ? "" : std::string(rows_.text(column));
  }

  void read_layout(MeasuredLayout& layout) const {
    if (parallel_ >= 0) return read_word(rows_.text(parallel_), layout);
    if (tensor_ < 0) throw NoPoint{"the layout is missing"};
    layout.tensor = positive_cell(rows_, tensor_);
    if (experts_ >= 0 && !rows_.text(experts_).empty()) {
      layout.experts = positive_cell(rows_, experts_);
    }
    if (says_yes(text(attention_))) std::swap(layout.tensor, layout.attention_ranks);
  }

  /// "tp8", "tep8", "dep8"
  static void read_word(std::string_view word, MeasuredLayout& layout) {
    const std::size_t digits = std::min(word.find_first_of("0123456789"), word.size());
    const std::string_view kind = word.substr(0, digits);
    int gpus = 0;
    std::from_chars(word.data() + digits, word.data() + word.size(), gpus);
    if (gpus < 1 || (kind != "tp" && kind != "tep" && kind != "dep")) {
      throw NoPoint{fmt::format("its layout \"{}\" is none of tp, tep, dep and a number", word)};
    }
    (kind == "dep" ? layout.attention_ranks : layout.tensor) = gpus;
    if (kind != "tp") layout.experts = gpus;
  }

  const CsvRows& rows_;
  bool is_median_;
  int model_ = rows_.column("model");
  int gpu_ = any_column(rows_, {"gpu", "hw", "hardware"});
  int engine_ = rows_.find("framework"), version_ = rows_.find("framework_version");
  int precision_ = rows_.find("precision");
  int parallel_ = rows_.find("parallel");
  int tensor_ = rows_.find("tp"), experts_ = rows_.find("ep");
  int attention_ = rows_.find("dp_attention");
  int prompt_ = rows_.column("isl"), output_ = rows_.column("osl");
  int users_ = any_column(rows_, {"max_concurrency", "conc", "concurrency"});
  int requests_ = rows_.find("num_prompts"), date_ = rows_.find("date");
  int ttft_ = -1, tpot_ = -1;
};

}  // namespace

std::unique_ptr<ClosedLoopReader> inferencex_reader(const CsvRows& rows) {
  if (rows.find("mean_ttft") < 0 && rows.find("median_ttft") < 0) return nullptr;
  return std::make_unique<InferenceXReader>(rows);
}

}  // namespace foretoken
