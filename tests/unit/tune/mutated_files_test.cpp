// Files that are nearly right: headers of kernels, recordings, caches and shapes, changed at
// random. A reader takes them or says what is wrong and where; it never ends the program any other
// way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "calibration/tune/ceiling.hpp"
#include "calibration/tune/evaluation_log.hpp"
#include "calibration/tune/search.hpp"
#include "calibration/tune/serving.hpp"
#include "sim/base/random.hpp"
#include "tests/own_folder.hpp"
#include "tests/unit/tune/suite_problem.hpp"
#include "workloads/requests/text_lines.hpp"

namespace foretoken::tune {
namespace {

std::size_t below(RandomStream& random, std::size_t end) {
  return static_cast<std::size_t>(uniform(random) * static_cast<double>(end));
}

/// One to four small changes: characters lost, doubled, changed for one that means something, a
/// number made another, lines swapped, the end cut off.
std::string mutated(std::string text, RandomStream& random) {
  constexpr std::string_view signs = "[]{}\"'=,.#-+*/%?:()!<>0179eEnN \n\t\\\x01\xff";
  for (std::size_t change = 0; change <= below(random, 4) && !text.empty(); ++change) {
    const std::size_t at = below(random, text.size());
    const std::size_t length = 1 + below(random, std::min<std::size_t>(24, text.size() - at));
    switch (below(random, 6)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text[at] = signs[below(random, signs.size())];
        break;
      case 3: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) {
          constexpr std::array<std::string_view, 5> numbers{"0", "-1", "99999999999", "1e308",
                                                            "nan"};
          text.replace(digit, 1, numbers[below(random, numbers.size())]);
        }
        break;
      }
      case 4:
        std::swap(text[at], text[below(random, text.size())]);
        break;
      default:
        if (below(random, 4) == 0) text.resize(at);
    }
  }
  return text;
}

/// Whether `read` took its input; a ConfigError has to name `file`.
bool takes(const std::string& file, const std::string& text, const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what() << "\nof\n"
                                                                       << text;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "no mistake of the file, says the program: " << error.what() << "\nof\n"
                  << text;
  }
  return false;
}

class Folder {
 public:
  Folder() : path_((own_folder() / "mutated").string()) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::string path_;
};

std::string source_file(const std::string& name) {
  std::ifstream file(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/tune/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MutatedHeaders, AreTakenOrRefused) {
  int taken = 0, refused = 0;
  for (const char* name : {"softmax", "rope", "matmul", "attention", "mixture_of_experts"}) {
    const std::string whole = source_file(std::string("suite/") + name + ".cu");
    ASSERT_FALSE(whole.empty()) << name;
    std::size_t header = 0;
    while (whole.compare(header, 3, "//!") == 0) header = whole.find('\n', header) + 1;
    RandomStream random = RandomStreams(7).stream(name);
    for (int i = 0; i < 300; ++i) {
      const std::string text = mutated(whole.substr(0, header), random) + "\nbody\n";
      const bool is_fine = takes("mutated.cu", text, [&] {
        const Problem problem = parse_problem(text, "mutated", "mutated.cu");
        // What is taken can be asked about: another shape or state may still be a mistake.
        const State start = start_state(problem);
        EXPECT_FALSE(source_of(problem, start).empty());
        EXPECT_EQ(text_of(problem, start).empty(), problem.parameters.empty());
      });
      ++(is_fine ? taken : refused);
    }
  }
  EXPECT_GT(taken, 100) << "changes of summaries and of numbers are no mistakes";
  EXPECT_GT(refused, 300);
}

TEST(MutatedHeaders, OfASuiteAreJudgedOrRefused) {
  // As `run` does: parsed, judged by the simulation, held against the ceiling.
  const std::string whole = source_file("suite/rms_norm.cu");
  const auto evaluator = make_simulated(h200(), {});
  const Ceilings ceilings;
  RandomStream random = RandomStreams(11).stream("rms_norm");
  int judged = 0;
  for (int i = 0; i < 300; ++i) {
    const std::size_t header = whole.find("extern");
    const std::string text = mutated(whole.substr(0, header), random) + whole.substr(header);
    try {
      const Problem problem = parse_problem(text, "mutated", "mutated.cu");
      Judge judge(problem, *evaluator);
      const auto& untouched = judge.judge(candidate_at(problem, start_state(problem)));
      const CeilingAnswer ceiling = ceiling_of(problem, evaluator->gpu(), ceilings);
      if (ceiling.times) (void)standing_of(*ceiling.times, untouched.evaluation.seconds);
      ++judged;
    } catch (const ConfigError&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\nof\n" << text.substr(0, header);
    }
  }
  EXPECT_GT(judged, 20);
}

TEST(MutatedRecordings, AreReadOrRefusedWithTheirLine) {
  const Folder folder;
  std::string lines;
  {
    TextLines recorded(std::string(FORETOKEN_SOURCE_DIR) +
                       "/calibration/tune/recordings/h200.csv.gz");
    std::string_view line;
    for (int i = 0; i < 40 && recorded.next(line); ++i) lines += std::string(line) + "\n";
  }
  const Problem problem = suite_problem("add_rms_norm");
  RandomStream random = RandomStreams(13).stream("recording");
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string text = mutated(lines, random);
    const std::string path = folder.write("log.csv", text);
    const bool is_fine = takes("log.csv", text, [&] {
      const EvaluationLog log = EvaluationLog::load(path);
      for (const auto& [key, entry] : log.entries()) {
        if (entry.evaluation.status != Status::ok) continue;
        for (const double seconds : entry.evaluation.seconds) EXPECT_GT(seconds, 0);
        (void)runtime_features_of(entry.evaluation, 1, h200());
      }
    });
    refused += is_fine ? 0 : 1;
    // And as evaluations, and as a cache to go on from.
    try {
      const auto replay = make_replay(path, h200());
      Judge judge(problem, *replay);
      (void)judge.best_speedup();
    } catch (const ConfigError&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\nof\n" << text;
    }
    if (i % 10 != 0) continue;
    takes("log.csv", text, [&] {
      const auto cached = make_cached(make_simulated(h200(), {}), path);
      (void)cached->evaluate(problem, candidate_at(problem, start_state(problem)));
    });
  }
  EXPECT_GT(refused, 50);
}

TEST(MutatedRecordings, GarbledGzipIsRefused) {
  const Folder folder;
  const std::string whole = source_file("recordings/h200_experts.csv.gz");
  ASSERT_GT(whole.size(), 1000U);
  RandomStream random = RandomStreams(17).stream("gzip");
  for (int i = 0; i < 40; ++i) {
    std::string bytes = whole;
    if (i % 2 == 0) {
      bytes.resize(20 + below(random, bytes.size() - 40));
    } else {
      bytes[20 + below(random, bytes.size() - 40)] ^= static_cast<char>(1 + below(random, 255));
    }
    const std::string path = folder.write("log.csv.gz", bytes);
    EXPECT_FALSE(takes("log.csv.gz", "gzip", [&] { (void)EvaluationLog::load(path); }))
        << "change " << i << " of a gzip file was not noticed";
  }
}

TEST(MutatedShapes, AreTakenOrRefused) {
  const Folder folder;
  const std::string whole = source_file("recordings/held_out_shapes.toml");
  RandomStream random = RandomStreams(19).stream("shapes");
  const std::vector<Problem> suite = load_suite();
  for (int i = 0; i < 200; ++i) {
    const std::string text = mutated(whole, random);
    const std::string path = folder.write("shapes.toml", text);
    takes("shapes.toml", text, [&] {
      std::vector<Problem> problems = suite;
      take_shapes(problems, path);
      for (const Problem& problem : problems) EXPECT_FALSE(problem.shapes.empty());
    });
  }
}

TEST(MutatedHeaders, NestingHasAnEnd) {
  const std::string deep(100'000, '(');
  for (const std::string& text :
       {deep, std::string(100'000, '-') + "1", std::string(100'000, '!'), "sqrt" + deep}) {
    EXPECT_THROW(evaluate(text, {}, {"deep.cu", 3, 0}), ConfigError);
  }
}

}  // namespace
}  // namespace foretoken::tune
