#include "calibration/evaluate/step_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/cluster.hpp"
#include "kernels/communication/collective_cost.hpp"

namespace foretoken {
namespace {

/// Of one call, by NCCL as the executor makes it. The ranks of a step sit in the GPU's usual
/// chassis.
double collective_price(const Collective& collective, const GpuSpec& gpu, bool has_multicast) {
  const ClusterSpec cluster = usual_cluster(gpu, collective.ranks);
  std::vector<GpuId> group(static_cast<std::size_t>(collective.ranks));
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = {static_cast<std::uint32_t>(i)};
  CollectiveCall call = call_of(collective, CommSettings{cluster.comm});
  call.algorithm = "nccl";  // no engine's own kernels
  call.reduces_in_switch = has_multicast;
  call.in_step = true;
  return collective_time(call, group_links(cluster, group), cluster.comm).value();
}

/// Steps whose ranks really ran beside each other.
constexpr std::string_view with_nccl = "ranks with NCCL";

using RoleTimes = std::map<std::string, double, std::less<>>;  // seconds

RoleTimes role_times(const KernelSequence& kernels, const GpuSpec& gpu,
                     const StepReport::Price& price, bool has_multicast) {
  RoleTimes times;
  for (const KernelCall& call : kernels) {
    const auto* collective = std::get_if<Collective>(&call.kernel);
    const double one = collective != nullptr ? collective_price(*collective, gpu, has_multicast)
                                             : price(call.kernel, gpu);
    times[std::string(call.role)] += call.calls * one;
  }
  return times;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

/// Numbers right, the first column left, one line a row.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

ValueArray each_value(const std::vector<StepReport::Each>& all) {
  ValueArray values;
  for (const StepReport::Each& one : all) {
    Value roles;
    for (std::size_t i = 0; i < one.roles.size(); ++i) {
      roles.set(one.step.roles[i].name, ValueObject{{"measured_s", one.step.roles[i].time.value()},
                                                    {"predicted_s", one.roles[i].value()}});
    }
    values.emplace_back(ValueObject{{"file", one.step.file},
                                    {"model", one.step.model},
                                    {"tp", one.step.layout.tensor},
                                    {"phase", one.step.phase},
                                    {"prefill", one.step.prefill},
                                    {"decode", one.step.decode},
                                    {"measured_s", one.step.gpu_time.value()},
                                    {"predicted_s", one.predicted.value()},
                                    {"roles", std::move(roles)}});
  }
  return values;
}

double sum_of(const RoleTimes& times) {
  double sum = 0;
  for (const auto& [role, time] : times) sum += time;
  return sum;
}

std::vector<std::string> names_of(const std::vector<StepReport::NamedPrice>& predictors) {
  std::vector<std::string> names;
  for (const auto& [name, price] : predictors) names.push_back(name);
  return names;
}

Value score_value(const Score& score) {
  return ValueObject{{"rows", static_cast<std::int64_t>(score.rows)},
                     {"median", score.median},
                     {"mape", score.mape},
                     {"p90", score.p90},
                     {"bias", score.bias}};
}

}  // namespace

StepReport::StepReport(const std::vector<ExecutedStep>& steps,
                       const std::vector<NamedPrice>& predictors)
    : predictors_(names_of(predictors)), runs_(predictors_) {
  std::map<std::string, Transformer> models;
  std::map<std::string, GpuSpec> gpus;
  for (const ExecutedStep& step : steps) {
    const SourcePosition asked_at = {step.file};
    if (!models.contains(step.model)) models.emplace(step.model, load_model(step.model, asked_at));
    if (!gpus.contains(step.gpu)) gpus.emplace(step.gpu, load_gpu(step.gpu, asked_at));
    Diagnostics diagnostics;
    check_layout(models.at(step.model), step.layout, asked_at, diagnostics);
    diagnostics.throw_if_any();
    judge(step, models.at(step.model), gpus.at(step.gpu), predictors);
  }
}

void StepReport::judge(const ExecutedStep& step, const Transformer& model, const GpuSpec& gpu,
                       const std::vector<NamedPrice>& prices) {
  const KernelSequence kernels = kernels_of(step, model);
  if (!step.run.empty()) {
    std::vector<Seconds> predicted;
    for (const auto& [name, price] : prices) {
      predicted.emplace_back(sum_of(role_times(kernels, gpu, price, step.has_multicast)));
    }
    return runs_.add(step, predicted);
  }
  graph_host_us_.push_back(step.graph_host.value() * 1e6);
  if (step.launches > 0) eager_host_us_.push_back(step.eager_host.value() * 1e6 / step.launches);
  const std::string layout = fmt::format("{} TP{}", step.model, step.layout.tensor);
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const RoleTimes times = role_times(kernels, gpu, prices[i].second, step.has_multicast);
    const double sum = sum_of(times);
    if (i == 0) each_.push_back({step, Seconds(sum), {}});
    const auto add = [&](Line& to, double predicted, Seconds measured) {
      to.boards[i].add(predicted, measured.value());
      if (i > 0) return;
      to.predicted += Seconds(predicted);
      to.measured += measured;
    };
    std::vector<std::string> groups = {"all", layout};
    if (step.ranks > 1) groups.insert(groups.begin() + 1, std::string(with_nccl));
    for (const std::string& group : groups) {
      for (const std::string& phase : {std::string(), step.phase}) {
        add(line(steps_, group, phase), sum, step.gpu_time);
      }
    }
    if (step.rested_time) {
      for (const std::string& phase : {std::string(), step.phase}) {
        add(line(steps_, "rested", phase), sum, *step.rested_time);
      }
    }
    for (const ExecutedStep::Role& role : step.roles) {
      if (i == 0) {
        const auto time = times.find(role.name);
        each_.back().roles.emplace_back(time == times.end() ? 0 : time->second);
      }
      for (const std::string& phase : {std::string(), step.phase}) {
        Line& to = line(roles_, role.name, phase);
        if (const auto time = times.find(role.name); time != times.end()) {
          add(to, time->second, role.time);
        } else if (i == 0) {
          to.measured += role.time;
        }
      }
    }
  }
  for (const KernelCall& call : kernels) {
    for (Line& role : roles_) {
      if (role.group == call.role) role.kernel = kernel_name(call.kernel);
    }
  }
}

StepReport::Line& StepReport::line(std::vector<Line>& lines, const std::string& group,
                                   const std::string& phase) {
  const auto found = std::ranges::find_if(
      lines, [&](const Line& one) { return one.group == group && one.phase == phase; });
  if (found != lines.end()) return *found;
  // Phases of a group stand together.
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [&](const Line& one) { return one.group == group; });
  Line added{group, phase, "", std::vector<ScoreBoard>(predictors_.size()), {}, {}};
  return *lines.insert(last.base() == lines.begin() ? lines.end() : last.base(), std::move(added));
}

std::string StepReport::text(const StepReportText& options) const {
  const auto add_errors = [&](const Line& line, std::vector<std::string>& row) {
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      const Score score = line.boards[i].score();
      const bool is_detailed = i == 0 || options.with_details;
      if (score.rows == 0) {
        row.insert(row.end(), is_detailed ? 4 : 1, "");
        continue;
      }
      row.push_back(percent(score.median));
      if (!is_detailed) continue;
      for (const double value : {score.mape, score.p90, score.bias}) row.push_back(percent(value));
    }
  };
  const auto header = [&](std::vector<std::string> row) {
    for (std::size_t i = 0; i < predictors_.size(); ++i) {
      row.push_back(predictors_[i] + " %");
      if (i == 0 || options.with_details) row.insert(row.end(), {"mean", "p90", "bias"});
    }
    return row;
  };
  const auto name = [](const Line& line) {
    return line.phase.empty() ? line.group : line.group + ", " + line.phase;
  };
  std::vector<std::vector<std::string>> rows = {header({"median error of steps", "steps"})};
  for (const Line& line : steps_) {
    if (options.is_brief && line.group != "all" && line.group != "rested" &&
        line.group != with_nccl)
      continue;
    rows.push_back({name(line), fmt::format("{}", line.boards.front().score().rows)});
    add_errors(line, rows.back());
  }
  std::string text = aligned(rows);

  Seconds all;
  for (const Line& line : roles_) all += line.phase.empty() ? line.measured : Seconds(0);
  rows = {header({"in steps", "of time %", "predicted %"})};
  for (const Line& line : roles_) {
    if (!options.by_phase && !line.phase.empty()) continue;
    rows.push_back({name(line), percent(line.measured / all),
                    line.kernel.empty() ? "no price" : percent(line.predicted / line.measured)});
    add_errors(line, rows.back());
  }
  if (rows.size() > 1) text += "\n" + aligned(rows);
  if (rows = runs_.rows(); !rows.empty()) text += "\n" + aligned(rows);
  return text + fmt::format(
                    "\n"
                    "host: {:.1f} us to launch a step's graph, {:.1f} us per launch from Python "
                    "(medians)\n",
                    median(graph_host_us_), median(eager_host_us_));
}

Value StepReport::json() const {
  const auto lines_value = [&](const std::vector<Line>& lines) {
    ValueArray values;
    for (const Line& line : lines) {
      Value value = ValueObject{{"name", line.group},
                                {"phase", line.phase},
                                {"measured_s", line.measured.value()},
                                {"predicted_s", line.predicted.value()}};
      for (std::size_t i = 0; i < predictors_.size(); ++i) {
        value.set(predictors_[i], score_value(line.boards[i].score()));
      }
      values.push_back(std::move(value));
    }
    return values;
  };
  return ValueObject{{"steps", lines_value(steps_)},
                     {"roles", lines_value(roles_)},
                     {"each", each_value(each_)},
                     {"runs", runs_.json()},
                     {"graph_host_us", median(graph_host_us_)},
                     {"eager_host_us_a_launch", median(eager_host_us_)}};
}

}  // namespace foretoken
