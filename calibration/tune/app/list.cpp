// `foretoken-tune list`: kernels of the suite with their spaces, policies, strategies.
#include <memory>

#include "calibration/say.hpp"
#include "calibration/tune/app/subcommand.hpp"
#include "calibration/tune/policy.hpp"
#include "calibration/tune/problem.hpp"
#include "sim/base/json.hpp"

namespace foretoken::tune {
namespace {

int list(const std::string& folder, bool is_json) {
  const std::vector<Problem> suite =
      load_suite(folder.empty() ? std::nullopt : std::optional(folder));
  const PolicyRegistry registry = policy_catalog();
  ValueArray kernels, policies;
  std::size_t points = 0;
  for (const Problem& problem : suite) {
    std::size_t size = 1;
    for (const Parameter& parameter : problem.parameters) size *= parameter.values.size();
    points += size;
    kernels.emplace_back(ValueObject{{"name", problem.name},
                                     {"level", problem.level},
                                     {"shapes", static_cast<int>(problem.shapes.size())},
                                     {"implementations", static_cast<std::int64_t>(size)},
                                     {"start", text_of(problem, start_state(problem))},
                                     {"summary", problem.summary}});
    if (!is_json) {
      say("{:20} level {}, {:2} shapes, {:4} implementations  {}\n", problem.name, problem.level,
          problem.shapes.size(), size, problem.summary);
    }
  }
  for (const auto& entry : registry.entries()) {
    policies.emplace_back(ValueObject{{"name", entry.name}, {"summary", entry.summary}});
    if (!is_json && policies.size() == 1) {
      say("{} kernels, {} implementations\n\nPolicies\n", suite.size(), points);
    }
    if (!is_json) say("{:24} {}\n", entry.name, entry.summary);
  }
  if (is_json) {
    say("{}\n",
        to_json(ValueObject{{"kernels", std::move(kernels)}, {"policies", std::move(policies)}}));
  }
  return 0;
}

}  // namespace

void add_list(CLI::App& program, Action& chosen) {
  struct Flags {
    std::string suite;
    bool is_json = false;
  };
  const auto flags = std::make_shared<Flags>();
  CLI::App* command = program.add_subcommand("list", "List the suite's kernels and the policies");
  command->add_option("--suite", flags->suite, "Folder of additional kernels (*.cu)");
  command->add_flag("--json", flags->is_json);
  command->callback(
      [flags, &chosen] { chosen = [flags] { return list(flags->suite, flags->is_json); }; });
}

}  // namespace foretoken::tune
