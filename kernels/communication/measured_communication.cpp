// Looking a call up in the database, and reading and writing it.
#include "kernels/communication/measured_communication.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "sim/base/embedded.hpp"
#include "sim/base/json.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_comm();

namespace {

constexpr double rate_tolerance = 0.02;  // of a link rate that counts as the same

/// Slower links are PCIe, whose hosts differ too much for a sibling GPU to stand in.
constexpr BytesPerSecond switched_rate_min(100e9);

/// How much of a correction goes for more or fewer ranks than a curve was measured with: forests do
/// not extrapolate, and protocols change elsewhere.
constexpr double extrapolation_trust = 0.5;

/// Of the n-1 others, how many ranks a token goes to whose `topk` experts are drawn evenly.
double ranks_reached(int ranks, int topk) {
  return (ranks - 1) * (1 - std::pow(1 - 1.0 / ranks, topk));
}

struct MovedShare {
  double steps, share;
};

MovedShare traffic_of(const CommPoint& point) {
  const double others = point.ranks - 1;
  const double share = others / point.ranks;
  switch (point.op) {
    case CollectiveOp::all_reduce:  // between nodes NCCL takes trees for what is short
      return {point.nodes > 1 ? 2 * std::log2(point.ranks) : 2 * others, 2 * share};
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return {others, share};
    case CollectiveOp::all_to_all:
      return {1, share};
    case CollectiveOp::broadcast:
      return {others, 1};
    case CollectiveOp::send_recv:
      return {1, 1};
    case CollectiveOp::expert_dispatch:
    case CollectiveOp::expert_combine:
      break;
  }
  const bool is_direct = point.experts.mode == ExpertMode::low_latency;
  return {1,
          is_direct ? point.experts.topk * share : ranks_reached(point.ranks, point.experts.topk)};
}

bool is_same_rate(BytesPerSecond a, BytesPerSecond b) {
  return std::abs(a.value() - b.value()) <= rate_tolerance * b.value();
}

bool is_curve_of(const MeasuredCurve& curve, const CommPoint& point) {
  return curve.op == point.op && curve.library == point.library && curve.launch == point.launch &&
         curve.nodes == point.nodes &&
         (point.nodes == 1 || is_same_rate(curve.network_rate, point.network_rate)) &&
         (point.library != CommLibrary::deepep || curve.mode == point.experts.mode);
}

bool covers(const MeasuredCurve& curve, int ranks) {
  return curve.ranks.front() <= ranks && ranks <= curve.ranks.back();
}

/// In octaves of the link rate; another generation counts as a third of one.
double distance(const MeasuredFabric& fabric, const CommPoint& point) {
  constexpr double generation = 1.0 / 3;
  const bool is_other = fabric.compute_capability / 10 != point.compute_capability / 10;
  return std::abs(std::log2(fabric.link_rate / point.link_rate)) + (is_other ? generation : 0);
}

bool is_same_fabric(const MeasuredFabric& fabric, const CommPoint& point) {
  return fabric.compute_capability == point.compute_capability &&
         is_same_rate(fabric.link_rate, point.link_rate);
}

std::string described(const CommPoint& point) {
  const std::string who = fmt::format("{} of {} by {} ({})", enum_name(point.op), point.ranks,
                                      enum_name(point.library), enum_name(point.launch));
  if (point.nodes == 1) return who;
  return fmt::format("{} over {} nodes with {:.0f} GB/s of network each", who, point.nodes,
                     point.network_rate.value() * 1e-9);
}

const ValueArray& array_in(const Value& value, std::string_view key) {
  const Value* const member = value.is_object() ? value.find(key) : nullptr;
  if (member == nullptr || !member->is_array())
    throw ConfigError(value.position, fmt::format("the database needs an array '{}'", key));
  return std::get<ValueArray>(member->data);
}

double number_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value.data))
    return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  throw ConfigError(value.position, "must be a number");
}

double number_in(const Value& value, std::string_view key) {
  const Value* const member = value.is_object() ? value.find(key) : nullptr;
  if (member == nullptr)
    throw ConfigError(value.position, fmt::format("the database needs a number '{}'", key));
  return number_in(*member);
}

const std::string& text_in(const Value& value, std::string_view key) {
  const Value* const member = value.is_object() ? value.find(key) : nullptr;
  if (member == nullptr || !member->is_string())
    throw ConfigError(value.position, fmt::format("the database needs a text '{}'", key));
  return std::get<std::string>(member->data);
}

template <class Enum>
Enum enum_in(const Value& value, std::string_view key) {
  const std::string& name = text_in(value, key);
  if (const auto known = parse_enum<Enum>(name)) return *known;
  throw ConfigError(value.position, fmt::format("{}: '{}' is not known", key, name));
}

/// What the artifact holds of a number that is fitted; next to nothing is nothing.
double four_digits(double value) {
  constexpr double next_to_nothing = 1e-3;
  const std::string text = fmt::format("{:.4g}", value < next_to_nothing ? 0.0 : value);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

Value written(const MeasuredCurve& curve) {
  ValueArray ranks;
  ValueArray sizes;
  for (const int count : curve.ranks) ranks.emplace_back(count);
  for (const double size : curve.sizes) sizes.emplace_back(static_cast<std::int64_t>(size));
  ValueArray law;
  for (const double number : curve.law.numbers()) law.emplace_back(number);
  return ValueObject{{"op", std::string(enum_name(curve.op))},
                     {"library", std::string(enum_name(curve.library))},
                     {"launch", std::string(enum_name(curve.launch))},
                     {"mode", std::string(enum_name(curve.mode))},
                     {"nodes", curve.nodes},
                     {"network_gb_s", four_digits(curve.network_rate.value() * 1e-9)},
                     {"ranks", std::move(ranks)},
                     {"law", std::move(law)},
                     {"sizes", std::move(sizes)}};
}

MeasuredCurve read_curve(const Value& value) {
  MeasuredCurve curve;
  curve.op = enum_in<CollectiveOp>(value, "op");
  curve.library = enum_in<CommLibrary>(value, "library");
  curve.launch = enum_in<CommLaunch>(value, "launch");
  curve.mode = enum_in<ExpertMode>(value, "mode");
  curve.nodes = static_cast<int>(number_in(value, "nodes"));
  curve.network_rate = BytesPerSecond(number_in(value, "network_gb_s") * 1e9);
  std::vector<double> law;
  for (const Value& number : array_in(value, "law")) law.push_back(number_in(number));
  if (law.size() != 6)
    throw ConfigError(value.position, "a curve's law is two lines of three numbers");
  curve.law = CommLaw::from_numbers(law);
  for (const Value& count : array_in(value, "ranks"))
    curve.ranks.push_back(static_cast<int>(number_in(count)));
  for (const Value& size : array_in(value, "sizes")) curve.sizes.push_back(number_in(size));
  const bool is_sound = !curve.ranks.empty() && !curve.sizes.empty() && curve.sizes.front() > 0 &&
                        std::ranges::is_sorted(curve.ranks) &&
                        std::ranges::is_sorted(curve.sizes) &&
                        curve.law.lines[0].rate.value() > 0 && curve.law.lines[1].rate.value() > 0;
  if (!is_sound) throw ConfigError(value.position, "a curve needs ascending ranks and sizes");
  return curve;
}

}  // namespace

const MeasuredCurve* MeasuredFabric::find(const CommPoint& point) const {
  const auto found = std::ranges::find_if(
      curves, [&](const MeasuredCurve& curve) { return is_curve_of(curve, point); });
  return found == curves.end() ? nullptr : &*found;
}

Seconds CommLaw::time(const CommPoint& point) const {
  const MovedShare traffic = traffic_of(point);
  const auto along = [&](const CommLine& line) {
    return line.launch + line.step * traffic.steps + Bytes(point.bytes * traffic.share) / line.rate;
  };
  return std::min(along(lines[0]), along(lines[1]));
}

std::vector<double> CommLaw::numbers() const {
  std::vector<double> result;
  for (const CommLine& line : lines) {
    result.insert(result.end(),
                  {four_digits(line.launch.value() * 1e6), four_digits(line.step.value() * 1e6),
                   four_digits(line.rate.value() * 1e-9)});
  }
  return result;
}

CommLaw CommLaw::from_numbers(std::span<const double> numbers) {
  CommLaw law;
  for (std::size_t i = 0; i < law.lines.size(); ++i) {
    law.lines[i] = {Seconds(numbers[3 * i] / 1e6), Seconds(numbers[3 * i + 1] / 1e6),
                    BytesPerSecond(numbers[3 * i + 2] * 1e9)};
  }
  return law;
}

CommPoint point_on(const ClusterSpec& cluster, int nodes, int ranks) {
  CommPoint point;
  point.nodes = nodes;
  point.ranks = ranks;
  point.link_rate = cluster.node.link_bandwidth * cluster.node.link_efficiency;
  if (nodes > 1)
    point.network_rate =
        cluster.node.nic_bandwidth * (cluster.node.nics * cluster.node.nic_efficiency);
  point.compute_capability = cluster.gpu.compute_capability;
  return point;
}

const MeasuredCommunication& MeasuredCommunication::built_in() {
  static const MeasuredCommunication database = [] {
    FORETOKEN_CHECK(embedded_comm().size() == 1, "{} databases of communication",
                    embedded_comm().size());
    return from_value(parse_json(embedded_comm().front().text, {"measured.json"}));
  }();
  return database;
}

MeasuredCommunication::Features MeasuredCommunication::features(const CommPoint& point,
                                                                Seconds first_order) {
  const auto ranks = static_cast<float>(point.ranks);
  const auto size = static_cast<float>(std::log2(point.bytes));
  return {size,
          size - std::log2(ranks),
          ranks,
          static_cast<float>(point.nodes),
          static_cast<float>(point.element_bytes),
          static_cast<float>(point.op),
          static_cast<float>(point.library),
          static_cast<float>(point.launch),
          static_cast<float>(std::log2(point.link_rate.value())),
          static_cast<float>(point.compute_capability),
          static_cast<float>(point.sms),
          static_cast<float>(point.experts.topk),
          static_cast<float>(point.experts.experts) +
              (point.experts.mode == ExpertMode::low_latency ? 0.5F : 0.0F),
          static_cast<float>(std::log2(first_order.value()))};
}

Seconds MeasuredCommunication::corrected(const CommPoint& point, const CommLaw& law,
                                         double trust) const {
  const Seconds first_order = law.time(point);
  return first_order * std::exp(trust * correction_.predict(features(point, first_order)));
}

Seconds MeasuredCommunication::time(const CommPoint& point, const MeasuredCurve& curve,
                                    const CommLaw& law) const {
  const std::vector<double>& sizes = curve.sizes;
  const double trust = covers(curve, point.ranks) ? 1 : extrapolation_trust;
  const auto at = [&](double size) {
    CommPoint knot = point;
    knot.bytes = size;
    return knot;
  };
  if (point.bytes <= sizes.front()) return corrected(at(sizes.front()), law, trust);
  if (point.bytes >= sizes.back()) {
    const CommPoint last = at(sizes.back());
    return corrected(last, law, trust) * (law.time(point) / law.time(last));
  }
  const auto above = std::ranges::upper_bound(sizes, point.bytes);
  const CommPoint low = at(*(above - 1)), high = at(*above);
  const Seconds low_time = corrected(low, law, trust), high_time = corrected(high, law, trust);
  const double weight = std::log(point.bytes / low.bytes) / std::log(high.bytes / low.bytes);
  const double low_log = std::log(low_time / law.time(low));
  const double high_log = std::log(high_time / law.time(high));
  const Seconds between = law.time(point) * std::exp(low_log + weight * (high_log - low_log));
  return std::clamp(between, std::min(low_time, high_time), std::max(low_time, high_time));
}

std::optional<Prediction> MeasuredCommunication::find_price(const CommPoint& point,
                                                            std::string_view gpu) const {
  for (const bool own : {true, false}) {  // what was measured on this very GPU goes first
    for (const MeasuredFabric& fabric : fabrics_) {
      if (!is_same_fabric(fabric, point) || (fabric.name == gpu) != own) continue;
      if (!own && point.link_rate < switched_rate_min) continue;
      const MeasuredCurve* const curve = fabric.find(point);
      if (curve == nullptr || !covers(*curve, point.ranks)) continue;
      return Prediction{time(point, *curve, curve->law), Bound::network,
                        own ? Origin::measured : Origin::transferred, expected_error_};
    }
  }
  return std::nullopt;
}

Prediction MeasuredCommunication::price(const CommPoint& point, std::string_view gpu) const {
  if (const auto found = find_price(point, gpu)) return *found;
  std::string known;
  for (const MeasuredFabric& fabric : fabrics_) {
    if (is_same_fabric(fabric, point))
      throw PredictionError(fmt::format("{} was not measured on {}", described(point), gpu));
    known += (known.empty() ? "" : ", ") + fabric.name;
  }
  throw PredictionError(fmt::format(
      "communication between GPUs as {} was not measured, only between those of {}", gpu, known));
}

Seconds MeasuredCommunication::time_on(const MeasuredFabric& fabric, const CommPoint& point) const {
  const MeasuredCurve* const curve = fabric.find(point);
  if (curve == nullptr)
    throw PredictionError(fmt::format("{} was not measured on {}", described(point), fabric.name));
  CommLaw law = curve->law;
  for (CommLine& line : law.lines) line.rate *= point.link_rate / fabric.link_rate;
  return time(point, *curve, law);
}

const MeasuredFabric* MeasuredCommunication::find(std::string_view name) const {
  const auto found = std::ranges::find(fabrics_, name, &MeasuredFabric::name);
  return found == fabrics_.end() ? nullptr : &*found;
}

const MeasuredFabric* MeasuredCommunication::nearest(const CommPoint& point) const {
  const MeasuredFabric* best = nullptr;
  for (const MeasuredFabric& fabric : fabrics_) {
    if (fabric.find(point) == nullptr) continue;
    if (best == nullptr || distance(fabric, point) < distance(*best, point)) best = &fabric;
  }
  return best;
}

Value MeasuredCommunication::to_value() const {
  ValueArray fabrics;
  for (const MeasuredFabric& fabric : fabrics_) {
    ValueArray curves;
    for (const MeasuredCurve& curve : fabric.curves) curves.push_back(written(curve));
    fabrics.emplace_back(ValueObject{{"name", fabric.name},
                                     {"compute_capability", fabric.compute_capability},
                                     {"link_rate", fabric.link_rate.value()},
                                     {"curves", std::move(curves)}});
  }
  return ValueObject{{"expected_error", expected_error_},
                     {"fabrics", std::move(fabrics)},
                     {"forest", correction_.to_value()}};
}

MeasuredCommunication MeasuredCommunication::from_value(const Value& value) {
  std::vector<MeasuredFabric> fabrics;
  for (const Value& written_fabric : array_in(value, "fabrics")) {
    MeasuredFabric fabric;
    fabric.name = text_in(written_fabric, "name");
    fabric.compute_capability = static_cast<int>(number_in(written_fabric, "compute_capability"));
    fabric.link_rate = BytesPerSecond(number_in(written_fabric, "link_rate"));
    for (const Value& curve : array_in(written_fabric, "curves"))
      fabric.curves.push_back(read_curve(curve));
    fabrics.push_back(std::move(fabric));
  }
  const Value* const forest = value.find("forest");
  if (forest == nullptr) throw ConfigError(value.position, "the database needs a 'forest'");
  return MeasuredCommunication(std::move(fabrics),
                               RegressionForest::from_value(*forest, feature_count),
                               number_in(value, "expected_error"));
}

}  // namespace foretoken
