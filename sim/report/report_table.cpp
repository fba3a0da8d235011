// The table that `simulate` prints: the outcome first (requests, throughput, latency, SLO, cost),
// then the reason why (memory, GPU load, where the time went, how it went over time). One section a
// method; sections are separated by blank lines and left out when there is nothing to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/group_text.hpp"
#include "sim/report/latency_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/pool_memory.hpp"
#include "sim/report/report.hpp"
#include "sim/report/request_warnings.hpp"
#include "sim/report/terminal_text.hpp"
#include "sim/report/text_table.hpp"
#include "sim/report/trajectory_text.hpp"

namespace foretoken {
namespace {

constexpr int indent = 2;
constexpr int gap = 2;
constexpr int width_smallest = 40;    // below this nothing readable is left; columns
constexpr int label_min = 13;         // "90 % interval"
constexpr int label_max = 18;         // "fused_add_rms_norm"
constexpr int label_max_narrow = 14;  // on terminals below 80 columns
constexpr int chart_min = 8, chart_max = 60;
constexpr int beside_chart = 6 + 2 + 10;  // "71.2 %", gap, "12,345.6 s"
constexpr std::size_t families_shown = 8;

/// The longest labels of a report are names of kernel families; all sections align to them.
int label_columns(const Report& report, int width) {
  int longest = label_min;
  for (const NamedSeconds& family : report.time_by) {
    longest = std::max(longest, display_width(family.name));
  }
  return std::min(longest, width < 80 ? label_max_narrow : label_max);
}

std::string dollars(double amount) {
  const bool small = amount != 0 && amount < 0.01;
  return fmt::format("${}", small ? brief(amount) : grouped(amount, 2));
}

/// Where the prices of an origin come from, in words.
std::string origin_text(std::string_view origin) {
  if (origin == "learned") return "by the learned predictor";
  if (origin == "analytic") return "by closed formulas";
  if (origin == "measured") return "from measurements";
  return "by " + spelled(origin);
}

/// The upper end of a sparkline: an average of sequences, which often is a whole number.
std::string sequences(double value) {
  return value == std::floor(value) ? grouped(value, 0) : brief(value);
}

/// `seconds` in the unit and with the decimals that suit `longest`, so that a column compares.
std::string in_unit_of(double longest, double seconds) {
  if (longest < 1) return grouped(seconds * 1e3, longest < 0.1 ? 2 : 1) + " ms";
  return grouped(seconds, longest < 100 ? 2 : 1) + " s";
}

class ReportText {
 public:
  ReportText(const Report& report, bool colour, int width)
      : report_(report),
        ink_(colour),
        colour_(colour),
        width_(std::max(width, width_smallest)),
        label_(label_columns(report, width_)),
        chart_(std::clamp(width_ - margin() - gap - beside_chart, chart_min, chart_max)) {}

  [[nodiscard]] std::string text() const {
    std::string result;
    for (const std::string& section :
         {title(), requests() + throughput(), latency_text(report_, label_, layout()) + intervals(),
          group_text(report_, label_, layout()), trajectory_text(report_, label_, layout()),
          objective() + price(), pools(), memory() + load() + speculation(), time_by(),
          over_time()}) {
      if (section.empty()) continue;
      if (!result.empty()) result += '\n';
      result += section;
    }
    return result;
  }

 private:
  /// Columns before the text of a line that has a label.
  [[nodiscard]] int margin() const { return indent + label_ + gap; }
  [[nodiscard]] TextTable::Layout layout() const {
    return {.width = width_, .indent = indent, .gap = gap, .colour = colour_};
  }

  /// "label  part · part · part", wrapped between parts.
  [[nodiscard]] std::string facts(std::string_view label,
                                  const std::vector<std::string>& parts) const {
    constexpr int separator_width = 3;
    std::string result = std::string(indent, ' ') + padded(ink_.quiet(label), label_, Align::left) +
                         std::string(gap, ' ');
    int column = margin();
    for (const std::string& whole : parts) {
      const std::string part = fitted(whole, width_ - margin());
      const int columns = display_width(part);
      if (column > margin() && column + separator_width + columns > width_) {
        result += '\n' + std::string(static_cast<std::size_t>(margin()), ' ');
        column = margin();
      } else if (column > margin()) {
        result += ink_.quiet(" · ");
        column += separator_width;
      }
      result += part;
      column += columns;
    }
    return result + '\n';
  }

  [[nodiscard]] std::string title() const {
    if (report_.title.empty()) return {};
    return std::string(indent, ' ') + ink_.strong(fitted(report_.title, width_ - indent)) + '\n';
  }

  [[nodiscard]] std::string requests() const {
    const Report::Requests& requests = report_.requests;
    std::vector<std::string> parts = {
        fmt::format("{} of {} completed", grouped(requests.completed), grouped(requests.arrived)),
        duration(report_.duration_s) + " simulated"};
    if (requests.completed > 0) parts.push_back(window());
    std::string result = facts("requests", parts);
    std::vector<std::string> warnings = request_warnings(report_);
    for (std::string& warning : warnings) warning = ink_.warning(warning);
    if (!warnings.empty()) result += facts("warning", warnings);
    return result;
  }

  /// What the rates leave out.
  [[nodiscard]] std::string window() const {
    if (!(report_.drain.duration_s > 0)) return "rates over the whole run";
    return fmt::format("rates exclude {} of drain", duration(report_.drain.duration_s));
  }

  [[nodiscard]] std::string throughput() const {
    const auto line = [&](std::string_view label, double share) {
      const Report::Throughput& rates = report_.throughput;
      return facts(label, {brief(rates.requests_per_s * share) + " requests/s",
                           brief(rates.input_tokens_per_s * share) + " input tokens/s",
                           brief(rates.output_tokens_per_s * share) + " output tokens/s"});
    };
    if (report_.gpus <= 1) return line("throughput", 1);
    return line("throughput", 1) + line("per GPU", 1.0 / report_.gpus);
  }

  /// What the error of prices may make of it: a figure that stays as it is says nothing.
  [[nodiscard]] std::string intervals() const {
    if (!report_.intervals || report_.requests.completed == 0) return {};
    std::vector<std::string> parts = latency_intervals(report_);
    const auto tokens = *interval_of(report_, "throughput", "output_tokens_per_s");
    if (brief(tokens.low) != brief(tokens.high)) {
      parts.push_back(fmt::format("{}–{} output tokens/s", brief(tokens.low), brief(tokens.high)));
    }
    const auto met = *interval_of(report_, "slo", "attainment");
    if (!report_.slo.targets.empty() && met.low < met.high) {
      parts.push_back(fmt::format("SLO met by {}–{} %", attained(met.low), attained(met.high)));
    }
    const double width = report_.step_error.half_width(interval_confidence);
    std::string steps = fmt::format("step-time uncertainty ±{}", percent(width));
    if (!report_.step_error.families.empty()) {
      const FamilyError& most = report_.step_error.families.front();
      steps += fmt::format(" ({} is {} of it)", family_title(most.family),
                           percent(most.part() / report_.step_error.mean_absolute()));
    }
    parts.push_back(ink_.quiet("from kernel-price error"));
    parts.push_back(ink_.quiet(steps));
    return facts("90 % interval", parts);
  }

  [[nodiscard]] std::string objective() const {
    const Report::Slo& slo = report_.slo;
    if (slo.targets.empty() || report_.requests.arrived == 0) return {};
    std::vector<std::string> parts = {fmt::format("{} met by {} % of requests (target {:g} %)",
                                                  slo.met ? ink_.good("✓") : ink_.bad("✗"),
                                                  attained(slo.attainment), slo.percentile)};
    for (std::string target : slo.targets) {
      if (const auto sign = target.find("<="); sign != std::string::npos)
        target.replace(sign, 2, "≤");
      parts.push_back(target);
    }
    return facts("SLO", parts) + facts("goodput", {brief(slo.goodput_per_s) + " requests/s"});
  }

  static std::string gpu_hours(const Report::Fleet& fleet) {
    const std::string cost = fleet.cost ? " for " + dollars(*fleet.cost) : "";
    return brief(fleet.gpu_hours) + " GPU hours" + cost;
  }

  static std::string starts(const Report::Fleet& fleet) {
    std::string text = counted(fleet.starts, "start");
    if (fleet.wakes > 0) text += fmt::format(", {} from sleep", grouped(fleet.wakes));
    if (fleet.starts_from_peer > 0)
      text += fmt::format(", {} with a peer's weights", grouped(fleet.starts_from_peer));
    if (fleet.role_switches.value_or(0) > 0)
      text += fmt::format(", {} by changing roles", grouped(*fleet.role_switches));
    return text;
  }

  [[nodiscard]] std::string fleet(std::string_view label, const Report::Fleet& fleet) const {
    std::vector<std::string> parts = {fmt::format("{} serving on average, at most {} up",
                                                  grouped(fleet.serving_mean, 2), fleet.up_max),
                                      gpu_hours(fleet)};
    if (fleet.starts > 0) parts.push_back(starts(fleet));
    if (fleet.failures > 0) parts.push_back(ink_.warning(counted(fleet.failures, "failure")));
    return facts(label, parts);
  }

  [[nodiscard]] std::string fleets() const {
    if (!report_.fleet) return {};
    if (report_.pools.empty()) return fleet("replicas", *report_.fleet);
    std::string result = facts("replicas", {gpu_hours(*report_.fleet) + " in total"});
    for (const Report::Pool& pool : report_.pools) {
      result += fleet(fitted("  " + pool.name, label_), *pool.fleet);
    }
    return result;
  }

  [[nodiscard]] std::string price() const {
    std::string result = fleets();
    if (report_.cost) {
      std::vector<std::string> parts = {dollars(report_.cost->per_hour) + " an hour"};
      if (const auto& tokens = report_.cost->per_million_output_tokens) {
        parts.push_back(dollars(*tokens) + " per million output tokens");
      }
      result += facts("cost", parts);
    }
    if (report_.energy_j_per_token) {
      std::vector<std::string> parts = {brief(*report_.energy_j_per_token) + " J per output token"};
      if (report_.energy) parts.push_back(brief(report_.energy->per_request_j) + " J per request");
      result += facts("energy", parts);
    }
    return result;
  }

  /// Each pool's load, and how KV caches got from one to the other.
  [[nodiscard]] std::string pools() const {
    if (report_.pools.empty()) return {};
    TextTable table({{"pool", Align::left, label_},
                     {"role", Align::left},
                     {"GPUs", Align::left, 0, true},
                     {"busy", Align::right},
                     {"batch", Align::right},
                     {"KV peak", Align::right},
                     {"KV mean", Align::right},
                     {"an hour", Align::right}});
    for (const Report::Pool& pool : report_.pools) {
      table.add_row({fitted(pool.name, label_), pool.role,
                     fmt::format("{} x {}", pool.gpus, pool.gpu), percent(pool.gpu_busy),
                     grouped(pool.batch_mean, 1), percent(pool.kv_peak), percent(pool.kv_mean),
                     pool.cost_per_hour ? dollars(*pool.cost_per_hour) : "-"});
    }
    TextTable::Layout with_names = layout();
    with_names.kept = 1;
    std::string result = table.text(with_names);
    if (!report_.kv_transfers) return result;
    const Report::KvTransfers& transfers = *report_.kv_transfers;
    const auto times = [](const LatencyRow& row) {
      return fmt::format("{} ms mean, {} p50, {} p99, {} max", brief(row.mean), brief(row.p50),
                         brief(row.p99), brief(row.max));
    };
    const double each = transfers.count > 0 ? transfers.bytes / transfers.count : 0.0;
    std::vector<std::string> parts = {grouped(transfers.count),
                                      readable(Bytes(transfers.bytes)) + " in total",
                                      readable(Bytes(each)) + " each"};
    if (transfers.local > 0)
      parts.push_back(grouped(transfers.local) + " prompts prefilled on decode replicas");
    if (transfers.kept.value_or(0) > 0)
      parts.push_back(grouped(*transfers.kept) + " resent after decode replicas failed");
    if (transfers.recomputed.value_or(0) > 0)
      parts.push_back(grouped(*transfers.recomputed) +
                      " recomputed on decode replicas after prefill replicas failed");
    result += '\n' + facts("KV transfers", parts);
    result += facts("  taking", {times(transfers.transfer_ms)});
    result += facts("  after prefill", {times(transfers.exposed_ms)});
    return result + facts("  awaiting space", {times(transfers.wait_ms)});
  }

  [[nodiscard]] std::string memory() const {
    std::string result;
    if (const Report::Kv& kv = report_.kv; kv.blocks > 0) {
      const std::string preemptions = kv.preemptions > 0
                                          ? ink_.warning(counted(kv.preemptions, "preemption"))
                                          : "no preemptions";
      const bool replicas =
          std::ranges::any_of(report_.rows, [](const RequestRow& row) { return row.replica > 0; });
      std::vector<std::string> parts = {
          fmt::format("peak {}", percent(kv.peak)), fmt::format("mean {}", percent(kv.mean)),
          fmt::format("{} × {} = {} tokens{}", grouped(kv.blocks), kv.block_tokens,
                      grouped(kv.blocks * kv.block_tokens), replicas ? " per replica" : ""),
          preemptions};
      if (const std::string pool = kv_pool(report_); !pool.empty())
        parts.insert(parts.begin(), "of " + pool);
      result += facts("KV cache", parts);
      if (kv.state_bytes > 0) {
        result += facts(
            "state", {readable(Bytes(kv.state_bytes)) + " per sequence and GPU", "in KV blocks"});
      }
      if (kv.prefix_hit_rate) {
        std::vector<std::string> parts = {percent(*kv.prefix_hit_rate) + " of prompt tokens found"};
        const double elsewhere = kv.host_hit_rate.value_or(0) + kv.store_hit_rate.value_or(0);
        if (kv.host_hit_rate || kv.store_hit_rate)
          parts.push_back(percent(*kv.prefix_hit_rate - elsewhere) + " on the GPU");
        if (kv.host_hit_rate) parts.push_back(percent(*kv.host_hit_rate) + " on the host");
        if (kv.store_hit_rate) parts.push_back(percent(*kv.store_hit_rate) + " in the store");
        result += facts("prefix cache", parts);
      }
      if (kv.host) result += host();
      if (kv.store) result += store();
    }
    if (!report_.memory_bytes.empty()) result += gpu_memory();
    if (report_.sides) result += facts("of experts", memory_parts(report_.sides->memory_bytes));
    return result;
  }

  [[nodiscard]] std::string gpu_memory() const {
    std::string result;
    for (const PoolMemory& memory : pool_memories(report_)) {
      std::vector<std::string> parts = memory_parts(memory.pieces);
      if (!memory.pool.empty()) parts.insert(parts.begin(), "of " + memory.pool);
      result += facts(result.empty() ? "GPU memory" : "", parts);
    }
    return result;
  }

  [[nodiscard]] std::string host() const {
    const Report::HostKv& host = *report_.kv.host;
    const auto size = [](double bytes) { return readable(Bytes(bytes)); };
    std::vector<std::string> parts = {size(host.bytes), fmt::format("peak {}", percent(host.peak)),
                                      size(host.bytes_to_host) + " copied out",
                                      size(host.bytes_from_host) + " back"};
    if (host.swaps > 0) parts.push_back(counted(host.swaps, "swap"));
    return facts("host KV", parts);
  }

  [[nodiscard]] std::string store() const {
    const Report::KvStore& store = *report_.kv.store;
    const auto size = [](double bytes) { return readable(Bytes(bytes)); };
    return facts("KV store",
                 {size(store.bytes) + (store.shared ? " shared" : ""),
                  fmt::format("peak {}", percent(store.peak)),
                  size(store.bytes_written) + " written", size(store.bytes_read) + " read"});
  }

  [[nodiscard]] std::string load() const {
    std::string result =
        facts("GPU busy",
              {percent(report_.gpu_busy) + " of the time", counted(report_.iterations, "iteration"),
               fmt::format("batch mean {}, max {}", grouped(report_.batch_mean, 1),
                           grouped(report_.batch_max))});
    if (report_.sides) result += facts("experts apart", side_parts(*report_.sides));
    if (report_.experts) result += facts("expert routing", expert_parts(*report_.experts));
    if (report_.images) result += facts("images", media_parts(*report_.images));
    if (report_.audio) result += facts("audio", media_parts(*report_.audio));
    if (report_.adapters) result += facts("adapters", adapter_parts(*report_.adapters));
    if (const auto& host = report_.host; host && report_.iterations > 0) {
      const auto steps = static_cast<double>(report_.iterations);
      result += facts("host", {in_unit_of(1e-3, host->work_s / steps) + " of CPU time per step",
                               percent(1.0 - host->exposed_s / host->work_s) + " of it hidden",
                               "GPUs waited for " + duration(host->exposed_s)});
    }
    result += network();
    if (!report_.origins.empty()) result += facts("kernel prices", prices());
    return result;
  }

  /// Where prices of kernels come from: all, or by share.
  [[nodiscard]] std::vector<std::string> prices() const {
    std::int64_t all = 0;
    for (const NamedCount& origin : report_.origins) all += origin.count;
    std::vector<std::string> parts;
    for (const NamedCount& origin : report_.origins) {
      const std::string share =
          report_.origins.size() == 1
              ? "all"
              : percent(static_cast<double>(origin.count) / static_cast<double>(all));
      parts.push_back(fmt::format("{} {}", share, origin_text(origin.name)));
    }
    return parts;
  }

  [[nodiscard]] std::string network() const {
    if (!report_.network) return {};
    const Report::Network& network = *report_.network;
    std::vector<std::string> parts = {counted(network.flows, "flow") + " simulated"};
    if (network.alone + network.met > 0)
      parts.push_back(fmt::format("{} of {} step collectives met other traffic",
                                  grouped(network.met), grouped(network.alone + network.met)));
    if (network.priced > 0) parts.push_back(grouped(network.priced) + " priced in closed form");
    if (network.contention_by.empty()) {
      parts.emplace_back("no contention");
    } else {
      parts.push_back(fmt::format("contention cost {}, most of it on {}",
                                  duration(network.contention_s),
                                  network.contention_by.front().name));
    }
    return facts("network", parts);
  }

  [[nodiscard]] std::string speculation() const {
    if (!report_.speculation) return {};
    const Report::Speculation& speculation = *report_.speculation;
    std::string by_position;
    for (const double share : speculation.accepted_by_position) {
      by_position += (by_position.empty() ? "" : ", ") + percent(share);
    }
    std::vector<std::string> parts = {
        fmt::format("{} by {}", counted(speculation.drafts, "draft"), spelled(speculation.method)),
        fmt::format("{} tokens per verification", grouped(speculation.acceptance_length, 2)),
        fmt::format("accepted {}", by_position)};
    if (speculation.draft_share > 0) {
      parts.push_back(fmt::format("drafting {} of GPU time", percent(speculation.draft_share)));
    }
    return facts("speculation", parts);
  }

  /// The kernel families to show: the largest, and one for all others where there are many.
  [[nodiscard]] std::vector<NamedSeconds> families() const {
    std::vector<NamedSeconds> shown = report_.time_by;
    if (shown.size() <= families_shown + 1) return shown;
    const std::size_t others = shown.size() - families_shown;
    NamedSeconds rest{fmt::format("{} others", others)};
    for (std::size_t i = families_shown; i < shown.size(); ++i) rest.seconds += shown[i].seconds;
    shown.resize(families_shown);
    shown.push_back(rest);
    return shown;
  }

  [[nodiscard]] std::string time_by() const {
    double total = 0, longest = 0;
    const std::vector<NamedSeconds> shown = families();
    for (const NamedSeconds& family : shown) {
      total += family.seconds;
      longest = std::max(longest, family.seconds);
    }
    if (!(total > 0)) return {};
    TextTable table({{"", Align::left, label_},
                     {"", Align::left, chart_},
                     {"", Align::right, 0},
                     {"", Align::right, 0}});
    for (const NamedSeconds& family : shown) {
      table.add_row({fitted(family.name, label_), ink_.chart(bar(family.seconds / longest, chart_)),
                     percent(family.seconds / total), in_unit_of(longest, family.seconds)});
    }
    return std::string(indent, ' ') + ink_.strong("where the time went") + '\n' +
           table.text(layout());
  }

  [[nodiscard]] std::string over_time() const {
    if (report_.timeline.empty()) return {};
    const std::string begin = duration(report_.timeline.front().time_s);
    const std::string end = duration(report_.timeline.back().time_s + report_.timeline_interval_s);
    const std::string axis = begin + padded(end, chart_ - display_width(begin), Align::right);
    TextTable table({{"over time", Align::left, label_}, {axis, Align::left, chart_}, {}});
    const auto add = [&](std::string_view name, double TimelinePoint::*figure, auto scale_text) {
      std::vector<double> values;
      for (const TimelinePoint& point : report_.timeline) values.push_back(point.*figure);
      const double top = std::ranges::max(values);
      table.add_row({std::string(name), ink_.chart(sparkline(values, chart_)),
                     ink_.quiet(top > 0 ? fmt::format("0 to {}", scale_text(top)) : "0")});
    };
    add("running", &TimelinePoint::running, sequences);
    add("waiting", &TimelinePoint::waiting, sequences);
    add("KV in use", &TimelinePoint::kv_used, percent);
    if (report_.fleet) add("replicas", &TimelinePoint::replicas, sequences);
    return table.text(layout());
  }

  const Report& report_;
  Ink ink_;
  bool colour_;
  int width_, label_, chart_;
};

}  // namespace

std::string report_table(const Report& report, bool colour, int width) {
  return ReportText(report, colour, width).text();
}

}  // namespace foretoken
