// foretoken predict: prices kernels given as JSON lines, one answer a line in the same order. A bad
// line becomes an error object and the rest goes on.

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "kernels/communication_price.hpp"
#include "kernels/kernel_case.hpp"
#include "sim/app/explanation_value.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/report/rounding.hpp"
#include "sim/run/run.hpp"

namespace foretoken {
namespace {

struct PredictOptions {
  std::string gpu, cluster, predictor = "synperf", communication = "model", cases;
  bool explain = false;
};

/// `ranks` GPUs spread evenly over the first `nodes` nodes.
std::vector<GpuId> spread_group(const ClusterSpec& cluster, int ranks, int nodes) {
  if (nodes > cluster.nodes || ranks % nodes != 0 || ranks / nodes > cluster.node.gpus) {
    throw ConfigError({},
                      fmt::format("{} ranks on {} node(s) do not fit cluster '{}' ({} nodes of "
                                  "{} GPUs)",
                                  ranks, nodes, cluster.name, cluster.nodes, cluster.node.gpus));
  }
  std::vector<GpuId> group;
  for (int node = 0; node < nodes; ++node) {
    for (int i = 0; i < ranks / nodes; ++i) {
      group.push_back({static_cast<std::uint32_t>(node * cluster.node.gpus + i)});
    }
  }
  return group;
}

class CasePricer {
 public:
  explicit CasePricer(const PredictOptions& options) : explains_(options.explain) {
    if (options.cluster.empty() == options.gpu.empty()) {
      throw ConfigError({"predict"}, "needs exactly one of --gpu and --cluster");
    }
    if (!options.cluster.empty()) cluster_ = load_cluster(options.cluster, {"--cluster"});
    gpu_ = cluster_ ? cluster_->gpu : load_gpu(options.gpu, {"--gpu"});
    predictor_ = make_predictor(Catalogs().predictors, options.predictor, {"--predictor"});
    const auto source = parse_enum<CommSource>(options.communication);
    if (!source) {
      const auto& names = EnumNames<CommSource>::names;
      throw ConfigError({"--communication"},
                        unknown_name_message("source of prices", options.communication,
                                             {names.begin(), names.end()}));
    }
    if (!cluster_) return;
    comm_.parameters = cluster_->comm;
    if (*source == CommSource::measured)
      comm_.measured = measured_prices(*cluster_, Framework::vllm, CommFallback::none);
  }

  [[nodiscard]] Prediction price(const KernelCase& asked) const {
    const auto* collective = std::get_if<Collective>(&asked.kernel);
    if (collective == nullptr) return predictor_->predict(asked.kernel, gpu_);
    if (!cluster_) throw ConfigError({}, "a collective needs --cluster instead of --gpu");
    const auto group = spread_group(*cluster_, collective->ranks, asked.nodes);
    return price_communication(*collective, group_links(*cluster_, group), comm_);
  }

  /// The kernel's launches, where they were asked for and the case is no collective.
  [[nodiscard]] std::optional<Value> explanation(const KernelCase& asked) const {
    if (!explains_ || std::holds_alternative<Collective>(asked.kernel)) return std::nullopt;
    return explanation_value(explain(asked.kernel, gpu_));
  }

 private:
  bool explains_;
  std::optional<ClusterSpec> cluster_;
  GpuSpec gpu_;
  CommSettings comm_;
  std::unique_ptr<Predictor> predictor_;
};

Value answer(const CasePricer& pricer, const std::string& line) {
  Value object = parse_json(line, {});
  if (!object.is_object())
    throw ConfigError({}, "expected a JSON object, as in {\"kernel\":\"gemm\",...}");
  const KernelCase asked = read_kernel_case(object);
  const Prediction prediction = pricer.price(asked);
  object.set("time_us", rounded(prediction.time.value() * 1e6));
  object.set("bound_by", std::string(enum_name(prediction.bound_by)));
  object.set("origin", std::string(enum_name(prediction.origin)));
  if (prediction.expected_error > 0.0) {
    object.set("expected_error", rounded(prediction.expected_error));
  }
  if (!asked.note.empty()) object.set("note", asked.note);
  if (auto explanation = pricer.explanation(asked)) object.set("explain", std::move(*explanation));
  return object;
}

/// The message without the line, which is a member of its own; other files keep their names.
std::string plain_message(const ConfigError& error) {
  std::string text;
  for (const Diagnostic& diagnostic : error.diagnostics()) {
    if (!text.empty()) text += "; ";
    const std::string& file = diagnostic.position.file;
    text += file.empty() ? diagnostic.message : fmt::format("{}: {}", file, diagnostic.message);
  }
  return text;
}

int predict(const PredictOptions& options) {
  const CasePricer pricer(options);
  std::ifstream file;
  if (options.cases != "-") {
    file.open(options.cases);
    if (!file) throw ConfigError({options.cases}, "cannot read this file; check the path");
  }
  std::istream& in = options.cases == "-" ? std::cin : file;
  int status = 0;
  std::string line;
  for (std::int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Value result;
    const auto fail = [&](const std::string& message) {
      result = Value();
      result.set("error", message);
      result.set("line", number);
      status = 1;
    };
    try {
      result = answer(pricer, line);
    } catch (const ConfigError& error) {
      fail(plain_message(error));
    } catch (const PredictionError& error) {
      fail(error.what());
    }
    fmt::print("{}\n", to_json(result, -1));
  }
  return status;
}

}  // namespace

void add_predict(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = program.add_subcommand("predict", "Price kernels given as JSON lines");
  command->add_option("--gpu", options->gpu, "GPU: name or TOML");
  command->add_option("--cluster", options->cluster, "Cluster: name or TOML, for collectives too");
  command->add_option("--predictor", options->predictor, "Predictor (see: foretoken list)");
  command->add_option("--communication", options->communication,
                      "Who prices collectives: model (formulas) or measured (a database)");
  command->add_flag(
      "--explain", options->explain,
      "Add how each kernel is cut into launches and tasks, and the busiest SM's cycles");
  command->add_option("cases", options->cases, "File of JSON lines, or - for standard input")
      ->required();
  command->footer(
      examples("  echo '{\"kernel\":\"gemm\",\"m\":64,\"n\":4096,\"k\":4096,\"dtype\":\"bf16\"}' |"
               " foretoken predict --gpu h200-sxm -\n"
               "  foretoken predict --cluster h100-sxm-8 examples/kernels.jsonl\n"
               "A bad line becomes {\"error\": ..., \"line\": n} and the exit status is 1."));
  command->callback([options, &chosen] { chosen = [options] { return predict(*options); }; });
}

}  // namespace foretoken
