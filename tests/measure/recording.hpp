// What a measuring program wrote on a GPU, looked up by what it launches: the memory of the
// recorded GPU (recorded_gpu.hpp) that its tests run on. A recording is a folder of the program's
// own CSV files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace foretoken::recorded {

/// A line of a dataset by column; numbers are 0 where the field is empty.
struct Row {
  std::map<std::string, std::string> fields;

  [[nodiscard]] const std::string& text(const std::string& column) const;
  [[nodiscard]] double number(const std::string& column) const;
  /// How many kernels the call launches.
  [[nodiscard]] std::size_t kernels() const;
  /// What a column says of one of them: its parts are joined by " + ", those of memsets that come
  /// first left out.
  [[nodiscard]] std::string part(const std::string& column, std::size_t index) const;
};

/// One kernel of the calls that a row is about.
struct Piece {
  const Row* row = nullptr;
  std::size_t index = 0, count = 1;
};

class Recording {
 public:
  /// That of the folder which the environment's FORETOKEN_RECORDED names. Throws
  /// std::runtime_error.
  static const Recording& get();

  /// A provenance line of the first file.
  [[nodiscard]] std::string said(const std::string& key, const std::string& otherwise) const;
  [[nodiscard]] double said_number(const std::string& key, double otherwise) const;

  /// Kernels by demangled name (plain_name of both is compared), grid and block as "1x2x3". Null
  /// without a row.
  [[nodiscard]] const Piece* kernel(const std::string& name, const std::string& grid,
                                    const std::string& block) const;
  [[nodiscard]] const Row* product(std::int64_t m, std::int64_t n, std::int64_t k,
                                   const std::string& dtype, bool fast_accumulation) const;
  /// `launch`: graph or eager.
  [[nodiscard]] const Row* collective(const std::string& operation, const std::string& algorithm,
                                      const std::string& launch, int ranks,
                                      std::size_t bytes) const;

 private:
  explicit Recording(const std::string& folder);
  void read(const std::string& path);
  void index(const Row& row);

  std::map<std::string, std::string> said_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::map<std::string, Piece> kernels_;
  std::map<std::string, const Row*> calls_;
};

/// `name` without its parameters and what compilers spell differently.
std::string plain_name(std::string name);

}  // namespace foretoken::recorded
