// foretoken dispatch: which configuration of a fused mixture-of-experts kernel a step should run
// with, and what choosing by the number of tokens alone would cost.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "kernels/expert_load.hpp"
#include "kernels/routing.hpp"
#include "kernels/tiles/expert_histogram.hpp"
#include "kernels/tiles/moe_dispatch.hpp"
#include "kernels/tiles/moe_region.hpp"
#include "models/transformer.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/output_file.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"
#include "workloads/histogram_file.hpp"
#include "workloads/routing_source.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t tokens_max = 1'000'000;

struct DispatchOptions {
  std::string model, gpu, dtype, histogram, saved, mode, profile;
  int tensor = 1, expert = 1, top = 0;
  std::int64_t tokens = 0;
  double balancedness = 0;
  std::uint64_t seed = 1;
  bool json = false;
};

/// A step of one layer on its busiest rank.
struct Step {
  Transformer model;
  FusedMoe kernel;
  std::vector<std::int64_t> all;                      // assignments of all experts
  std::vector<std::int64_t> rank;                     // of the busiest rank's
  Routing::Kind given = Routing::Kind::balancedness;  // how the user said it
};

template <class Enum>
Enum parse_choice(const std::string& text, const char* option) {
  if (const auto value = parse_enum<Enum>(text)) return *value;
  const auto& names = EnumNames<Enum>::names;
  throw ConfigError({option}, unknown_name_message("value", text, {names.begin(), names.end()}));
}

/// One histogram, which may be a number a line.
std::vector<std::int64_t> read_counts(const std::string& path) {
  std::vector<std::int64_t> counts;
  for (const HistogramLines& lines : read_histogram_file(path, {"--histogram"}))
    counts.insert(counts.end(), lines.counts.begin(), lines.counts.end());
  return counts;
}

void take_histogram(const DispatchOptions& options, Step& step) {
  step.given = Routing::Kind::histogram;
  FusedMoe& kernel = step.kernel;
  step.all = read_counts(options.histogram);
  if (step.all.size() != static_cast<std::size_t>(kernel.experts)) {
    throw ConfigError({options.histogram},
                      fmt::format("has {} counts, but {} has {} experts", step.all.size(),
                                  options.model, kernel.experts));
  }
  const std::int64_t sum = std::accumulate(step.all.begin(), step.all.end(), std::int64_t{0});
  if (sum == 0) throw ConfigError({options.histogram}, "has no assignments");
  kernel.tokens = (sum + kernel.topk - 1) / kernel.topk;
  if (options.tokens > 0 && options.tokens * kernel.topk != sum) {
    throw ConfigError(
        {"--tokens"},
        fmt::format(
            "{} tokens x {} experts are {} assignments, but {} has {}; drop one of the two options",
            options.tokens, kernel.topk, options.tokens * kernel.topk, options.histogram, sum));
  }
}

void make_histogram(const DispatchOptions& options, Step& step) {
  FusedMoe& kernel = step.kernel;
  if (options.tokens < 1 || options.tokens > tokens_max) {
    throw ConfigError({"--tokens"},
                      fmt::format("must be from 1 to {}; or give --histogram", tokens_max));
  }
  kernel.tokens = options.tokens;
  const double evenness = options.balancedness;
  if (!(evenness > 0 && evenness <= 1)) {  // nor "nan"
    throw ConfigError(
        {"--balancedness"},
        "must be above 0 and at most 1 (routing entropy over its maximum); or give --histogram");
  }
  if (options.mode.empty()) {
    step.all = expert_counts({Routing::Kind::balancedness, evenness, {}}, kernel.tokens,
                             kernel.topk, kernel.experts);
    return;
  }
  const auto mode = parse_choice<HistogramMode>(options.mode, "--mode");
  RandomStream stream = RandomStreams(options.seed).stream("expert_histogram");
  step.all = draw_histogram({kernel.experts, kernel.topk, kernel.tokens, evenness, mode}, stream);
}

Step step_of(const DispatchOptions& options) {
  Step step;
  step.model = load_model(options.model, {"--model"});
  if (!step.model.moe) {
    throw ConfigError({"--model"}, fmt::format("{} has no experts to dispatch to", options.model));
  }
  const MoeConfig& moe = *step.model.moe;
  FusedMoe& kernel = step.kernel;
  kernel.experts = moe.experts;
  kernel.topk = moe.topk;
  kernel.hidden = step.model.hidden;
  kernel.intermediate = moe.intermediate;
  kernel.tp = options.tensor;
  kernel.ep = options.expert;
  if (kernel.tp < 1 || moe.intermediate % kernel.tp != 0) {
    throw ConfigError({"--tp"}, fmt::format("{} ranks do not divide an expert's width of {}",
                                            kernel.tp, moe.intermediate));
  }
  if (kernel.ep < 1 || moe.experts % kernel.ep != 0) {
    throw ConfigError({"--ep"},
                      fmt::format("{} ranks do not divide {} experts", kernel.ep, moe.experts));
  }
  const DType released = step.model.released ? step.model.released->experts : DType::bf16;
  kernel.dtype = options.dtype.empty() ? released : parse_choice<DType>(options.dtype, "--dtype");
  if (options.histogram.empty()) {
    make_histogram(options, step);
  } else {
    take_histogram(options, step);
  }
  kernel.routing = {Routing::Kind::histogram, 0, step.all};
  step.rank = busiest_rank_rows(kernel);
  step.rank.resize(static_cast<std::size_t>(layer_of(kernel).experts));
  return step;
}

struct Choice {
  DispatchPolicy policy;
  std::int64_t tuned;  // tokens at which its table's entry was tuned
  std::size_t tile;
  double time_us;
};

struct Answer {
  MoeLayer layer;
  std::vector<MoeTile> tiles;
  std::vector<float> times_us;
  std::vector<Choice> choices;  // routing_aware first
  DispatchSource source;
  std::optional<RegionVariables> variables;  // of the routing-aware choice
  std::string region, modes;
  std::size_t whole_pool = 0;
};

MoeDispatcher dispatcher_for(const MoeLayer& layer, const GpuSpec& gpu, const std::string& path) {
  if (path.empty()) return MoeDispatcher(layer, gpu);
  const WaveProfile profile = read_wave_profile(load_json(path));
  if (profile.gpu != gpu.name || profile.dtype != layer.dtype) {
    throw ConfigError({path}, fmt::format("has constants for {} on {}, not for {} on {}",
                                          enum_name(profile.dtype), profile.gpu,
                                          enum_name(layer.dtype), gpu.name));
  }
  return MoeDispatcher(layer, gpu, profile);
}

Answer answer(const Step& step, const GpuSpec& gpu, const std::string& profile) {
  Answer result;
  result.layer = layer_of(step.kernel);
  MoeDispatcher dispatcher = dispatcher_for(result.layer, gpu, profile);
  result.source = dispatcher.source();
  result.tiles.assign(dispatcher.tiles().begin(), dispatcher.tiles().end());
  const auto times = dispatcher.times_us(step.rank);
  result.times_us.assign(times.begin(), times.end());
  for (const auto policy :
       {DispatchPolicy::routing_aware, DispatchPolicy::bucket, DispatchPolicy::fixed}) {
    const std::size_t tile = dispatched(dispatcher, policy, step.rank, step.kernel.tokens);
    result.choices.push_back({policy, tuned_tokens(policy, step.kernel.tokens), tile,
                              static_cast<double>(result.times_us[tile])});
  }
  const MoeTile& chosen = result.tiles[result.choices.front().tile];
  result.variables =
      region_variables(result.layer, {},
                       moe_grid(step.rank, chosen.block_m, result.layer.gate_up_columns(),
                                chosen.block_n, chosen.split_k),
                       gpu);
  result.region =
      enum_name(region_of(*result.variables, region_thresholds(gpu, result.layer.dtype)));
  result.modes = predicted_modes(layer_advice(result.layer, {}, gpu));
  result.whole_pool = dispatcher.whole_pool();
  return result;
}

Value tile_value(const MoeTile& tile) {
  return ValueObject{{"block_m", tile.block_m}, {"block_n", tile.block_n},
                     {"block_k", tile.block_k}, {"group_m", tile.group_m},
                     {"split_k", tile.split_k}, {"warps", tile.warps},
                     {"stages", tile.stages}};
}

std::vector<std::size_t> fastest(const Answer& answer, int count) {
  std::vector<std::size_t> order(answer.tiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return answer.times_us[i]; });
  order.resize(std::min(order.size(), static_cast<std::size_t>(count)));
  return order;
}

void print_json(const DispatchOptions& options, const Step& step, const GpuSpec& gpu,
                const Answer& answer) {
  Value root;
  root.set("model", step.model.name);
  root.set("gpu", gpu.name);
  root.set("dtype", std::string(enum_name(step.kernel.dtype)));
  root.set("tokens", step.kernel.tokens);
  root.set("balancedness", rounded(balancedness(step.all)));
  root.set("routing_source", std::string(routing_source(step.given)));
  root.set("experts", answer.layer.experts);
  root.set("active_experts", active_experts(step.rank));
  root.set("region", answer.region);
  root.set("configurations", ValueObject{{"tried", static_cast<std::int64_t>(answer.tiles.size())},
                                         {"of", static_cast<std::int64_t>(answer.whole_pool)}});
  root.set("origin", std::string(enum_name(answer.source.origin)));
  if (answer.source.expected_error > 0) {
    root.set("expected_error", rounded(answer.source.expected_error));
  }
  Value policies;
  for (const Choice& choice : answer.choices) {
    Value policy;
    if (choice.policy != DispatchPolicy::routing_aware) policy.set("tuned_tokens", choice.tuned);
    policy.set("configuration", tile_value(answer.tiles[choice.tile]));
    policy.set("time_us", rounded(choice.time_us));
    policies.set(std::string(enum_name(choice.policy)), std::move(policy));
  }
  root.set("policies", std::move(policies));
  if (options.top > 0) {
    ValueArray top;
    for (const std::size_t i : fastest(answer, options.top)) {
      top.emplace_back(ValueObject{{"configuration", tile_value(answer.tiles[i])},
                                   {"time_us", rounded(static_cast<double>(answer.times_us[i]))}});
    }
    root.set("top", std::move(top));
  }
  show_data(to_json(root) + "\n");
}

std::string source_text(const DispatchSource& source) {
  switch (source.origin) {
    case Origin::measured:
      return fmt::format("measured: constants fitted to this layer ({})", source.layer);
    case Origin::learned:
      return "learned: constants fitted to other layers on this GPU";
    default:
      return "analytic: waves from the specification, not measured";
  }
}

std::string pool_text(const Answer& answer) {
  return fmt::format("{} of {} configurations tried: {}", answer.tiles.size(), answer.whole_pool,
                     answer.source.origin == Origin::analytic ? "those worth trying in this region"
                                                              : "those measured near the best");
}

void print_table(const DispatchOptions& options, const Step& step, const GpuSpec& gpu,
                 const Answer& answer) {
  const bool colour = shows_colour(stdout);
  show("{} on {}: {} experts of {} x {} in {} per rank\n", Ink(colour).strong(step.model.name),
       gpu.name, answer.layer.experts, answer.layer.hidden, answer.layer.intermediate,
       enum_name(step.kernel.dtype));
  show("{} tokens x {} experts, balancedness {:.3f} ({}), {} experts active on the busiest rank\n",
       step.kernel.tokens, step.kernel.topk, balancedness(step.all), routing_source(step.given),
       active_experts(step.rank));
  show("region {}: rho {:.0f}, lambda {:.0f}, kappa {:.0f}, omega {:.2f}; worth trying: {}\n",
       answer.region, answer.variables->compute_density, answer.variables->l2_pressure,
       answer.variables->reduction_depth, answer.variables->waves, answer.modes);
  show("{}\n", pool_text(answer));
  const double error = answer.source.expected_error;
  show("{}{}\n\n", source_text(answer.source),
       error > 0 ? fmt::format("; mean time error {:.1f} %", 100 * error) : "");
  const double best = answer.choices.front().time_us;
  TextTable table({{"policy", Align::left},
                   {"configuration", Align::left, 0, true},
                   {"us", Align::right},
                   {"to best", Align::right}});
  const auto row = [&](const std::string& name, std::size_t tile, double time_us) {
    table.add_row({name, moe_tile_text(answer.tiles[tile]), fmt::format("{:.1f}", time_us),
                   fmt::format("{:.2f}x", time_us / best)});
  };
  for (const Choice& choice : answer.choices) {
    const bool is_tuned = choice.policy != DispatchPolicy::routing_aware;
    row(fmt::format("{}{}", enum_name(choice.policy),
                    is_tuned ? fmt::format(", tuned at {}", choice.tuned) : ""),
        choice.tile, choice.time_us);
  }
  int rank = 1;
  for (const std::size_t i : fastest(answer, options.top)) {
    row(fmt::format("{}.", rank++), i, static_cast<double>(answer.times_us[i]));
  }
  show("{}", table.text({.width = terminal_width(stdout), .colour = colour}));
}

int dispatch(const DispatchOptions& options) {
  if (!options.histogram.empty() && options.balancedness != 0) {
    throw ConfigError({"--balancedness"}, "mutually exclusive with --histogram");
  }
  const GpuSpec gpu = load_gpu(options.gpu, {"--gpu"});
  const Step step = step_of(options);
  const Answer result = answer(step, gpu, options.profile);
  if (!options.saved.empty()) {
    Outputs outputs({options.histogram, options.profile});
    outputs.expect(options.saved);
    outputs.write(options.saved, histogram_file_text(std::span(&step.all, 1)));
    outputs.publish();
  }
  if (options.json) {
    print_json(options, step, gpu, result);
  } else {
    print_table(options, step, gpu, result);
  }
  return 0;
}

}  // namespace

void add_dispatch(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<DispatchOptions>();
  CLI::App* command = program.add_subcommand(
      "dispatch", "Choose a mixture-of-experts kernel's configuration for a step's expert routing");
  command->add_option("--model", options->model, "Model: name, TOML file or config.json")
      ->required();
  command->add_option("--gpu", options->gpu, "GPU: name or TOML file")->required();
  command->add_option("--tokens", options->tokens, "Tokens in the step");
  command->add_option("--balancedness", options->balancedness,
                      "Routing entropy over its maximum; 1: all experts equally loaded");
  command->add_option(
      "--histogram", options->histogram,
      "File with the token count of each expert, instead of --tokens and --balancedness");
  command->add_option("--save-histogram", options->saved,
                      "Write the token count of each expert here, for --histogram or "
                      "expert_routing = \"histograms:FILE\"");
  command->add_option("--dtype", options->dtype, "Expert weight format (default: as released)");
  command->add_option("--tp", options->tensor, "Tensor-parallel ranks of each expert");
  command->add_option("--ep", options->expert, "Expert-parallel ranks");
  command->add_option("--mode", options->mode,
                      "Draw the routing at random: active_subset, zipf, onehot_mix or "
                      "topk_distinct (default: Zipf's expected counts)");
  command->add_option("--seed", options->seed, "Seed of --mode");
  command->add_option(
      "--profile", options->profile,
      "Configurations of your own kernel, from a file of `foretoken-calibrate fit wave`");
  command->add_option("--top", options->top, "Number of configurations to list, fastest first")
      ->check(CLI::Range(0, 10'000));
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(examples(
      "  foretoken dispatch --model olmoe-1b-7b --gpu h200-sxm --dtype fp8 --tokens 64 "
      "--balancedness 0.5\n"
      "  foretoken dispatch --model mixtral-8x22b --gpu b200-sxm --tp 8 --tokens 256 "
      "--balancedness 0.8 --top 5\n"
      "  foretoken dispatch --model qwen3-30b-a3b --gpu h200-sxm --histogram counts.json --json"));
  command->callback([options, &chosen] { chosen = [options] { return dispatch(*options); }; });
}

}  // namespace foretoken
