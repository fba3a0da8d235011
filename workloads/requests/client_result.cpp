#include "workloads/requests/client_result.hpp"

#include <array>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <queue>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/base/json.hpp"
#include "workloads/requests/aiperf_record.hpp"
#include "workloads/requests/text_lines.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

/// The columns stand behind a client's settings and figures, which are a few kB.
constexpr std::size_t beginning_bytes = 65536;

/// Python writes numbers that JSON does not know.
std::string as_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool is_quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (is_quoted && text[at] == '\\') {
      out += rest.substr(0, 2);
      ++at;
      continue;
    }
    if (text[at] == '"') is_quoted = !is_quoted;
    constexpr auto names = std::to_array<std::string_view>({"-Infinity", "Infinity", "NaN"});
    std::size_t skipped = 0;
    for (const std::string_view name : names) {
      if (!is_quoted && skipped == 0 && rest.starts_with(name)) skipped = name.size();
    }
    if (skipped == 0) {
      out += text[at];
    } else {
      out += "null";
      at += skipped - 1;
    }
  }
  return out;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError({path.string()}, "this file cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

class ResultReader {
 public:
  ResultReader(const std::filesystem::path& path, const std::string& text)
      : path_(path.string()), root_(parse_json(as_json(only_run(text)), {path_})) {}

  [[nodiscard]] ClientResult read() const {
    ClientResult result;
    if (const Value* model = root_.find("model_id"); model != nullptr && model->is_string())
      result.model = std::get<std::string>(model->data);
    result.users = users();
    const ValueArray& prompts = list("input_lens");
    const ValueArray& outputs = list("output_lens");
    const ValueArray& firsts = list("ttfts");
    const ValueArray& gaps = list("itls");
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      SentRequest request{.number = static_cast<int>(i),
                          .prompt_tokens = count(prompts[i], "input_lens"),
                          .output_tokens = count(outputs[i], "output_lens")};
      request.first_token = time(firsts[i], "ttfts");
      request.last_token = request.first_token + sum(gaps[i]);
      if (request.output_tokens < 1 || request.prompt_tokens < 1 || request.first_token <= 0) {
        ++result.failed;
      } else {
        result.requests.push_back(request);
      }
    }
    if (result.requests.empty()) fail("no request was answered in this run");
    date(result);
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw ConfigError({path_}, message); }

  /// SGLang's client appends a line a run.
  [[nodiscard]] std::string_view only_run(std::string_view text) const {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
      text.remove_suffix(1);
    std::size_t runs = 1;
    for (std::size_t at = text.find("}\n{"); at != std::string_view::npos;
         at = text.find("}\n{", at + 1)) {
      ++runs;
    }
    if (runs > 1) {
      fail(fmt::format("holds {} runs, one per line; keep one of them, as with sed -n 1p", runs));
    }
    return text;
  }

  [[nodiscard]] const ValueArray& list(std::string_view key) const {
    const Value* value = root_.find(key);
    const auto* array = value == nullptr ? nullptr : std::get_if<ValueArray>(&value->data);
    if (array == nullptr) {
      fail(
          fmt::format("has no list \"{}\"; record with --save-result --save-detailed (vllm bench "
                      "serve) or --output-details (sglang.bench_serving)",
                      key));
    }
    if (key != "input_lens" && array->size() != list("input_lens").size()) {
      fail(fmt::format("\"{}\" has {} entries and \"input_lens\" {}; is the file cut off?", key,
                       array->size(), list("input_lens").size()));
    }
    return *array;
  }

  [[nodiscard]] double number(const Value& value, std::string_view key) const {
    if (const auto* whole = std::get_if<std::int64_t>(&value.data))
      return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&value.data)) return *real;
    fail(fmt::format("\"{}\" holds {} where a number belongs", key, type_name(value)));
  }

  [[nodiscard]] int count(const Value& value, std::string_view key) const {
    constexpr double count_max = 1e9;
    const double found = number(value, key);
    if (!(found >= 0 && found <= count_max)) fail(fmt::format("\"{}\" holds {}", key, found));
    return static_cast<int>(found);
  }

  [[nodiscard]] double time(const Value& value, std::string_view key) const {
    constexpr double furthest_s = 4e9;  // the year 2096 in Unix time
    const double found = number(value, key);
    if (!(found >= 0 && found <= furthest_s))
      fail(fmt::format("\"{}\" holds {}, which is not a time in s", key, found));
    return found;
  }

  [[nodiscard]] double sum(const Value& gaps) const {
    const auto* array = std::get_if<ValueArray>(&gaps.data);
    if (array == nullptr) fail("\"itls\" must hold a list of times for each request");
    return std::accumulate(array->begin(), array->end(), 0.0,
                           [&](double sum, const Value& gap) { return sum + time(gap, "itls"); });
  }

  /// Whether requests were sent without waiting for a date.
  [[nodiscard]] bool is_unpaced() const {
    const Value* rate = root_.find("request_rate");
    return rate == nullptr || (rate->is_string() && std::get<std::string>(rate->data) == "inf");
  }

  [[nodiscard]] std::optional<int> users() const {
    const Value* most = root_.find("max_concurrency");
    if (most == nullptr || !is_unpaced()) return std::nullopt;
    const int users = count(*most, "max_concurrency");
    if (users == 0) fail("\"max_concurrency\" is 0");
    return users;
  }

  /// From durations to dates.
  void date(ClientResult& result) const {
    const Value* starts = root_.find("start_times");
    if (starts == nullptr && !is_unpaced()) {
      fail(
          "\"start_times\" is missing, and requests that were sent at a rate do not say when; "
          "record with a client that writes them (vLLM's, of January 2026 or later), or with "
          "--request-rate inf --max-concurrency N");
    }
    std::priority_queue<double, std::vector<double>, std::greater<>> ends;
    for (SentRequest& request : result.requests) {
      if (starts != nullptr) {
        const auto row = static_cast<std::size_t>(request.number);
        request.sent = time(list("start_times")[row], "start_times");
      } else if (result.users && static_cast<int>(ends.size()) >= *result.users) {
        request.sent = ends.top();
        ends.pop();
      }
      request.first_token += request.sent;
      request.last_token += request.sent;
      ends.push(request.last_token);
    }
  }

  std::string path_;
  Value root_;
};

ClientResult read_aiperf_result(const std::filesystem::path& path) {
  ClientResult result;
  TextLines lines(path);
  std::string_view line;
  while (lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      const std::optional<AiperfRecord> record = read_aiperf_record(line);
      if (!record) continue;
      if (!record->ttft_s || !record->latency_s || *record->latency_s < *record->ttft_s)
        throw BadLine(
            "lacks a time_to_first_token within request_latency; record with --streaming");
      const double sent = 1e-9 * static_cast<double>(record->sent_ns);
      result.requests.push_back({static_cast<int>(result.requests.size()), record->prompt_tokens,
                                 record->output_tokens, sent, sent + *record->ttft_s,
                                 sent + *record->latency_s});
    } catch (const FailedRequest&) {
      ++result.failed;
    } catch (const BadLine& bad) {
      throw ConfigError({lines.path(), lines.number()}, bad.what());
    }
  }
  if (result.requests.empty())
    throw ConfigError({path.string()}, "no request was answered in this run");
  return result;
}

std::string beginning_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(beginning_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  text.erase(0, std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text;
}

}  // namespace

bool is_client_result(const std::filesystem::path& path) {
  const std::string text = beginning_of(path);
  return text.starts_with('{') &&
         (is_aiperf_record(text) || text.find("\"input_lens\"") != std::string::npos);
}

ClientResult load_client_result(const std::filesystem::path& path) {
  return is_aiperf_record(beginning_of(path)) ? read_aiperf_result(path)
                                              : ResultReader(path, text_of(path)).read();
}

}  // namespace foretoken
