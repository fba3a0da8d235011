// Clients of ServeGen (github.com/alibaba/ServeGen): NAME-trace.csv has a window a line (second,
// requests/s, coefficient of variation and distribution of the intervals), NAME-dataset.json the
// probabilities of lengths for every few hours, as Python dictionaries in strings. Intervals become
// Gamma's of the same variation. Text, image, audio and video tokens make a prompt; the latter
// count with their mean. Several clients are added up: rates by window, variation by what each
// brings to the variance of long counts, lengths by requests.
#include <charconv>
#include <cmath>
#include <map>
#include <ranges>

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
  return head.beginning.starts_with('{') && head.has("_tokens\": \"{");
}

bool is_window_list(const TraceHead& head) {
  const auto fields = comma_fields(head.first_line);
  return fields.size() == 6 &&
         (fields[3].empty() || fields[3] == "Gamma" || fields[3] == "Weibull");
}

/// A client's two files, whichever of them were named, and its windows.
struct ServegenClient {
  std::filesystem::path trace, dataset;
  std::vector<RateWindow> windows;

  [[nodiscard]] double step() const { return windows[1].begin - windows[0].begin; }
};

bool is_dataset_file(const std::filesystem::path& file) {
  TextLines lines(file);
  return is_dataset(trace_head(lines));
}

/// Of a file by itself, the other being beside it.
ServegenClient client_of(const std::filesystem::path& named) {
  const bool is_lengths = is_dataset_file(named);
  const auto other =
      is_lengths ? partner(named, dataset_end, trace_end) : partner(named, trace_end, dataset_end);
  if (other.empty())
    throw ConfigError(
        {named.string()},
        fmt::format("needs NAME{} and NAME{} side by side; name both", trace_end, dataset_end));
  return is_lengths ? ServegenClient{other, named, {}} : ServegenClient{named, other, {}};
}

/// Each client once, with all of its windows, which are those of one clock.
std::vector<ServegenClient> clients_of(const std::vector<std::filesystem::path>& named) {
  std::vector<ServegenClient> clients;
  if (named.size() == 2 && is_dataset_file(named[0]) != is_dataset_file(named[1])) {
    const std::size_t lengths = is_dataset_file(named[0]) ? 0 : 1;  // whatever they are called
    clients.push_back({named[1 - lengths], named[lengths], {}});
  } else {
    for (const std::filesystem::path& file : named) {
      ServegenClient client = client_of(file);
      if (std::ranges::find(clients, client.trace, &ServegenClient::trace) == clients.end())
        clients.push_back(std::move(client));
    }
  }
  for (ServegenClient& client : clients) {
    client.windows = read_windows(client.trace);
    if (client.step() != clients[0].step())
      throw ConfigError(
          {client.trace.string()},
          fmt::format("has a window every {} s, but {} one every {} s; summarize them separately",
                      client.step(), clients[0].trace.filename().string(), clients[0].step()));
  }
  return clients;
}

class Servegen final : public StatisticsFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return is_window_list(head) || is_dataset(head);
  }

  ObservedTraffic read(const std::vector<std::filesystem::path>& named,
                       const StatisticsOptions& options) const override {
    std::vector<ServegenClient> clients = clients_of(named);
    const double step = clients[0].step();
    const TimeWindow window = options.window.value_or(TimeWindow{Seconds(0.0), Seconds(1e12)});
    std::map<double, double> rates;  // by the windows' beginnings
    double requests = 0, variation = 0;
    for (ServegenClient& client : clients) {
      std::erase_if(client.windows, [&](const RateWindow& each) {
        return each.begin < window.begin.value() ||
               each.begin + step > window.end.value() * (1 + 1e-12);
      });
      for (const RateWindow& each : client.windows) {
        rates[each.begin] += each.rate;
        requests += each.rate * step;
        variation += each.rate * step * each.variation * each.variation;
      }
    }
    if (requests <= 0)
      throw ConfigError({clients[0].trace.string()},
                        "no request arrives in this window; choose another with --window");
    ObservedTraffic traffic;
    for (const auto& [begin, rate] : rates) traffic.rates.push_back(rate);
    traffic.requests = std::llround(requests);
    traffic.step = Seconds(step);
    traffic.span = Seconds(step * static_cast<double>(rates.size()));
    if (variation > 0) traffic.burstiness = std::clamp(requests / variation, 0.001, 1000.0);
    coarsen(traffic, steps_most);
    std::vector<WeightedLength> prompts, outputs;
    for (const ServegenClient& client : clients) add_lengths(client, prompts, outputs);
    traffic.prompt_tokens = length_histogram(std::move(prompts));
    traffic.output_tokens = length_histogram(std::move(outputs));
    return traffic;
  }

 private:
  /// Of each few hours by the requests that come in them.
  static void add_lengths(const ServegenClient& client, std::vector<WeightedLength>& prompts,
                          std::vector<WeightedLength>& outputs) {
    const std::filesystem::path& path = client.dataset;
    TextLines lines(path);
    const Value dataset = parse_json(lines.take_rest(dataset_bytes_max), {path.string()});
    if (!dataset.is_object()) throw ConfigError({path.string()}, "must be a JSON object");
    std::map<double, std::pair<const Value*, double>> hours;  // by beginning: lengths, requests
    for (const auto& [begin, value] : std::get<ValueObject>(dataset.data))
      hours[std::strtod(begin.c_str(), nullptr)] = {&value, 0.0};
    for (const RateWindow& each : client.windows) {
      auto after = hours.upper_bound(each.begin);
      if (after != hours.begin()) std::prev(after)->second.second += each.rate;
    }
    const std::size_t prompts_before = prompts.size(), outputs_before = outputs.size();
    try {
      for (const auto& [begin, each] : hours)
        if (each.second > 0 && each.first->is_object())
          LengthsOfHours(*each.first).add_to(prompts, outputs, each.second);
    } catch (const BadLine& bad) {
      throw ConfigError({path.string()}, bad.what());
    }
    const auto tells = [](const std::vector<WeightedLength>& lengths, std::size_t from) {
      return std::ranges::any_of(lengths | std::views::drop(from),
                                 [](const WeightedLength& length) { return length.weight > 0; });
    };
    const bool has_requests =
        std::ranges::any_of(client.windows, [](const RateWindow& each) { return each.rate > 0; });
    if (has_requests && !(tells(prompts, prompts_before) && tells(outputs, outputs_before)))
      throw ConfigError({path.string()}, "has no lengths for this window");
  }
};

}  // namespace

std::unique_ptr<StatisticsFormat> servegen_statistics() { return std::make_unique<Servegen>(); }

}  // namespace foretoken
