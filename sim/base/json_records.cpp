#include "sim/base/json_records.hpp"

#include <algorithm>
#include <optional>

#include "sim/base/json_events.hpp"
#include "sim/base/json_tree.hpp"

namespace foretoken {
namespace {

class RecordFinder final : public JsonHandler {
 public:
  RecordFinder(const std::string& file, const JsonRecords& records,
               const std::function<void(Value)>& take)
      : file_(file), records_(records), take_(take) {}

  void null() override { skips_next_ = false; }
  void scalar(Value value) override {
    if (passes_over()) return;
    if (!record_ && is_record(false)) begin_record();
    if (!record_) return;
    record_->add(std::move(value));
    end_record_if_whole();
  }
  void open(Value empty) override {
    if (skipped_levels_ > 0 || skips_next_) {
      ++skipped_levels_;
      skips_next_ = false;
      return;
    }
    const bool is_array = empty.is_array();
    if (!record_ && is_record(is_array)) begin_record();
    if (record_) {
      record_->open(std::move(empty));
    } else {
      levels_.push_back({is_on_path(is_array), is_array, {}});
    }
  }
  void key(std::string name) override {
    if (skipped_levels_ > 0) return;
    if (record_) {
      skips_next_ = std::ranges::find(records_.skipped, name) != records_.skipped.end();
      record_->key(std::move(name));
    } else {
      levels_.back().key = std::move(name);
    }
  }
  void close() override {
    if (skipped_levels_ > 0) {
      --skipped_levels_;
    } else if (record_) {
      record_->close();
      end_record_if_whole();
    } else {
      levels_.pop_back();
    }
  }

 private:
  /// An array or object that is no record and is not within one.
  struct Level {
    bool is_on_path;
    bool is_array;
    std::string key;  // of the member that comes next
  };

  /// A scalar that is skipped.
  bool passes_over() {
    const bool is_skipped = skipped_levels_ > 0 || skips_next_;
    skips_next_ = false;
    return is_skipped;
  }

  /// The part of the path that the next value stands for, from 0; -1 before the first.
  [[nodiscard]] std::ptrdiff_t depth() const {
    return static_cast<std::ptrdiff_t>(levels_.size()) - 1 + (is_array_document_ ? 0 : leading_);
  }
  /// Whether the next value lies at the path's parts so far. The first one decides about a "*".
  bool is_on_path(bool is_array) {
    if (levels_.empty()) {
      is_array_document_ = is_array;
      leading_ = !records_.path.empty() && records_.path.front() == "*" ? 1 : 0;
      return true;
    }
    const Level& within = levels_.back();
    if (!within.is_on_path || depth() >= static_cast<std::ptrdiff_t>(records_.path.size()))
      return false;
    const std::string& part = records_.path[static_cast<std::size_t>(depth())];
    return within.is_array ? part == "*" : part == within.key;
  }
  bool is_record(bool is_array) {
    return is_on_path(is_array) && depth() + 1 == static_cast<std::ptrdiff_t>(records_.path.size());
  }

  void begin_record() {
    position_ = {file_, line};
    record_.emplace(position_);
  }
  void end_record_if_whole() {
    if (!record_->is_whole()) return;
    Value value = record_->take();
    record_.reset();
    take_(std::move(value));
  }

  const std::string& file_;
  const JsonRecords& records_;
  const std::function<void(Value)>& take_;
  std::vector<Level> levels_;
  bool is_array_document_ = false;
  std::ptrdiff_t leading_ = 0;  // parts of the path that a document without an array passes over
  SourcePosition position_;
  std::optional<JsonTree> record_;
  int skipped_levels_ = 0;
  bool skips_next_ = false;
};

}  // namespace

void each_json_record(std::string_view text, const std::string& file, const JsonRecords& records,
                      const std::function<void(Value)>& take) {
  RecordFinder finder(file, records, take);
  parse_json_events(text, {file}, true, finder);
}

}  // namespace foretoken
