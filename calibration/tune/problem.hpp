// A kernel optimisation problem: an operation, the shapes it is wanted for, a reference to compare
// with, and a kernel with parameters whose values span the space of implementations. One file a
// problem (suite/*.cu): a header of TOML in lines that start with "//!", then CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/tune/expression.hpp"
#include "sim/base/value.hpp"

namespace foretoken::tune {

/// What may be done to a kernel (the arms' second half), in the order policies number them.
enum class Strategy { tiling, vectorization, fusion, pipeline, reordering, access_layout };
inline constexpr int strategy_count = 6;
std::string_view name_of(Strategy strategy);
/// Throws ConfigError at `position` for an unknown name.
Strategy strategy_named(std::string_view name, const SourcePosition& position);

/// A constant of the kernel's source. Ordered: values are listed from small to large.
struct Parameter {
  std::string name;
  Strategy strategy = Strategy::tiling;
  std::vector<int> values;
  int start = 0;  // index into values: what the kernel looks like before anybody touches it
};

enum class ElementType { f32, f16, i32, i8 };
std::string_view name_of(ElementType type);
int bytes_of(ElementType type);

struct Buffer {
  enum class Role { input, output, scratch };
  std::string name;
  ElementType type = ElementType::f32;
  Role role = Role::input;
  std::string count;  // elements
  std::string fill;   // inputs: "uniform" in [-1, 1) or "index" in [0, below)
  std::string below;
  std::string scale = "1";  // outputs: |a - b| <= tolerance * (scale + |b|)
};

/// One kernel of a plan. Expressions over dimensions, parameters and SMS, the device's SM count.
struct Launch {
  std::string kernel;
  std::string when = "1";  // launched where this is not 0
  std::vector<std::string> grid, block;
  std::string shared = "0";            // dynamic shared memory, bytes
  std::vector<std::string> arguments;  // a buffer's name, or an expression passed as a 32-bit int
};

/// What an implementation costs by its construction, for `simulated` and for profiles without
/// hardware counters.
struct Cost {
  std::string flops;
  std::string bytes;        // compulsory: every input and output once
  std::string cache_bytes;  // what all threads together ask of L2
  bool tensor = false;      // flops run on tensor cores
};

/// What the rest of Foretoken calls this kernel, a case of `foretoken predict`: who has one has
/// ceilings, can be adapted to, and can hand tiles on.
struct Serving {
  struct Size {
    std::string key;
    std::vector<std::string> values;  // expressions of the dimensions
    bool is_list = false;
  };
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> words;  // dtype = "bf16"
  std::vector<Size> sizes;
  /// Where experts are drawn by the kernel: the input of draws, and the expert that a draw (by the
  /// input's name) means, rounded down. "": there are none.
  std::string draws, expert;
  SourcePosition position;
};

/// How the kernel cuts a matrix product or a layer of experts: expressions of the parameters.
struct TileNames {
  std::string m, n, k, warps, stages, group_m = "1", split_k = "1";
  SourcePosition position = {};
};

using Shape = std::vector<std::int64_t>;

struct Problem {
  std::string name;
  std::string summary;
  int level = 1;
  double tolerance = 0;
  std::vector<std::string> dimensions;
  std::vector<Shape> shapes;
  std::vector<double> weights;  // how often each shape is launched; empty: all alike
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<Launch> launches;
  std::vector<Launch> reference;
  Cost cost;
  std::optional<Serving> serving;
  std::optional<TileNames> tile;
  std::string body;  // CUDA after the header
};

/// One value of every parameter, as indices into their values.
using State = std::vector<int>;

/// Parses a problem's file. All mistakes of the header together as a ConfigError with file and
/// line.
Problem parse_problem(std::string_view text, const std::string& name, const std::string& file);

/// Launches as a header's array of tables writes them; mistakes go to `diagnostics`.
std::vector<Launch> read_launches(const Value& array, Diagnostics& diagnostics);

/// Shapes of a TOML file in place of the headers' own: "softmax = [[100, 3072], …]". Problems that
/// it does not name keep theirs. Every mistake together as a ConfigError with file and line.
void take_shapes(std::vector<Problem>& problems, const std::string& path);

/// The state before anybody touched it.
State start_state(const Problem& problem);
/// Every state, the last parameter fastest.
std::vector<State> all_states(const Problem& problem);
/// "BLOCK=256 VEC=1 …"
std::string text_of(const Problem& problem, const State& state);
/// The source NVRTC gets: prelude, parameters as #define, body.
std::string source_of(const Problem& problem, const State& state);
/// The parameters' values as names.
Names constants_at(const Problem& problem, const State& state);
/// What "#define NAME whole-number" lines say, the last of a name: a source's own parameters.
Names constants_in(std::string_view source);
/// `constants`, the dimensions of shape `shape` and SMS.
Names names_of(const Problem& problem, const Names& constants, std::size_t shape, int sms);

/// The suite compiled into the program, by name; `folder` adds or replaces files of a folder.
std::vector<Problem> load_suite(const std::optional<std::string>& folder = std::nullopt);

}  // namespace foretoken::tune
