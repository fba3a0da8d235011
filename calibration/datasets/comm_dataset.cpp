// Which file of FORETOKEN_DATA's comm folder is read by which importer, and which rows go.
#include "calibration/datasets/comm_dataset.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "calibration/datasets/comm_importer.hpp"
#include "sim/base/fingerprint.hpp"
#include "workloads/measurements/measured_rows.hpp"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

struct TableFormat {
  std::string_view suffix;  // of "<library>-<version>-<table>", the file's name without .csv[.gz]
  void (*import)(const CommFile& file, CommDataset& dataset);
};

constexpr auto tables = std::to_array<TableFormat>({
    {"-nccl_perf", import_nccl_perf},
    {"-custom_allreduce_perf", import_custom_allreduce_perf},
    {"-wideep_deepep_normal_perf", import_deepep_normal},
    {"-wideep_deepep_ll_perf", import_deepep_low_latency},
});

/// Machines of Vidur's profiles, whose tables are named after the operation.
constexpr std::string_view vidur_folder = "a100_dgx_multinode";

/// PipeWeave's folders, whose tables are named likewise, and the GPUs in them.
constexpr auto pipeweave_folders = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"h800_sxm_pipeweave", "h800"}, {"rtx_6000_ada_pipeweave", "rtx-6000-ada"}});

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

/// What a file measured, times included and its version left out.
std::uint64_t contents_of(std::span<const CommSample> samples) {
  Fingerprint contents;
  for (const CommSample& sample : samples) {
    contents.add(enum_name(sample.library)).add(enum_name(sample.op));
    for (const double number : {sample.bytes, sample.time.value(), double(sample.ranks)})
      contents.add(number);
  }
  return contents.value();
}

/// Imports a table and takes it back if another file held the same rows.
void import_table(const TableFormat& table, const CommFile& file, CommDataset& dataset,
                  std::vector<std::uint64_t>& contents) {
  const std::size_t before = dataset.samples.size();
  table.import(file, dataset);
  const std::uint64_t own = contents_of(std::span(dataset.samples).subspan(before));
  if (std::ranges::find(contents, own) == contents.end()) {
    contents.push_back(own);
    return;
  }
  dataset.left_out["copy of another version's table"] +=
      static_cast<std::int64_t>(dataset.samples.size() - before);
  dataset.samples.resize(before);
}

void import_gpu_folder(const fs::path& folder, CommDataset& dataset) {
  std::string gpu = folder.filename().string();
  std::ranges::replace(gpu, '_', '-');
  std::vector<std::uint64_t> contents;
  for (const fs::path& path : sorted_entries(folder)) {
    std::string name = path.filename().string();
    name.resize(std::min(name.size(), name.rfind(".csv")));
    for (const TableFormat& table : tables) {
      if (!name.ends_with(table.suffix)) continue;
      const std::size_t version = name.find('-') + 1, end = name.size() - table.suffix.size();
      import_table(table, {path, gpu, version <= end ? name.substr(version, end - version) : ""},
                   dataset, contents);
    }
  }
}

void leave_out_broken(CommDataset& dataset) {
  constexpr int l40s_gpus_max = 2;
  const auto is_broken = [](const CommSample& sample) {
    return sample.gpu == "l40s" && sample.ranks > l40s_gpus_max;
  };
  const auto gone = std::erase_if(dataset.samples, is_broken);
  if (gone > 0) {
    dataset.left_out["no peer-to-peer copies on that host"] += static_cast<std::int64_t>(gone);
  }
}

/// All but the size.
auto curve_of(const CommSample& sample) {
  return std::tie(sample.gpu, sample.origin, sample.library, sample.version, sample.launch,
                  sample.algorithm, sample.protocol, sample.op, sample.nodes, sample.ranks,
                  sample.element_bytes, sample.hidden, sample.experts.topk, sample.experts.experts,
                  sample.experts.mode, sample.sms);
}

/// A row must not be much longer than a larger message of the same curve, nor than a smaller one.
void leave_out_hiccups(CommDataset& dataset) {
  constexpr double hiccup_factor = 1.5;
  std::vector<CommSample>& samples = dataset.samples;
  std::ranges::stable_sort(samples, [](const CommSample& a, const CommSample& b) {
    return std::tuple_cat(curve_of(a), std::tie(a.bytes, a.time)) <
           std::tuple_cat(curve_of(b), std::tie(b.bytes, b.time));
  });
  std::vector<bool> is_hiccup(samples.size(), false);
  for (std::size_t i = 1; i + 1 < samples.size(); ++i) {
    const CommSample &before = samples[i - 1], &self = samples[i], &after = samples[i + 1];
    if (curve_of(before) != curve_of(self) || curve_of(after) != curve_of(self)) continue;
    is_hiccup[i] = self.time > hiccup_factor * std::max(before.time, after.time);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (is_hiccup[i]) {
      ++dataset.left_out["hiccup: 1.5 times as long as a smaller and a larger message"];
    } else {
      if (kept != i) samples[kept] = std::move(samples[i]);
      ++kept;
    }
  }
  samples.resize(kept);
}

}  // namespace

CommDataset load_comm_data(const fs::path& foretoken_data) {
  const fs::path comm = foretoken_data / "comm";
  if (!fs::is_directory(comm)) {
    throw ConfigError({foretoken_data.string()},
                      "has no folder 'comm'; give the folder that FORETOKEN_DATA's README "
                      "describes");
  }
  CommDataset dataset;
  for (const fs::path& folder : sorted_entries(comm)) {
    const auto pipeweave =
        std::ranges::find(pipeweave_folders, folder.filename().string(),
                          [](const auto& entry) { return std::string(entry.first); });
    if (pipeweave != pipeweave_folders.end()) {
      for (const fs::path& path : sorted_entries(folder))
        import_pipeweave_collective({path, std::string(pipeweave->second), ""}, dataset);
    } else if (folder.filename() == vidur_folder) {
      for (const fs::path& path : sorted_entries(folder))
        import_vidur_collective({path, "a100-sxm", ""}, dataset);
    } else if (fs::is_directory(folder)) {
      import_gpu_folder(folder, dataset);
    }
  }
  leave_out_broken(dataset);
  leave_out_hiccups(dataset);
  return dataset;
}

CommDataset load_own_comm(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_regular_file(path)) {
    files = {path};
  } else if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("comm") && name.find(".csv") != std::string::npos)
        files.push_back(entry.path());
    }
    std::ranges::sort(files);
  } else {
    throw ConfigError({path.string()}, "is neither a file nor a folder; check the path");
  }
  CommDataset dataset;
  for (const fs::path& file : files) {
    import_own_comm({file, measured_gpu(CsvRows(file), file), ""}, dataset);
  }
  return dataset;
}

}  // namespace foretoken
