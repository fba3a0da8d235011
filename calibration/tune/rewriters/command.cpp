#include "calibration/tune/child_process.hpp"
#include "calibration/tune/rewriter.hpp"
#include "calibration/tune/rewriters/answers.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

class CommandRewriter final : public Rewriter {
 public:
  CommandRewriter(const Problem& problem, std::string command, std::chrono::milliseconds limit)
      : problem_(&problem), command_(std::move(command)), limit_(limit) {}

  std::array<bool, strategy_count> can(const PoolEntry&) override {
    return {true, true, true, true, true, true};
  }

  Rewrite rewrite(const PoolEntry& parent, Strategy strategy) override {
    ChildProcess child({"sh", "-c", command_});
    const ChildProcess::Answer answer =
        child.finish(to_json(question(parent, strategy), -1), limit_);
    if (answer.outcome == ChildProcess::Outcome::timeout) {
      return failed_rewrite(Status::timeout, fmt::format("no source within {} ms", limit_.count()));
    }
    if (answer.outcome == ChildProcess::Outcome::ended) {
      return failed_rewrite(Status::crash, "the command ended with " + child.end());
    }
    try {
      return {read(answer.text, parent), {}};
    } catch (const ConfigError& mistake) {
      return failed_rewrite(Status::malformed, mistake.what());
    }
  }

 private:
  [[nodiscard]] Value question(const PoolEntry& parent, Strategy strategy) const {
    const Candidate full = complete(*problem_, parent.candidate);
    ValueObject constants;
    for (const auto& [name, value] : full.constants) constants.emplace_back(name, value);
    ValueArray profile;
    for (const double number : parent.profile) profile.emplace_back(number);
    return ValueObject{{"problem", problem_->name},
                       {"summary", problem_->summary},
                       {"strategy", std::string(name_of(strategy))},
                       {"speedup", 1 / parent.time},
                       {"profile", std::move(profile)},
                       {"constants", std::move(constants)},
                       {"launches", launches_as_values(full.launches)},
                       {"source", full.source}};
  }

  [[nodiscard]] Candidate read(const std::string& text, const PoolEntry& parent) const {
    const SourcePosition position{"the command's answer", 1, 0};
    Candidate candidate;
    candidate.launches = parent.candidate.launches;
    if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw ConfigError(position, "is empty");
    }
    if (text[text.find_first_not_of(" \t\r\n")] == '{') {
      const Value root = parse_json(text, position);
      Diagnostics diagnostics;
      TableReader table(root, diagnostics, "answer");
      table.require("source", candidate.source);
      if (const Value* launches = table.find("launches")) {
        candidate.launches = read_launches(*launches, diagnostics);
      }
      diagnostics.throw_if_any();
    } else {
      candidate.source = text;
    }
    candidate.constants = constants_in(candidate.source);
    return candidate;
  }

  const Problem* problem_;
  std::string command_;
  std::chrono::milliseconds limit_;
};

}  // namespace

std::unique_ptr<Rewriter> make_command_rewriter(const Problem& problem, std::string command,
                                                std::chrono::milliseconds limit) {
  return std::make_unique<CommandRewriter>(problem, std::move(command), limit);
}

}  // namespace foretoken::tune
