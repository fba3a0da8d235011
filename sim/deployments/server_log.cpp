#include "sim/deployments/server_log.hpp"

#include <algorithm>
#include <charconv>

#include "sim/deployments/launcher.hpp"
#include "sim/deployments/python_value.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken {
namespace {

/// A log begins with what the server was started with.
constexpr int lines_max = 20'000;

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}

/// "393,216" and "393216"; 0 where the text begins with no number.
std::int64_t leading_count(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c == ',' && !digits.empty()) continue;
    if (c < '0' || c > '9') break;
    digits += c;
  }
  std::int64_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

std::string leading_word(std::string_view text) {
  return std::string(text.substr(0, std::min(text.find_first_of(" \t,"), text.size())));
}

class LogReader {
 public:
  explicit LogReader(const std::filesystem::path& path) : path_(path.string()) {}

  void read(std::string_view line, int number) {
    if (const auto args = after(line, "non-default args: "); !args.empty())
      take_flags("vllm", args, number);
    if (const auto args = after(line, "server_args="); !args.empty())
      take_flags("sglang", args, number);
    if (const auto version = after(line, "API server version "); !version.empty())
      known_.launched.version = leading_word(version);
    if (const auto tokens = after(line, "GPU KV cache size: "); !tokens.empty())
      kv_tokens_ = leading_count(tokens);
    if (const auto tokens = after(line, "max_total_num_tokens="); !tokens.empty())
      kv_tokens_ = leading_count(tokens);
    if (const auto tokens = after(line, "max_num_batched_tokens="); !tokens.empty())
      settle("batch_tokens_max", leading_count(tokens));
  }

  std::optional<KnownServer> finish() {
    if (known_.launched.launcher.empty()) return std::nullopt;
    const Launcher& launcher = launcher_called(known_.launched.launcher, {path_});
    const bool is_vllm = known_.launched.launcher == "vllm";
    std::int64_t block = is_vllm ? 16 : 1;
    if (const Value* given = known_.launched.find(is_vllm ? "block_size" : "page_size")) {
      if (const auto* whole = std::get_if<std::int64_t>(&given->data)) block = *whole;
    }
    if (kv_tokens_ > 0 && block > 0) settle("kv_blocks", kv_tokens_ / block);
    if (!is_vllm) settle_shares(launcher);
    // SGLang lists all its arguments: those that nobody here knows say nothing.
    std::erase_if(known_.launched.flags, [&](const LaunchFlag& flag) {
      return !is_vllm && launcher.preset.find_flag(flag.name) == nullptr;
    });
    return known_;
  }

 private:
  void settle(std::string_view key, std::int64_t value) {
    if (value > 0) known_.settled.set(key, value);
  }

  /// Attention ranks divided these before the server listed its arguments
  /// (server_args.py, _handle_data_parallelism).
  void settle_shares(const Launcher& launcher) {
    LaunchedServer& server = known_.launched;
    const Value* shares = server.find(launcher.layout.attention);
    if (shares == nullptr || !std::holds_alternative<bool>(shares->data) ||
        !std::get<bool>(shares->data))
      return;
    for (const std::string_view name : {"chunked_prefill_size", "schedule_conservativeness"}) {
      const Value* given = server.find(name);
      if (given == nullptr) continue;
      known_.settled.set(launcher.preset.find_flag(name)->key, *given);
      std::erase_if(server.flags, [&](const LaunchFlag& flag) { return flag.name == name; });
    }
  }

  void take_flags(const char* launcher, std::string_view args, int number) {
    const std::optional<Value> value = python_value(args);
    if (!value || !value->is_object()) {
      throw ConfigError({path_, number},
                        "the server's arguments are cut off in this line; copy the whole line");
    }
    LaunchedServer& server = known_.launched;
    server.launcher = launcher;
    server.position = {path_, number};
    for (const auto& [name, given] : std::get<ValueObject>(value->data)) {
      if (name == "model" || name == "model_tag" || name == "model_path") {
        if (given.is_string()) server.model = std::get<std::string>(given.data);
      } else if (name == "version" && given.is_string()) {
        server.version = std::get<std::string>(given.data);
      } else {
        server.set(name, given);
      }
    }
  }

  std::string path_;
  KnownServer known_;
  std::int64_t kv_tokens_ = 0;
};

}  // namespace

std::optional<KnownServer> read_server_log(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (!name.ends_with(".log") && !name.ends_with(".log.gz") && !name.ends_with(".txt") &&
      !name.ends_with(".out") && !name.ends_with(".err")) {
    return std::nullopt;
  }
  LogReader reader(path);
  TextLines lines(path);
  std::string_view line;
  while (lines.number() < lines_max && lines.next(line)) reader.read(line, lines.number());
  return reader.finish();
}

}  // namespace foretoken
