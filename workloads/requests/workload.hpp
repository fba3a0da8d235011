// The [workload] table: how requests arrive and how long they are, from generators or a trace.
// Arrival processes, length distributions and trace formats are families with a catalog each.
// Its keys are declared in workload.cpp and beside what they set; workload_keys.hpp lists them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/base/table_reader.hpp"
#include "workloads/requests/arrival_process.hpp"
#include "workloads/requests/length_distribution.hpp"
#include "workloads/requests/request.hpp"
#include "workloads/requests/request_classes.hpp"
#include "workloads/requests/trace_format.hpp"

namespace foretoken {

/// A [workload] that was read and validated: everything needed to start sources from it.
class Workload {
 public:
  virtual ~Workload() = default;
  /// A fresh source; the same seed gives the same requests. It may outlive the workload.
  [[nodiscard]] virtual std::unique_ptr<RequestSource> start(const RandomStreams& random) const = 0;
  /// Prompt tokens a prefix hash of its requests; 0 = they share nothing.
  [[nodiscard]] virtual int prefix_block_tokens() const { return 0; }
  /// Who sends them, by Request::tenant; empty = nobody in particular.
  [[nodiscard]] virtual std::vector<Tenant> tenants() const { return {}; }
  /// Each that a request may have.
  [[nodiscard]] virtual std::vector<int> priorities() const { return {0}; }
  /// Which models they ask for, by Request::model; empty = the only one.
  [[nodiscard]] virtual std::vector<std::string> models() const { return {}; }
  /// Its part of the requests that its limits count; below 1 where some are left out.
  [[nodiscard]] virtual double share() const { return 1.0; }
  /// Of the requests, the part that asks for models()[model].
  [[nodiscard]] virtual double share_of_model(int model) const { return model == 0 ? 1.0 : 0.0; }
  /// Adapters that its requests ask for; 0 = all want the base model.
  [[nodiscard]] virtual std::int64_t adapters() const { return 0; }
  /// Whether requests have images, or audio.
  [[nodiscard]] virtual bool has(Medium /*medium*/) const { return false; }
  [[nodiscard]] bool has_media() const { return has(Medium::image) || has(Medium::audio); }
  /// The table as resolved: defaults filled in, reads back to the same workload.
  [[nodiscard]] virtual Value resolved() const = 0;
};

/// What of requests is encoded, and where it is set: "images of requests ([workload.images])".
/// Needs has_media().
std::string media_text(const Workload& workload);

struct WorkloadOptions {
  std::filesystem::path base_folder;  // relative trace paths start here
  bool skip_bad_lines = false;        // go on past malformed trace lines and count them
  int block_tokens = 16;              // that a prefix hash of generated traffic stands for
  /// Which cut images and audio into tokens; nullopt: nobody does.
  std::optional<MediaEncoder> vision = {}, audio = {};
};

/// The variants a [workload] may name.
struct WorkloadCatalog {
  ArrivalRegistry arrivals = arrival_registry();
  LengthRegistry lengths = length_registry();
  TraceFormatRegistry trace_formats = trace_format_registry();
};

/// Reads the [workload] table and finishes the reader. Reports every mistake to the reader's
/// diagnostics, including a trace that cannot be read, is malformed or empty. Returns nullptr if
/// the diagnostics hold any mistake, also one that was there before.
std::unique_ptr<Workload> read_workload(TableReader& table, const WorkloadOptions& options,
                                        const WorkloadCatalog& catalog = {});

}  // namespace foretoken
