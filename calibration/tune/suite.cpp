// The suite compiled into the program, and a user's own folder of problems over it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "calibration/tune/prelude.hpp"
#include "calibration/tune/problem.hpp"
#include "sim/base/embedded.hpp"

namespace foretoken {

std::span<const EmbeddedFile> embedded_tune_kernels();
std::span<const EmbeddedFile> embedded_tune_prelude();
std::span<const EmbeddedFile> embedded_tune_harness();

}  // namespace foretoken

namespace foretoken::tune {

std::string_view prelude() { return embedded_tune_prelude().front().text; }
std::string_view harness() { return embedded_tune_harness().front().text; }

std::vector<Problem> load_suite(const std::optional<std::string>& folder) {
  std::vector<Problem> problems;
  for (const EmbeddedFile& file : embedded_tune_kernels()) {
    const std::string name(file.stem);
    problems.push_back(parse_problem(file.text, name, fmt::format("<suite>/{}.cu", name)));
  }
  if (folder) {
    if (!std::filesystem::is_directory(*folder)) {
      throw ConfigError({*folder, 0, 0}, "is not a folder");
    }
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
      if (entry.path().extension() == ".cu") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    for (const auto& path : paths) {
      std::ifstream file(path);
      const std::string text(std::istreambuf_iterator<char>(file), {});
      Problem problem = parse_problem(text, path.stem().string(), path.string());
      std::erase_if(problems, [&](const Problem& known) { return known.name == problem.name; });
      problems.push_back(std::move(problem));
    }
  }
  std::ranges::sort(problems, {}, &Problem::name);
  return problems;
}

}  // namespace foretoken::tune
