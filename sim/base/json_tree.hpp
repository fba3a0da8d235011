// A Value that grows while JSON is read: linear in the text (a document of nlohmann's own keeps
// members in a list that it searches for every key).
#pragma once

#include <string>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

class JsonTree {
 public:
  /// Every part of the tree stands at `position`.
  explicit JsonTree(SourcePosition position) : position_(std::move(position)) {}

  void add(Value value);
  /// `empty` is {} or []; what follows until close() is its own.
  void open(Value empty) { open_.push_back({std::move(empty), {}}); }
  /// Of the member that comes next.
  void key(std::string name) { open_.back().key = std::move(name); }
  void close();

  /// Whether all that was opened is closed.
  [[nodiscard]] bool is_whole() const { return open_.empty(); }
  Value take() { return std::move(root_); }

 private:
  struct Open {
    Value value;
    std::string key;
  };
  SourcePosition position_;
  std::vector<Open> open_;
  Value root_;
};

}  // namespace foretoken
