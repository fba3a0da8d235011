#include "calibration/tune/serving.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernel_case.hpp"

namespace foretoken::tune {
namespace {

std::int64_t whole(const std::string& text, const Names& names, const SourcePosition& position) {
  const double value = evaluate(text, names, position);
  // Up to 2^53 a double is the number itself.
  if (!(std::fabs(value) <= 9007199254740992.0)) {
    throw ConfigError(position, fmt::format("'{}' is {}, which is not a size", text, value));
  }
  return std::llround(value);
}

/// Assignments of each of `experts` experts.
ValueArray histogram_of(const Problem& problem, std::size_t shape, std::int64_t experts) {
  const Serving& serving = *problem.serving;
  const auto input = [](const Buffer& buffer) { return buffer.role == Buffer::Role::input; };
  const auto draws = std::ranges::find(problem.buffers, serving.draws, &Buffer::name);
  if (draws == problem.buffers.end() || !input(*draws) || draws->fill != "index") {
    throw ConfigError(serving.position,
                      fmt::format("histogram: '{}' is not an input of indices", serving.draws));
  }
  const auto inputs = std::ranges::count_if(problem.buffers, input);
  const auto before = std::count_if(problem.buffers.begin(), draws, input);
  const auto seed =
      static_cast<std::uint32_t>(1 + static_cast<std::ptrdiff_t>(shape) * inputs + before);
  Names names = names_of(problem, constants_at(problem, start_state(problem)), shape, 1);
  const std::int64_t count = whole(draws->count, names, serving.position);
  const auto below = static_cast<std::uint32_t>(whole(draws->below, names, serving.position));
  if (experts < 1 || experts > 65536 || count < 1 || count > 1'000'000 || below < 1) {
    throw ConfigError(serving.position,
                      "histogram: needs 1 to 65536 experts and up to a million draws");
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    names[serving.draws] = drawn_index(static_cast<std::uint64_t>(i), seed, below);
    const double expert = std::floor(evaluate(serving.expert, names, serving.position));
    if (!(expert >= 0 && expert < static_cast<double>(experts))) {
      throw ConfigError(serving.position, fmt::format("histogram: '{}' gives expert {} of {}",
                                                      serving.expert, expert, experts));
    }
    ++counts[static_cast<std::size_t>(expert)];
  }
  return {counts.begin(), counts.end()};
}

}  // namespace

std::uint32_t drawn_index(std::uint64_t i, std::uint32_t seed, std::uint32_t below) {
  const auto hashed = [](std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352dU;
    x ^= x >> 15;
    x *= 0x846ca68bU;
    return x ^ (x >> 16);
  };
  return hashed(static_cast<std::uint32_t>(i) ^ hashed(seed)) % below;
}

Value serving_case(const Problem& problem, std::size_t shape) {
  FORETOKEN_CHECK(problem.serving.has_value(), "{} is no kernel of serving", problem.name);
  const Serving& serving = *problem.serving;
  const auto placed = [&](Value value) {
    value.position = serving.position;
    return value;
  };
  Value result = placed(ValueObject{});
  result.set("kernel", placed(serving.kernel));
  const Names names = names_of(problem, {}, shape, 1);
  for (const Serving::Size& size : serving.sizes) {
    ValueArray values;
    for (const std::string& text : size.values) {
      values.push_back(placed(whole(text, names, serving.position)));
    }
    result.set(size.key, size.is_list ? placed(std::move(values)) : values.at(0));
  }
  for (const auto& [key, word] : serving.words) {
    if (word == "true" || word == "false")
      result.set(key, placed(word == "true"));
    else
      result.set(key, placed(word));
  }
  if (!serving.draws.empty()) {
    const Value* experts = result.find("experts");
    if (experts == nullptr) throw ConfigError(serving.position, "histogram: sizes has no experts");
    result.set("histogram",
               placed(histogram_of(problem, shape, std::get<std::int64_t>(experts->data))));
  }
  (void)read_kernel_case(result);
  return result;
}

Kernel serving_kernel(const Problem& problem, std::size_t shape) {
  Kernel kernel = read_kernel_case(serving_case(problem, shape)).kernel;
  set_cold(kernel, false);
  return kernel;
}

Tile tile_at(const Problem& problem, const State& state) {
  FORETOKEN_CHECK(problem.tile.has_value(), "{} has no GEMM tile", problem.name);
  const Names names = constants_at(problem, state);
  const SourcePosition& position = problem.tile->position;
  const auto size = [&](const std::string& text) {
    const double value = evaluate(text, names, position);
    if (!(value >= 1 && value <= 65536 && value == std::floor(value))) {
      throw ConfigError(position, fmt::format("tile size '{}' is {}", text, value));
    }
    return static_cast<int>(value);
  };
  const TileNames& tile = *problem.tile;
  return {size(tile.m),      size(tile.n),       size(tile.k),      size(tile.warps),
          size(tile.stages), size(tile.group_m), size(tile.split_k)};
}

}  // namespace foretoken::tune
