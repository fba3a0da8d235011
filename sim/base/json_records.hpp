// The values at one place of a JSON text that is too large to keep as a tree: the requests within a
// load tool's result, the lines of a log. One record is in memory at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

struct JsonRecords {
  /// Keys from the top down, "*" for every element of an array; {} = whole documents. A "*" at the
  /// beginning is passed over in a document that is no array.
  std::vector<std::string> path = {};
  /// Members that are left out wherever they stand in a record, however long.
  std::vector<std::string> skipped = {};
};

/// Calls `take` for each record of the documents in `text`, of which there may be several one after
/// the other. A record's position is `file` and the line that it begins in. Throws ConfigError.
void each_json_record(std::string_view text, const std::string& file, const JsonRecords& records,
                      const std::function<void(Value)>& take);

}  // namespace foretoken
