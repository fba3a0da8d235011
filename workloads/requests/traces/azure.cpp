// Azure's public LLM inference traces (github.com/Azure/AzurePublicDataset): a header, then one
// request a line with its date, prompt and generated tokens. The 2023 files end lines with CR LF
// and give seven decimals; the 2024 ones give six or none and a UTC offset.
#include "workloads/requests/trace_date.hpp"
#include "workloads/requests/trace_fields.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

constexpr std::string_view header = "TIMESTAMP,ContextTokens,GeneratedTokens";

class Azure final : public LineTraceFormat {
 public:
  bool recognises(const TraceHead& head) const override { return head.first_line == header; }

  bool take_header(std::string_view first_line) override {
    if (first_line == header) return true;
    throw BadLine(fmt::format("expected the header {}", header));
  }

  TraceRow parse(std::string_view line) const override {
    const auto fields = comma_fields(line);
    if (fields.size() != 3) {
      throw BadLine(fmt::format("expected 3 fields ({}), found {}", header, fields.size()));
    }
    return {date_ns(fields[0], "TIMESTAMP"),
            token_count(fields[1], "ContextTokens"),
            token_count(fields[2], "GeneratedTokens"),
            {}};
  }
};

}  // namespace

std::unique_ptr<TraceFormat> azure_trace() { return std::make_unique<Azure>(); }

}  // namespace foretoken
