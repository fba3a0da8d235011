#include "calibration/tune/problem.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "calibration/tune/prelude.hpp"
#include "calibration/tune/serving.hpp"
#include "sim/base/nearest_name.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::tune {
namespace {

constexpr std::array<std::string_view, strategy_count> strategy_names{
    "tiling", "vectorization", "fusion", "pipeline", "reordering", "access_layout"};
constexpr std::array<std::string_view, 4> type_names{"f32", "f16", "i32", "i8"};

/// Calls read(table) for each table of `array`, which messages call `key`.
template <class Read>
void for_each_table(const Value& array, std::string_view key, Diagnostics& diagnostics, Read read) {
  if (!array.is_array()) {
    diagnostics.add(array.position, fmt::format("{} must be an array of tables", key));
    return;
  }
  for (const Value& element : std::get<ValueArray>(array.data)) {
    if (!element.is_object()) {
      diagnostics.add(element.position, fmt::format("{} holds something that is not a table", key));
      continue;
    }
    TableReader table(element, diagnostics, std::string(key));
    read(table);
    table.finish();
  }
}

template <class Read>
void for_each_table(TableReader& reader, std::string_view key, Diagnostics& diagnostics,
                    Read read) {
  const Value* found = reader.find(key);
  if (found == nullptr)
    reader.fail(key, "is missing");
  else
    for_each_table(*found, key, diagnostics, read);
}

Parameter read_parameter(TableReader& table) {
  Parameter parameter;
  table.require("name", parameter.name);
  std::string strategy;
  if (table.require("strategy", strategy)) {
    table.diagnostics().attempt(
        [&] { parameter.strategy = strategy_named(strategy, table.position("strategy")); });
  }
  table.require("values", parameter.values);
  int start = 0;
  if (table.require("start", start)) {
    const auto found = std::ranges::find(parameter.values, start);
    table.expect("start", found != parameter.values.end(), "is not one of the values");
    parameter.start = static_cast<int>(found - parameter.values.begin());
  }
  return parameter;
}

Buffer read_buffer(TableReader& table) {
  Buffer buffer;
  table.require("name", buffer.name);
  std::string type, role = "input";
  if (table.require("type", type)) {
    const auto found = std::ranges::find(type_names, type);
    table.expect("type", found != type_names.end(), "must be f32, f16, i32 or i8");
    buffer.type = static_cast<ElementType>(found - type_names.begin());
  }
  table.read("role", role);
  table.expect("role", role == "input" || role == "output" || role == "scratch",
               "must be input, output or scratch");
  buffer.role = role == "output"    ? Buffer::Role::output
                : role == "scratch" ? Buffer::Role::scratch
                                    : Buffer::Role::input;
  table.require("count", buffer.count);
  table.read("scale", buffer.scale);
  if (buffer.role == Buffer::Role::input) {
    table.require("fill", buffer.fill);
    table.expect("fill", buffer.fill == "uniform" || buffer.fill == "index",
                 "must be uniform or index");
    if (buffer.fill == "index") table.require("below", buffer.below);
  }
  return buffer;
}

Launch read_launch(TableReader& table) {
  Launch launch;
  table.require("kernel", launch.kernel);
  table.read("when", launch.when);
  table.require("grid", launch.grid);
  table.require("block", launch.block);
  table.expect("grid", !launch.grid.empty() && launch.grid.size() <= 3, "has one to three sizes");
  table.expect("block", !launch.block.empty() && launch.block.size() <= 3,
               "has one to three sizes");
  table.read("shared", launch.shared);
  table.require("arguments", launch.arguments);
  return launch;
}

std::vector<Shape> read_shapes(TableReader& table, std::string_view key, std::size_t dimensions) {
  std::vector<Shape> shapes;
  const Value* found = table.find(key);
  if (found == nullptr || !found->is_array()) {
    table.fail(key, "must be an array of shapes");
    return shapes;
  }
  for (const Value& row : std::get<ValueArray>(found->data)) {
    Shape shape;
    if (row.is_array()) {
      for (const Value& size : std::get<ValueArray>(row.data)) {
        if (const auto* value = std::get_if<std::int64_t>(&size.data)) shape.push_back(*value);
      }
    }
    if (shape.size() != dimensions || std::ranges::any_of(shape, [](auto s) { return s < 1; })) {
      table.diagnostics().add(row.position,
                              fmt::format("a shape has {} sizes of at least 1", dimensions));
    }
    shapes.push_back(std::move(shape));
  }
  table.expect(key, !shapes.empty(), "has no shape");
  return shapes;
}

Serving read_serving(TableReader& table, const SourcePosition& position) {
  Serving serving;
  serving.position = position;
  table.require("kernel", serving.kernel);
  if (const Value* sizes = table.find_table("sizes")) {
    for (const auto& [key, value] : std::get<ValueObject>(sizes->data)) {
      Serving::Size size{key, {}, value.is_array()};
      const ValueArray one{value};
      for (const Value& text : size.is_list ? std::get<ValueArray>(value.data) : one) {
        if (text.is_string())
          size.values.push_back(std::get<std::string>(text.data));
        else
          table.diagnostics().add(text.position, key + ": a size is an expression in quotes");
      }
      serving.sizes.push_back(std::move(size));
    }
  } else {
    table.fail("sizes", "is missing");
  }
  if (table.find("histogram") != nullptr) {
    if (const Value* found = table.find_table("histogram")) {
      TableReader histogram(*found, table.diagnostics(), "histogram");
      histogram.require("draws", serving.draws);
      histogram.require("expert", serving.expert);
      histogram.finish();
    }
  }
  const Value rest = table.take_rest();
  for (const auto& [key, value] : std::get<ValueObject>(rest.data)) {
    if (value.is_string())
      serving.words.emplace_back(key, std::get<std::string>(value.data));
    else
      table.diagnostics().add(value.position, key + ": is a word in quotes; sizes go to sizes");
  }
  return serving;
}

TileNames read_tile(TableReader& table, const SourcePosition& position) {
  TileNames tile;
  tile.position = position;
  table.require("m", tile.m);
  table.require("n", tile.n);
  table.require("k", tile.k);
  table.require("warps", tile.warps);
  table.require("stages", tile.stages);
  table.read("group_m", tile.group_m);
  table.read("split_k", tile.split_k);
  table.finish();
  return tile;
}

/// The header with its marks blanked, line for line, so that positions stay those of the file.
std::pair<std::string, std::string> split(std::string_view text) {
  std::string header;
  while (text.starts_with("//!")) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    header += "   ";
    header += text.substr(3, end - 2);
    text.remove_prefix(end + 1);
  }
  return {std::move(header), std::string(text)};
}

/// Every expression has to have a value at the start and every launch its arguments.
void check_expressions(const Problem& problem, const SourcePosition& position) {
  const Names names = names_of(problem, constants_at(problem, start_state(problem)), 0, 1);
  const auto value = [&](const std::string& text) { return evaluate(text, names, position); };
  for (const Buffer& buffer : problem.buffers) {
    value(buffer.count);
    value(buffer.scale);
    if (!buffer.below.empty()) value(buffer.below);
  }
  for (const auto* plan : {&problem.launches, &problem.reference}) {
    for (const Launch& launch : *plan) {
      value(launch.when);
      value(launch.shared);
      for (const std::string& size : launch.grid) value(size);
      for (const std::string& size : launch.block) value(size);
      for (const std::string& argument : launch.arguments) {
        const bool buffer = std::ranges::any_of(
            problem.buffers, [&](const Buffer& known) { return known.name == argument; });
        if (!buffer) value(argument);
      }
    }
  }
  value(problem.cost.flops);
  value(problem.cost.bytes);
  value(problem.cost.cache_bytes);
}

}  // namespace

std::string_view name_of(Strategy strategy) {
  return strategy_names.at(static_cast<std::size_t>(strategy));
}

Strategy strategy_named(std::string_view name, const SourcePosition& position) {
  const auto found = std::ranges::find(strategy_names, name);
  if (found == strategy_names.end()) {
    throw ConfigError(
        position,
        unknown_name_message("strategy", name, {strategy_names.begin(), strategy_names.end()}));
  }
  return static_cast<Strategy>(found - strategy_names.begin());
}

std::string_view name_of(ElementType type) { return type_names.at(static_cast<std::size_t>(type)); }

int bytes_of(ElementType type) {
  constexpr std::array<int, 4> bytes{4, 2, 4, 1};
  return bytes.at(static_cast<std::size_t>(type));
}

std::vector<Launch> read_launches(const Value& array, Diagnostics& diagnostics) {
  std::vector<Launch> launches;
  for_each_table(array, "launches", diagnostics,
                 [&](TableReader& launch) { launches.push_back(read_launch(launch)); });
  return launches;
}

Problem parse_problem(std::string_view text, const std::string& name, const std::string& file) {
  auto [header, body] = split(text);
  if (header.empty()) {
    throw ConfigError({file, 1, 0}, "no header: the file starts with lines \"//! key = value\"");
  }
  const Value root = parse_toml(header, file);
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  Problem problem;
  problem.name = name;
  problem.body = std::move(body);
  table.require("summary", problem.summary);
  table.read("level", problem.level);
  table.require("tolerance", problem.tolerance);
  table.require("dims", problem.dimensions);
  problem.shapes = read_shapes(table, "shapes", problem.dimensions.size());
  for_each_table(table, "parameters", diagnostics, [&](TableReader& parameter) {
    problem.parameters.push_back(read_parameter(parameter));
  });
  for_each_table(table, "buffers", diagnostics,
                 [&](TableReader& buffer) { problem.buffers.push_back(read_buffer(buffer)); });
  for (const auto& [key, plan] :
       {std::pair{"launches", &problem.launches}, std::pair{"reference", &problem.reference}}) {
    if (const Value* found = table.find(key))
      *plan = read_launches(*found, diagnostics);
    else
      table.fail(key, "is missing");
  }
  if (const Value* found = table.find_table("cost")) {
    TableReader cost(*found, diagnostics, "cost");
    cost.require("flops", problem.cost.flops);
    cost.require("bytes", problem.cost.bytes);
    cost.require("cache_bytes", problem.cost.cache_bytes);
    std::string pipe = "fma";
    cost.read("pipe", pipe);
    cost.expect("pipe", pipe == "fma" || pipe == "tensor", "must be fma or tensor");
    problem.cost.tensor = pipe == "tensor";
    cost.finish();
  } else {
    table.fail("cost", "is missing");
  }
  for (const auto& [key, read] : {std::pair<const char*, std::function<void(TableReader&)>>{
                                      "serves",
                                      [&](TableReader& own) {
                                        problem.serving =
                                            read_serving(own, table.position("serves"));
                                      }},
                                  {"tile", [&](TableReader& own) {
                                     problem.tile = read_tile(own, table.position("tile"));
                                   }}}) {
    if (table.find(key) == nullptr) continue;
    if (const Value* found = table.find_table(key)) {
      TableReader own(*found, diagnostics, key);
      read(own);
    }
  }
  table.finish();
  diagnostics.throw_if_any();
  check_expressions(problem, {file, 1, 0});
  if (problem.serving) serving_case(problem, 0);
  if (problem.tile) tile_at(problem, start_state(problem));
  return problem;
}

void take_shapes(std::vector<Problem>& problems, const std::string& path) {
  const Value root = load_toml(path);
  Diagnostics diagnostics;
  TableReader table(root, diagnostics, "");
  for (Problem& problem : problems) {
    if (root.find(problem.name) == nullptr) continue;
    problem.shapes = read_shapes(table, problem.name, problem.dimensions.size());
  }
  std::vector<std::string> known;
  for (const Problem& problem : problems) known.push_back(problem.name);
  table.also_known(known);
  table.finish();
  diagnostics.throw_if_any();
}

State start_state(const Problem& problem) {
  State state;
  for (const Parameter& parameter : problem.parameters) state.push_back(parameter.start);
  return state;
}

std::vector<State> all_states(const Problem& problem) {
  std::vector<State> states;
  State state(problem.parameters.size(), 0);
  while (true) {
    states.push_back(state);
    std::size_t digit = state.size();
    while (digit > 0) {
      --digit;
      if (++state[digit] < static_cast<int>(problem.parameters[digit].values.size())) break;
      state[digit] = 0;
      if (digit == 0) return states;
    }
    if (state.empty()) return states;
  }
}

std::string text_of(const Problem& problem, const State& state) {
  std::string text;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    if (i > 0) text += ' ';
    text +=
        fmt::format("{}={}", parameter.name, parameter.values[static_cast<std::size_t>(state[i])]);
  }
  return text;
}

std::string source_of(const Problem& problem, const State& state) {
  std::string source(prelude());
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    source += fmt::format("#define {} {}\n", parameter.name,
                          parameter.values[static_cast<std::size_t>(state[i])]);
  }
  return source + problem.body;
}

Names constants_at(const Problem& problem, const State& state) {
  Names names;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Parameter& parameter = problem.parameters[i];
    names[parameter.name] = parameter.values[static_cast<std::size_t>(state[i])];
  }
  return names;
}

Names constants_in(std::string_view source) {
  constexpr std::string_view word = "#define ";
  Names names;
  for (std::size_t at = source.find(word); at != std::string_view::npos;
       at = source.find(word, at + 1)) {
    std::string_view line = source.substr(at + word.size());
    line = line.substr(0, line.find('\n'));
    const std::size_t name_end = line.find(' ');
    if (name_end == std::string_view::npos) continue;
    const std::string_view digits = line.substr(name_end + 1);
    int value = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const std::string_view rest(end, digits.data() + digits.size());
    if (problem != std::errc() || rest.find_first_not_of(" \t\r") != std::string_view::npos)
      continue;
    names[std::string(line.substr(0, name_end))] = value;
  }
  return names;
}

Names names_of(const Problem& problem, const Names& constants, std::size_t shape, int sms) {
  Names names = constants;
  names["SMS"] = sms;
  for (std::size_t i = 0; i < problem.dimensions.size(); ++i) {
    names[problem.dimensions[i]] = static_cast<double>(problem.shapes[shape][i]);
  }
  return names;
}

}  // namespace foretoken::tune
