// BurstGPT's CSV (github.com/HPMLL/BurstGPT): Timestamp in seconds, Request tokens, Response
// tokens; the second edition adds sessions and the time that an answer took. A request without
// response tokens failed, and is left out.
#include <algorithm>
#include <array>

#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class Burstgpt final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override {
    return head.first_line.starts_with("Timestamp,") && head.first_line.ends_with(",Log Type");
  }

 protected:
  bool take_header(std::string_view first_line) override {
    const auto fields = comma_fields(first_line);
    columns_ = fields.size();
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = std::ranges::find(fields, names[i]);
      if (found == fields.end())
        throw BadLine(fmt::format("expected a header with {}", fmt::join(names, ", ")));
      places_[i] = static_cast<std::size_t>(found - fields.begin());
    }
    return true;
  }
  TraceRow parse(std::string_view line) const override {
    const auto fields = comma_fields(line);
    if (fields.size() != columns_) {
      throw BadLine(
          fmt::format("expected {} fields as in the header, found {}", columns_, fields.size()));
    }
    const auto field = [&](std::size_t i) { return fields[places_[i]]; };
    if (field(2) == "0") throw FailedRequest();
    return {time_ns(field(0), names[0], 1.0),
            token_count(field(1), names[1]),
            token_count(field(2), names[2]),
            {}};
  }

 private:
  static constexpr auto names =
      std::to_array<std::string_view>({"Timestamp", "Request tokens", "Response tokens"});
  std::array<std::size_t, names.size()> places_ = {};
  std::size_t columns_ = 0;
};

}  // namespace

std::unique_ptr<TraceFormat> burstgpt_trace() { return std::make_unique<Burstgpt>(); }

}  // namespace foretoken
