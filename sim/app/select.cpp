// foretoken select: the tile of a matrix product by an analytic model, without running anything,
// and what the model thinks of it.

#include <fmt/format.h>

#include <memory>

#include "kernels/predictor.hpp"
#include "kernels/tiles/stream_k.hpp"
#include "kernels/tiles/tile_pool.hpp"
#include "sim/app/library_tile.hpp"
#include "sim/app/subcommand.hpp"
#include "sim/base/json.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/unit_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"
#include "sim/terminal/terminal.hpp"

namespace foretoken {
namespace {

struct SelectOptions {
  std::string gpu, gemm, dtype = "bf16", model, tile, pool;
  bool extends = false;
  std::size_t top = 1;
  bool explain = false, json = false;
};

struct SelectQuestion {
  GpuSpec gpu;
  DType dtype = DType::bf16;
  TiledProduct product;
  std::optional<ProductTile> tile;  // none: the model selects
};

DType read_dtype(const std::string& name) {
  if (const auto dtype = parse_enum<DType>(name)) return *dtype;
  const auto& names = EnumNames<DType>::names;
  throw ConfigError({"--dtype"},
                    unknown_name_message("number format", name, {names.begin(), names.end()}));
}

SelectQuestion read_select_question(const SelectOptions& options) {
  SelectQuestion question;
  question.gpu = load_gpu(options.gpu, {"--gpu"});
  question.dtype = read_dtype(options.dtype);
  const auto sizes = parse_sizes(options.gemm);
  if (!sizes) {
    throw ConfigError(
        {"--gemm"},
        fmt::format("'{}' is not a GEMM; write tokens x outputs x inputs, such as 4096x4096x4096",
                    options.gemm));
  }
  question.product = tiled_product((*sizes)[0], (*sizes)[1], (*sizes)[2], question.dtype);
  if (!options.tile.empty()) {
    question.tile = parse_tile(options.tile);
    if (!question.tile) {
      throw ConfigError({"--tile"}, fmt::format("'{}' is not a tile; write rows x columns x depth, "
                                                "such as 128x256x64, each at most 4096",
                                                options.tile));
    }
  }
  return question;
}

std::optional<PooledTiles> read_pool(const SelectOptions& options, const SelectQuestion& question,
                                     const TileSelector& selector) {
  if (options.pool.empty()) return std::nullopt;
  TilePool pool = load_tile_pool(options.pool);
  if (!pool.covers(question.gpu, question.dtype)) {
    throw ConfigError({options.pool}, fmt::format("has {} tiles measured on {}, not {} on {}",
                                                  enum_name(pool.dtype), pool.gpu,
                                                  enum_name(question.dtype), question.gpu.name));
  }
  return PooledTiles(std::move(pool), selector);
}

std::vector<TileChoice> selected(const TileSelector& selector, const SelectQuestion& question,
                                 std::size_t count) {
  if (!question.tile) return selector.ranked(question.product, count);
  return {selector.priced(question.product, with_default_pipeline(question.product, *question.tile,
                                                                  selector.machine()))};
}

/// Best first.
struct SelectAnswer {
  std::vector<TileChoice> choices;
  Origin origin = Origin::analytic;  // of the first
  std::size_t candidates = 0;
};

SelectAnswer answer_select(const TileSelector& selector, const std::optional<PooledTiles>& pool,
                           const SelectQuestion& question, const SelectOptions& options) {
  if (!pool) return {selected(selector, question, options.top), {}, selector.candidates().size()};
  const PoolUse use = options.extends ? PoolUse::extend : PoolUse::only;
  const auto ranked = pool->ranked(question.product, use, options.top);
  SelectAnswer result{{}, ranked.front().origin(), pool->pool().tiles.size()};
  if (options.extends) result.candidates += selector.candidates().size();
  for (const PooledTiles::Choice& one : ranked) result.choices.push_back(one.choice);
  return result;
}

double tera_ops(const TiledProduct& product, Seconds time) {
  return 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
         static_cast<double>(product.k) / time.value() / 1e12;
}

Value choice_value(const TileSelector& selector, const SelectQuestion& question,
                   const TileChoice& choice, bool explains) {
  Value value;
  value.set("tile", tile_text(choice.tile));
  value.set("warps", choice.tile.warps);
  value.set("stages", choice.tile.stages);
  value.set("group_m", choice.tile.group_m);
  value.set("split_k", choice.tile.split_k);
  value.set("time_us", rounded(choice.time.value() * 1e6));
  value.set("tera_ops", rounded(tera_ops(question.product, choice.time)));
  value.set("bottleneck", std::string(enum_name(choice.latency.bottleneck)));
  if (!explains) return value;
  const TileLatency& latency = choice.latency;
  Value cycles;
  for (const auto& [name, number] :
       std::initializer_list<std::pair<const char*, double>>{{"math", latency.math},
                                                             {"shared", latency.shared},
                                                             {"l2", latency.l2},
                                                             {"mall", latency.mall},
                                                             {"dram", latency.dram},
                                                             {"prologue", latency.prologue},
                                                             {"epilogue", latency.epilogue},
                                                             {"tile", latency.tile},
                                                             {"total", latency.total}}) {
    cycles.set(name, rounded(number));
  }
  value.set("cycles", std::move(cycles));
  value.set("steps", rounded(latency.steps));
  value.set("rounds", rounded(latency.rounds));
  value.set("active_units", rounded(latency.active));
  value.set("l2_hit", rounded(latency.l2_hit));
  value.set("mall_hit", rounded(latency.mall_hit));
  Value grids;
  for (const std::string_view name : EnumNames<GridPolicy>::names) {
    ProductTile whole = choice.tile;
    whole.split_k = 1;
    grids.set(std::string(name), stream_k_grid(*parse_enum<GridPolicy>(name), selector.model(),
                                               question.product, whole, selector.machine()));
  }
  value.set("stream_k_grids", std::move(grids));
  return value;
}

void print_select_json(const TileSelector& selector, const SelectQuestion& question,
                       const SelectAnswer& answer, const SelectOptions& options) {
  Value root;
  root.set("gpu", question.gpu.name);
  root.set("gemm", options.gemm);
  root.set("dtype", std::string(enum_name(question.dtype)));
  root.set("model", selector.model_name());
  root.set("origin", std::string(enum_name(answer.origin)));
  root.set("candidates", static_cast<std::int64_t>(answer.candidates));
  ValueArray tiles;
  for (const TileChoice& choice : answer.choices) {
    tiles.push_back(choice_value(selector, question, choice, options.explain));
  }
  root.set("tiles", std::move(tiles));
  if (options.explain) {
    const auto library = library_tile(selector, question.product, question.dtype,
                                      answer.choices.front(), question.gpu);
    if (library) root.set("library", library->value());
  }
  show_data(to_json(root) + "\n");
}

/// What a class of bottleneck asks for, in the paper's sense.
std::string_view advice(TileBottleneck bottleneck) {
  switch (bottleneck) {
    case TileBottleneck::load_issue:
      return "too few active SMs to use the full bandwidth: smaller tiles or split-K would help";
    case TileBottleneck::shared_bandwidth:
      return "bound by shared memory: larger warp tiles would help";
    case TileBottleneck::cache_bandwidth:
      return "bound by caches or DRAM: only larger tiles load less";
    case TileBottleneck::under_occupied_compute:
      return "bound by the tensor cores, with SMs idle: smaller tiles or split-K would help";
    case TileBottleneck::full_compute:
      return "bound by the tensor cores: a better tile cannot help";
  }
  return "";
}

void print_select_explanation(const TileSelector& selector, const SelectQuestion& question,
                              const TileChoice& choice) {
  const TileLatency& latency = choice.latency;
  const TileMachine& machine = selector.machine();
  show("\nThe first tile: {:.0f} wave{} of tiles on {:.0f} of {} units, {:.0f} slices each\n",
       latency.rounds, latency.rounds == 1 ? "" : "s", latency.active, machine.units,
       latency.steps);
  TextTable table({{"", Align::left}, {"cycles", Align::right}, {"", Align::left}});
  const auto row = [&](const char* what, double cycles, const std::string& note) {
    table.add_row({what, fmt::format("{:.0f}", cycles), note});
  };
  row("matrix pipes", latency.math, "a slice");
  row("shared memory", latency.shared, "a slice");
  row("L2", latency.l2, fmt::format("a slice; {:.0f} % of loads hit", 100 * latency.l2_hit));
  if (machine.mall_rate > 0) {
    row("MALL", latency.mall, fmt::format("a slice; {:.0f} % hit", 100 * latency.mall_hit));
  }
  row("DRAM", latency.dram, "a slice");
  row("prologue", latency.prologue, "a tile");
  row("epilogue", latency.epilogue, "a tile");
  row("a round", latency.tile, "");
  row("all", latency.total,
      fmt::format("at {:.0f} MHz: {}", machine.clock / 1e6, readable(choice.time)));
  show("{}", table.text({.width = terminal_width(stdout), .colour = false}));
  std::string grids = "Stream-K grids:";
  for (const std::string_view name : EnumNames<GridPolicy>::names) {
    ProductTile whole = choice.tile;
    whole.split_k = 1;
    grids += fmt::format(" {} {}{}", name,
                         stream_k_grid(*parse_enum<GridPolicy>(name), selector.model(),
                                       question.product, whole, machine),
                         name == EnumNames<GridPolicy>::names.back() ? "\n" : ",");
  }
  show("{}", grids);
  if (const auto library =
          library_tile(selector, question.product, question.dtype, choice, question.gpu)) {
    show("{}", library->text(terminal_width(stdout)));
  }
}

void print_select_table(const TileSelector& selector, const SelectQuestion& question,
                        const SelectAnswer& answer, const SelectOptions& options) {
  const Ink ink(shows_colour(stdout));
  show("{} of {} in {} on {}\n", ink.strong(question.tile ? "Tile" : "Tiles"), options.gemm,
       enum_name(question.dtype), question.gpu.name);
  TextTable table({{"tile", Align::left},
                   {"warps", Align::right},
                   {"stages", Align::right},
                   {"GROUP_M", Align::right},
                   {"split-K", Align::right},
                   {"time", Align::right},
                   {"TFLOP/s", Align::right},
                   {"bottleneck", Align::left}});
  for (const TileChoice& choice : answer.choices) {
    table.add_row({tile_text(choice.tile), fmt::format("{}", choice.tile.warps),
                   fmt::format("{}", choice.tile.stages), fmt::format("{}", choice.tile.group_m),
                   fmt::format("{}", choice.tile.split_k), readable(choice.time),
                   fmt::format("{:.0f}", tera_ops(question.product, choice.time)),
                   std::string(enum_name(choice.latency.bottleneck))});
  }
  show("{}", table.text({.width = terminal_width(stdout), .colour = shows_colour(stdout)}));
  show("{}; model {}, {} candidates, origin = {}{}\n",
       advice(answer.choices.front().latency.bottleneck), selector.model_name(), answer.candidates,
       enum_name(answer.origin),
       selector.machine().preset.empty()
           ? ""
           : fmt::format(" (rates of Origami's {})", selector.machine().preset));
  if (options.explain) print_select_explanation(selector, question, answer.choices.front());
}

void print_pool(const PooledTiles& pool, const SelectOptions& options) {
  std::string text = fmt::format(
      "pool: {} tiles of {}, measured on {} shapes{}", pool.pool().tiles.size(), pool.pool().kernel,
      pool.pool().shapes.size(), options.extends ? ", plus the model's candidates" : "");
  if (const auto held_out = pool.held_out()) {
    text +=
        fmt::format("; held-out shapes: times {:.0f} % off, choice {:.1f} % slower than the best",
                    100 * held_out->time_error, 100 * held_out->regret);
  }
  show("{}\n", text);
}

int select(const SelectOptions& options) {
  const SelectQuestion question = read_select_question(options);
  const TileSelector selector(question.gpu, question.dtype, options.model);
  const std::optional<PooledTiles> pool = read_pool(options, question, selector);
  const SelectAnswer result = answer_select(selector, pool, question, options);
  if (options.json) {
    print_select_json(selector, question, result, options);
  } else {
    print_select_table(selector, question, result, options);
    if (pool) print_pool(*pool, options);
  }
  return 0;
}

}  // namespace

void add_select(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App* command = program.add_subcommand(
      "select", "Select a GEMM's tile with an analytic model, without tuning");
  command->add_option("--gpu", options->gpu, "GPU: name or TOML file")->required();
  command->add_option("--gemm", options->gemm, "Tokens x outputs x inputs, such as 4096x6144x4096")
      ->required();
  command->add_option("--dtype", options->dtype, "Format of both operands (default: bf16)");
  std::vector<std::string> names;
  const auto models = tile_model_catalog();
  for (const auto& entry : models.entries()) names.push_back(entry.name);
  command->add_option(
      "--model", options->model,
      fmt::format("Tile model: {} (default: {}; on AMD GPUs: {})", fmt::join(names, ", "),
                  default_tile_model(GpuVendor::nvidia), default_tile_model(GpuVendor::amd)));
  command->add_option("--tile", options->tile, "Evaluate this tile instead, such as 128x256x64");
  auto* const pool = command->add_option(
      "--pool", options->pool,
      "Choose among tuned tiles, from a file of `foretoken-tune export --as pool`");
  pool->excludes("--tile");
  command->add_flag("--pool-extends", options->extends, "Also consider the model's own candidates")
      ->needs(pool);
  command->add_option("--top", options->top, "Number of tiles to list")->check(CLI::Range(1, 100));
  command->add_flag("--explain", options->explain,
                    "Show the best tile's cycles by part, Stream-K grids, and the gap to cuBLAS "
                    "where its launches were profiled");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(examples(
      "  foretoken select --gpu h200-sxm --gemm 4096x6144x4096\n"
      "  foretoken select --gpu b200-sxm --gemm 64x28672x8192 --dtype fp8 --top 5 --explain\n"
      "  foretoken select --gpu mi300x --gemm 4096x4096x4096 --model origami_2025 --json\n"
      "  foretoken select --gpu h200-sxm --gemm 64x6144x4096 --pool matmul.json"));
  command->callback([options, &chosen] { chosen = [options] { return select(*options); }; });
}

}  // namespace foretoken
