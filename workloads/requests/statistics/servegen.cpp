// A client of ServeGen (github.com/alibaba/ServeGen): NAME-trace.csv has a window a line (second,
// requests/s, coefficient of variation and distribution of the intervals), NAME-dataset.json the
// probabilities of lengths for every few hours, as Python dictionaries in strings. Intervals become
// Gamma's of the same variation. Text, image, audio and video tokens make a prompt; the latter
// count with their mean.
#include <charconv>
#include <cmath>
#include <map>

#include "sim/base/json.hpp"
#include "workloads/requests/statistics_format.hpp"
#include "workloads/requests/trace_fields.hpp"

namespace foretoken {
namespace {

constexpr std::string_view trace_end = "-trace.csv", dataset_end = "-dataset.json";
constexpr std::size_t dataset_bytes_max = std::size_t{1} << 28, steps_most = 168;

struct RateWindow {
  double begin = 0, rate = 0, variation = 0;
};

double csv_number(std::string_view text, std::string_view name) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > 1e12)
    throw BadLine(fmt::format("{} must be a number from 0 on, found '{}'", name, text));
  return value;
}

std::vector<RateWindow> read_windows(const std::filesystem::path& path) {
  std::vector<RateWindow> windows;
  TextLines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    const SourcePosition place = {path.string(), lines.number()};
    try {
      const auto fields = comma_fields(line);
      if (fields.size() != 6)
        throw BadLine(
            fmt::format("expected 6 fields (second, rate, variation, distribution, shape, "
                        "scale), found {}",
                        fields.size()));
      windows.push_back({csv_number(fields[0], "the second"), csv_number(fields[1], "the rate"),
                         csv_number(fields[2], "the variation")});
    } catch (const BadLine& bad) {
      throw ConfigError(place, bad.what());
    }
    if (windows.size() > 1 && windows.back().begin <= windows[windows.size() - 2].begin)
      throw ConfigError(place, "begins no later than the window before");
  }
  if (windows.size() < 2)
    throw ConfigError({path.string()}, "needs two windows or more; the file may be cut off");
  return windows;
}

/// "{46: 0.99, 98: 0.01}".
std::map<double, double> python_dictionary(std::string_view text, std::string_view name) {
  std::map<double, double> found;
  const auto refuse = [&] {
    throw BadLine(fmt::format("{} must be a dictionary such as {{46: 0.9, 98: 0.1}}", name));
  };
  const auto take = [&](char end_a, char end_b) {
    const auto end = text.find_first_of(std::string{end_a, end_b});
    double value = 0;
    if (end == std::string_view::npos) refuse();
    std::string_view part = text.substr(0, end);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    const auto [last, status] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (status != std::errc() || last != part.data() + part.size() || !(value >= 0)) refuse();
    text.remove_prefix(end);
    return value;
  };
  if (!text.starts_with('{')) refuse();
  text.remove_prefix(1);
  while (!text.empty() && text != "}") {
    const double key = take(':', ':');
    text.remove_prefix(1);
    found[key] += take(',', '}');
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  if (text != "}") refuse();
  return found;
}

double mean_of(const std::map<double, double>& shares) {
  double sum = 0, all = 0;
  for (const auto& [value, share] : shares) {
    sum += value * share;
    all += share;
  }
  return all > 0 ? sum / all : 0;
}

/// What a few hours' requests look like.
class LengthsOfHours {
 public:
  explicit LengthsOfHours(const Value& hours) : hours_(hours) {}

  /// Adds `weight` requests.
  void add_to(std::vector<WeightedLength>& prompts, std::vector<WeightedLength>& outputs,
              double weight) const {
    const bool has_text = hours_.find("text_tokens") != nullptr;
    double media = 0;
    for (const std::string_view kind : {"image", "audio", "video"})
      media += mean_of(shares(std::string(kind) + "_tokens")) *
               mean_of(shares(std::string(kind) + "_count"));
    add(shares(has_text ? "text_tokens" : "input_tokens"), media, weight, prompts);
    add(shares("output_tokens"), 0, weight, outputs);
  }

 private:
  [[nodiscard]] std::map<double, double> shares(const std::string& key) const {
    const Value* text = hours_.find(key);
    if (text == nullptr) return {};
    if (!text->is_string()) throw BadLine(fmt::format("{} must be a string", key));
    return python_dictionary(std::get<std::string>(text->data), key);
  }
  static void add(const std::map<double, double>& shares, double more, double weight,
                  std::vector<WeightedLength>& lengths) {
    constexpr double tokens_most = 1e9;
    for (const auto& [tokens, share] : shares) {
      const double whole = std::clamp(std::round(tokens + more), 1.0, tokens_most);
      lengths.push_back({static_cast<int>(whole), share * weight});
    }
  }

  const Value& hours_;
};

std::filesystem::path partner(const std::filesystem::path& file, std::string_view own,
                              std::string_view other) {
  std::string name = file.filename().string();
  const auto at = name.rfind(own);
  if (at == std::string::npos) return {};
  name.replace(at, own.size(), other);
  for (const std::string& each : {name, name + ".gz", name.substr(0, name.rfind(".gz"))})
    if (std::filesystem::is_regular_file(file.parent_path() / each))
      return file.parent_path() / each;
  return {};
}

bool is_dataset(const TraceHead& head) {
  return head.beginning.starts_with('{') && head.has("\"output_tokens\": \"{");
}

bool is_window_list(const TraceHead& head) {
  const auto fields = comma_fields(head.first_line);
  return fields.size() == 6 &&
         (fields[3].empty() || fields[3] == "Gamma" || fields[3] == "Weibull");
}

/// The two files, whichever of them were named.
struct ServegenFiles {
  std::filesystem::path windows, dataset;
};

ServegenFiles files_of(const std::vector<std::filesystem::path>& named) {
  ServegenFiles files;
  for (const std::filesystem::path& file : named) {
    TextLines lines(file);
    (is_dataset(trace_head(lines)) ? files.dataset : files.windows) = file;
  }
  if (files.dataset.empty()) files.dataset = partner(files.windows, trace_end, dataset_end);
  if (files.windows.empty()) files.windows = partner(files.dataset, dataset_end, trace_end);
  if (files.dataset.empty() || files.windows.empty()) {
    throw ConfigError(
        {named[0].string()},
        fmt::format("needs NAME{} and NAME{} side by side; name both", trace_end, dataset_end));
  }
  return files;
}

class Servegen final : public StatisticsFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return is_window_list(head) || is_dataset(head);
  }

  ObservedTraffic read(const std::vector<std::filesystem::path>& named,
                       const StatisticsOptions& options) const override {
    const ServegenFiles files = files_of(named);
    const std::vector<RateWindow> all = read_windows(files.windows);
    const double step = all[1].begin - all[0].begin;
    const TimeWindow window = options.window.value_or(TimeWindow{Seconds(0.0), Seconds(1e12)});
    std::vector<RateWindow> windows;
    for (const RateWindow& each : all)
      if (each.begin >= window.begin.value() &&
          each.begin + step <= window.end.value() * (1 + 1e-12))
        windows.push_back(each);

    ObservedTraffic traffic;
    double requests = 0, variation = 0;
    for (const RateWindow& each : windows) {
      traffic.rates.push_back(each.rate);
      requests += each.rate * step;
      variation += each.rate * step * each.variation * each.variation;
    }
    if (requests <= 0)
      throw ConfigError({files.windows.string()},
                        "no request comes in this window; choose another with --window");
    traffic.requests = std::llround(requests);
    traffic.step = Seconds(step);
    traffic.span = Seconds(step * static_cast<double>(windows.size()));
    if (variation > 0) traffic.burstiness = std::clamp(requests / variation, 0.001, 1000.0);
    coarsen(traffic, steps_most);
    take_lengths(files.dataset, windows, step, traffic);
    return traffic;
  }

 private:
  /// Of each few hours by the requests that come in them.
  static void take_lengths(const std::filesystem::path& path,
                           const std::vector<RateWindow>& windows, double step,
                           ObservedTraffic& traffic) {
    TextLines lines(path);
    const Value dataset = parse_json(lines.take_rest(dataset_bytes_max), {path.string()});
    if (!dataset.is_object()) throw ConfigError({path.string()}, "must be a JSON object");
    std::map<double, std::pair<const Value*, double>> hours;  // by beginning: lengths, requests
    for (const auto& [begin, value] : std::get<ValueObject>(dataset.data))
      hours[std::strtod(begin.c_str(), nullptr)] = {&value, 0.0};
    for (const RateWindow& each : windows) {
      auto after = hours.upper_bound(each.begin);
      if (after != hours.begin()) std::prev(after)->second.second += each.rate * step;
    }
    std::vector<WeightedLength> prompts, outputs;
    try {
      for (const auto& [begin, each] : hours)
        if (each.second > 0 && each.first->is_object())
          LengthsOfHours(*each.first).add_to(prompts, outputs, each.second);
    } catch (const BadLine& bad) {
      throw ConfigError({path.string()}, bad.what());
    }
    const auto has_weight = [](const WeightedLength& length) { return length.weight > 0; };
    if (std::ranges::none_of(prompts, has_weight) || std::ranges::none_of(outputs, has_weight))
      throw ConfigError({path.string()}, "tells no lengths for this window");
    traffic.prompt_tokens = length_histogram(std::move(prompts));
    traffic.output_tokens = length_histogram(std::move(outputs));
  }
};

}  // namespace

std::unique_ptr<StatisticsFormat> servegen_statistics() { return std::make_unique<Servegen>(); }

}  // namespace foretoken
