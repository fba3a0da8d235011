// Rewrites by a language model: it is told the strategy, what limits the kernel and the source, and
// answers with a whole new source. What it writes is as untrusted as any rewriter's: it is compiled
// and run by the process beside the GPU.
#include "calibration/tune/chat/chat.hpp"

#include <fmt/format.h>

#include <string_view>

#include "calibration/tune/rewriter.hpp"
#include "calibration/tune/rewriters/answers.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

constexpr std::string_view role =
    "You improve CUDA kernels for one NVIDIA GPU. You are given a kernel that is right, what "
    "limits "
    "it, and one strategy. Apply that strategy and nothing else. The names and arguments of the "
    "__global__ functions stay, and so does every value that they compute, within the tolerance. "
    "Answer with the whole new source in one ```cuda block. Constants that launches use stand in "
    "lines `#define NAME whole-number`. If grids, blocks or shared memory must change, add the "
    "launches in one ```json block, written as the ones you were given.";

/// What each strategy means, in the order of the enumeration.
constexpr std::array<std::string_view, strategy_count> meaning = {
    "tiling: change how work is cut into blocks and how much of it a thread or block holds, so "
    "that "
    "data is reused from registers, shared memory or L2",
    "vectorization: load, store and compute several elements with one instruction (float4, half2)",
    "fusion: merge loops or launches, so that intermediate results do not cross memory",
    "pipeline: overlap loads with computation (several stages, asynchronous copies, unrolling)",
    "reordering: change the order of loops, blocks or threads, how many threads work together, or "
    "split a reduction",
    "access_layout: change which thread touches which address and how data lies in shared memory: "
    "coalescing, padding, cache hints"};

std::string question(const Problem& problem, const PoolEntry& parent, Strategy strategy) {
  const Candidate full = complete(problem, parent.candidate);
  std::string text = fmt::format(
      "Kernel: {} ({}). Tolerance: |a - b| <= {} (1 + |b|).\nStrategy: {}.\n"
      "It is {:.3f} times as fast as the first version.\nProfile:",
      problem.name, problem.summary, problem.tolerance, meaning[static_cast<std::size_t>(strategy)],
      1 / parent.time);
  const ProfileNames& names = parent.is_counted ? counted_profile_names : cost_profile_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(" {}: {:.4g};", names[i], parent.profile[i]);
  }
  text += fmt::format("\nShapes ({}):", fmt::join(problem.dimensions, " x "));
  for (const Shape& shape : problem.shapes) text += fmt::format(" {}", fmt::join(shape, "x"));
  return text + fmt::format("\nLaunches:\n```json\n{}\n```\nSource:\n```cuda\n{}\n```\n",
                            to_json(launches_as_values(full.launches)), full.source);
}

/// The last fenced block that opens with one of the words; "" if there is none.
std::string block_of(std::string_view text, std::initializer_list<std::string_view> words) {
  std::string found;
  for (std::size_t at = text.find("```"); at != std::string_view::npos;) {
    const std::size_t line_end = text.find('\n', at);
    if (line_end == std::string_view::npos) break;
    std::string_view word = text.substr(at + 3, line_end - at - 3);
    while (!word.empty() && (word.back() == '\r' || word.back() == ' ')) word.remove_suffix(1);
    const std::size_t end = text.find("\n```", line_end);
    if (end == std::string_view::npos) break;
    for (const std::string_view each : words) {
      if (word == each) found = std::string(text.substr(line_end + 1, end - line_end));
    }
    at = text.find("```", end + 4);
  }
  return found;
}

class ChatRewriter final : public Rewriter {
 public:
  ChatRewriter(const Problem& problem, ChatModel& chat, ChatRewriting options, ChatUsage& usage)
      : problem_(&problem), chat_(&chat), options_(std::move(options)), usage_(&usage) {}

  std::array<bool, strategy_count> can(const PoolEntry&) override {
    return {true, true, true, true, true, true};
  }

  Rewrite rewrite(const PoolEntry& parent, Strategy strategy) override {
    const ChatReply reply = chat_->ask(
        {options_.model,
         options_.temperature,
         {{"system", std::string(role)}, {"user", question(*problem_, parent, strategy)}}});
    usage_->add(reply);
    if (!reply.failure.empty()) return failed_rewrite(Status::malformed, reply.failure);
    const std::string source = block_of(reply.text, {"cuda", "cpp", "c++", "c", "cu", ""});
    if (source.empty()) {
      return failed_rewrite(Status::malformed, "the reply has no closed ```cuda block");
    }
    try {
      Candidate candidate;
      candidate.source = source;
      candidate.launches = parent.candidate.launches;
      candidate.constants = constants_in(source);
      if (const std::string launches = block_of(reply.text, {"json"}); !launches.empty()) {
        Diagnostics diagnostics;
        candidate.launches =
            read_launches(parse_json(launches, {"the reply's launches", 1, 0}), diagnostics);
        diagnostics.throw_if_any();
      }
      return {candidate, {}};
    } catch (const ConfigError& mistake) {
      return failed_rewrite(Status::malformed, mistake.what());
    }
  }

 private:
  const Problem* problem_;
  ChatModel* chat_;
  ChatRewriting options_;
  ChatUsage* usage_;
};

}  // namespace

std::unique_ptr<Rewriter> make_chat_rewriter(const Problem& problem, ChatModel& chat,
                                             ChatRewriting options, ChatUsage& usage) {
  return std::make_unique<ChatRewriter>(problem, chat, std::move(options), usage);
}

}  // namespace foretoken::tune
