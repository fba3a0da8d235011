#include "sim/scenario/measured_acceptance.hpp"

#include <algorithm>
#include <span>

#include "sim/base/embedded.hpp"
#include "sim/base/table_reader.hpp"
#include "sim/base/toml.hpp"

namespace foretoken {

// Generated at build time from acceptance/ (CMakeLists.txt).
std::span<const EmbeddedFile> embedded_acceptances();

namespace {

std::vector<MeasuredAcceptance> read_acceptances() {
  std::vector<MeasuredAcceptance> all;
  Diagnostics diagnostics;
  for (const EmbeddedFile& file : embedded_acceptances()) {
    const Value root = parse_toml(file.text, "acceptance " + std::string(file.stem));
    for (const Value& entry : std::get<ValueArray>(root.find("measured")->data)) {
      TableReader table(entry, diagnostics, "measured");
      MeasuredAcceptance& read = all.emplace_back();
      table.require("model", read.model);
      table.read("method", read.method);
      table.require("text", read.text);
      table.require("acceptance", read.by_position);
      table.finish();
    }
  }
  diagnostics.throw_if_any();
  return all;
}

}  // namespace

const std::vector<MeasuredAcceptance>& measured_acceptances() {
  static const std::vector<MeasuredAcceptance> all = read_acceptances();
  return all;
}

const MeasuredAcceptance* find_measured_acceptance(const std::string& model, DraftMethod method,
                                                   std::string_view text) {
  for (const MeasuredAcceptance& known : measured_acceptances())
    if (known.model == model && known.method == method && known.text == text) return &known;
  return nullptr;
}

}  // namespace foretoken
