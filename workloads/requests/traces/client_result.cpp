// A load tool's own result file (client_result.hpp) as a trace: when it sent its requests, and
// their lengths.
#include "workloads/requests/client_result.hpp"

#include "workloads/requests/trace_format.hpp"

namespace foretoken {
namespace {

class ClientResultTrace final : public TraceFormat {
 public:
  bool is_document(const std::filesystem::path& path) const override {
    return is_client_result(path);
  }

  std::vector<TraceRow> read(const std::filesystem::path& path) const override {
    std::vector<TraceRow> rows;
    for (const SentRequest& request : load_client_result(path).requests) {
      rows.push_back({static_cast<std::int64_t>(request.sent * 1e9),
                      request.prompt_tokens,
                      request.output_tokens,
                      {}});
    }
    return rows;
  }

  bool recognises(std::string_view) const override { return false; }
  bool take_header(std::string_view) override {
    throw BadLine("is no result of a load tool: it has no list \"input_lens\"");
  }
  TraceRow parse(std::string_view) const override { return {}; }
};

}  // namespace

std::unique_ptr<TraceFormat> client_result_trace() { return std::make_unique<ClientResultTrace>(); }

}  // namespace foretoken
