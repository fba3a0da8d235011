#include "calibration/tune/device/device_requests.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretoken::tune {
namespace {

std::int64_t whole(const std::string& text, const Names& names) {
  const double value = evaluate(text, names);
  if (!(std::abs(value) < 9e15) || value != std::floor(value)) {
    throw ConfigError({}, fmt::format("\"{}\" is {} and no whole number", text, value));
  }
  return static_cast<std::int64_t>(value);
}

Value launches_at(const Problem& problem, const std::vector<Launch>& launches, const Names& names) {
  ValueArray resolved;
  for (const Launch& launch : launches) {
    if (evaluate(launch.when, names) == 0) continue;
    ValueArray grid, block, arguments;
    for (const std::string& size : launch.grid) grid.emplace_back(whole(size, names));
    for (const std::string& size : launch.block) block.emplace_back(whole(size, names));
    for (const std::string& argument : launch.arguments) {
      const auto buffer = std::ranges::find(problem.buffers, argument, &Buffer::name);
      if (buffer == problem.buffers.end()) {
        arguments.emplace_back(ValueArray{"i", whole(argument, names)});
      } else {
        arguments.emplace_back(ValueArray{"b", buffer - problem.buffers.begin()});
      }
    }
    resolved.emplace_back(ValueObject{{"k", launch.kernel},
                                      {"g", std::move(grid)},
                                      {"b", std::move(block)},
                                      {"s", whole(launch.shared, names)},
                                      {"a", std::move(arguments)}});
  }
  return resolved;
}

}  // namespace

Value prepare_request(const Problem& problem, const std::string& cubin, int sms) {
  constexpr std::array<std::string_view, 3> roles{"input", "output", "scratch"};
  ValueArray shapes;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    const Names names = names_of(problem, constants_at(problem, start_state(problem)), i, sms);
    ValueArray buffers;
    for (const Buffer& buffer : problem.buffers) {
      const std::int64_t count = whole(buffer.count, names);
      buffers.emplace_back(ValueObject{
          {"type", std::string(name_of(buffer.type))},
          {"role", std::string(roles.at(static_cast<std::size_t>(buffer.role)))},
          {"count", count},
          {"bytes", count * bytes_of(buffer.type)},
          {"fill", buffer.fill},
          {"below", buffer.below.empty() ? std::int64_t{0} : whole(buffer.below, names)},
          {"scale", evaluate(buffer.scale, names)}});
    }
    shapes.emplace_back(ValueObject{{"buffers", std::move(buffers)},
                                    {"launches", launches_at(problem, problem.reference, names)}});
  }
  return ValueObject{{"op", "prepare"},
                     {"cubin", cubin},
                     {"tolerance", problem.tolerance},
                     {"shapes", std::move(shapes)}};
}

Value launch_request(std::string_view operation, const Problem& problem, const Candidate& candidate,
                     const std::string& cubin, int sms) {
  ValueArray shapes;
  for (std::size_t i = 0; i < problem.shapes.size(); ++i) {
    shapes.push_back(
        launches_at(problem, candidate.launches, names_of(problem, candidate.constants, i, sms)));
  }
  return ValueObject{
      {"op", std::string(operation)}, {"cubin", cubin}, {"shapes", std::move(shapes)}};
}

}  // namespace foretoken::tune
