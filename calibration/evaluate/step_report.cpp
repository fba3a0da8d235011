#include "calibration/evaluate/step_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "hardware/cluster.hpp"
#include "kernels/collective_cost.hpp"

namespace foretoken {
namespace {

/// Of one call. The ranks of a step sit in the GPU's usual chassis.
double collective_price(const Collective& collective, const GpuSpec& gpu) {
  const ClusterSpec cluster = usual_cluster(gpu, collective.ranks);
  std::vector<GpuId> group(static_cast<std::size_t>(collective.ranks));
  for (std::size_t i = 0; i < group.size(); ++i) group[i] = {static_cast<std::uint32_t>(i)};
  return collective_time(call_of(collective, "auto"), group_links(cluster, group), cluster.comm)
      .value();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

StepReport::StepReport(const std::vector<ExecutedStep>& steps,
                       const std::vector<NamedPrice>& predictors) {
  std::map<std::string, Transformer> models;
  std::map<std::string, GpuSpec> gpus;
  for (const ExecutedStep& step : steps) {
    const SourcePosition asked_at = {step.file};
    if (!models.contains(step.model)) models.emplace(step.model, load_model(step.model, asked_at));
    if (!gpus.contains(step.gpu)) gpus.emplace(step.gpu, load_gpu(step.gpu, asked_at));
    const Transformer& model = models.at(step.model);
    Diagnostics diagnostics;
    check_layout(model, step.layout, asked_at, diagnostics);
    diagnostics.throw_if_any();
    const KernelSequence kernels = kernels_of(step, model);
    for (const NamedPrice& predictor : predictors) {
      add_errors(step, gpus.at(step.gpu), kernels, predictor, &predictor == &predictors.front());
    }
    graph_host_us_.push_back(step.graph_host.value() * 1e6);
    if (step.launches > 0) {
      eager_host_us_.push_back(step.eager_host.value() * 1e6 / step.launches);
    }
  }
}

void StepReport::add_errors(const ExecutedStep& step, const GpuSpec& gpu,
                            const KernelSequence& kernels, const NamedPrice& predictor,
                            bool is_first) {
  const auto& [name, price] = predictor;
  const std::string fold = fmt::format("{} TP{}", step.model, step.layout.tensor);
  const auto line = [&](const std::string& family) {
    return EvaluationReport::Line{family, fold, step.gpu, step.phase};
  };
  std::map<std::string, double> by_role;
  double sum = 0;
  for (const KernelCall& call : kernels) {
    const auto* collective = std::get_if<Collective>(&call.kernel);
    const double time = call.calls * (collective != nullptr ? collective_price(*collective, gpu)
                                                            : price(call.kernel, gpu));
    by_role[std::string(call.role)] += time;
    sum += time;
    if (is_first) sums_of(std::string(call.role)).kernel = kernel_name(call.kernel);
  }
  errors_.add(line("step"), name, sum, step.gpu_time.value());
  errors_.add(line("step: " + step.phase), name, sum, step.gpu_time.value());
  for (const ExecutedStep::Role& role : step.roles) {
    const auto priced = by_role.find(role.name);
    if (priced != by_role.end()) {
      errors_.add(line(role.name), name, priced->second, role.time.value());
    }
    if (!is_first) continue;
    RoleSums& sums = sums_of(role.name);
    sums.measured += role.time;
    if (priced != by_role.end()) sums.predicted += Seconds(priced->second);
  }
}

StepReport::RoleSums& StepReport::sums_of(const std::string& role) {
  const auto found = std::ranges::find(roles_, role, &RoleSums::role);
  return found != roles_.end() ? *found : roles_.emplace_back(RoleSums{role, "", {}, {}});
}

std::string StepReport::text(const EvaluationText& options) const {
  std::string text = errors_.text(options);
  double measured = 0;
  for (const RoleSums& role : roles_) measured += role.measured.value();
  text += fmt::format("\nall steps together    measured ms  share %  predicted %\n");
  for (const RoleSums& role : roles_) {
    const double time = role.measured.value();
    if (time <= 0) continue;
    text += fmt::format("{:<20}  {:>11.2f}  {:>7}  {:>11}\n", role.role, 1e3 * time,
                        percent(time / measured),
                        role.kernel.empty() ? "no price"
                                            : percent(role.predicted.value() / time));
  }
  text += fmt::format(
      "host time: {:.1f} us to launch a step's graph, {:.1f} us a launch from Python (medians)\n",
      median(graph_host_us_), median(eager_host_us_));
  return text;
}

Value StepReport::json() const {
  Value value = errors_.json();
  ValueArray roles;
  for (const RoleSums& role : roles_) {
    roles.emplace_back(ValueObject{{"role", role.role},
                                   {"kernel", role.kernel},
                                   {"measured_s", role.measured.value()},
                                   {"predicted_s", role.predicted.value()}});
  }
  value.set("roles", std::move(roles));
  value.set("graph_host_us", median(graph_host_us_));
  value.set("eager_host_us_a_launch", median(eager_host_us_));
  return value;
}

}  // namespace foretoken
