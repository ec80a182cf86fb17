#include "sweeps/archive/histograms.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "sweeps/hdf5/column.hpp"

namespace sweep {

namespace {

using Counts = std::vector<std::int64_t>;  // [cells, bins]

/// A histogram of each cell's steps, and its place among the bins.
struct Kind {
  const char *name, *unit;
  int first_edge;
  std::size_t first_bin, bins;
};
constexpr Kind kTok = {"step_tok", "tok", StepHistograms::kFirstTokEdge, 0,
                       StepHistograms::kTokBins};
constexpr Kind kDur = {"step_dur", "s", StepHistograms::kFirstDurEdge, kTok.bins,
                       StepHistograms::kDurBins};

void count(StepHistograms& histograms, const Kind& kind, double value) {
  if (std::isnan(value)) return;
  const int last = static_cast<int>(kind.bins) - 1;
  const int bin = value > 0 ? std::ilogb(std::min(value, 1e300)) - kind.first_edge : 0;
  ++histograms.bins[kind.first_bin + static_cast<std::size_t>(std::clamp(bin, 0, last))];
}

Counts counts_of(const std::vector<CellRecord>& cells, const Kind& kind) {
  Counts counts;
  for (const CellRecord& cell : cells) {
    const auto own = std::span(cell.histograms.bins).subspan(kind.first_bin, kind.bins);
    counts.insert(counts.end(), own.begin(), own.end());
  }
  return counts;
}

H5Dataset write_numbers(hid_t group, const std::string& name, hid_t type,
                        std::span<const hsize_t> size, hid_t layout, const void* numbers) {
  const H5Space space(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                      "make a space of " + name);
  H5Dataset dataset(
      H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, layout, H5P_DEFAULT),
      "create the " + name + " of a histogram");
  if (size[0] > 0)
    h5_check(H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers),
             "write the " + name + " of a histogram");
  return dataset;
}

void write_histogram(hid_t hist, const Kind& kind, const std::vector<CellRecord>& cells) {
  const hsize_t edges = kind.bins + 1, size[2] = {cells.size(), kind.bins},
                chunk[2] = {std::clamp<hsize_t>(size[0], 1, 1024), kind.bins};
  std::vector<double> powers;
  for (int i = 0; i < static_cast<int>(edges); ++i)
    powers.push_back(std::ldexp(1.0, kind.first_edge + i));
  const H5Properties layout = chunked_layout(1);
  h5_check(H5Pset_chunk(layout.get(), 2, chunk), "set the chunk size");
  H5Group group = create_group(hist, kind.name);
  H5Dataset stored =
      write_numbers(group.get(), "edges", H5T_IEEE_F64LE, {&edges, 1}, H5P_DEFAULT, powers.data());
  write_attribute(stored.get(), "unit", std::string(kind.unit));
  stored.close_checked("close the edges of a histogram");
  write_numbers(group.get(), "counts", H5T_STD_I64LE, size, layout.get(),
                counts_of(cells, kind).data())
      .close_checked("close the counts of a histogram");
  write_attribute(group.get(), "unit", std::string(kind.unit));
  write_attribute(group.get(), "scale", std::string("log2"));
  group.close_checked(std::string("close the histogram ") + kind.name);
}

}  // namespace

StepHistograms histograms_of(const Table& steps, RowRange rows) {
  const auto own = [&](const auto& values) {
    return std::span(values).subspan(static_cast<std::size_t>(rows.offset),
                                     static_cast<std::size_t>(rows.rows));
  };
  StepHistograms histograms;
  for (const std::int32_t tok : own(steps.values<std::int32_t>("n_tok")))
    count(histograms, kTok, tok);
  for (const double dur_s : own(steps.values<double>("dur_s"))) count(histograms, kDur, dur_s);
  return histograms;
}

void write_histograms(hid_t file, const std::vector<CellRecord>& cells) {
  H5Group hist = create_group(file, "hist");
  for (const Kind& kind : {kTok, kDur}) write_histogram(hist.get(), kind, cells);
  hist.close_checked("close the group hist");
}

void read_histograms(hid_t file, std::vector<CellRecord>& cells) {
  for (const Kind& kind : {kTok, kDur}) {
    const std::string name = kind.name;
    const H5Dataset dataset(H5Dopen2(file, ("hist/" + name + "/counts").c_str(), H5P_DEFAULT),
                            "open the histogram " + name);
    if (rows_of(dataset.get()) != cells.size() * kind.bins)
      throw H5Error("the histogram " + name + " does not fit the cells");
    Counts counts(cells.size() * kind.bins);
    if (counts.empty()) return;
    h5_check(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()),
             "read the histogram " + name);
    for (std::size_t i = 0; i < cells.size(); ++i)
      std::ranges::copy(std::span(counts).subspan(i * kind.bins, kind.bins),
                        cells[i].histograms.bins.begin() + kind.first_bin);
  }
}

Table histograms_table(const std::vector<CellRecord>& cells) {
  constexpr Kind kAll = {"", "", 0, 0, kTok.bins + kDur.bins};
  return {"hist",
          {{"counts", "", "steps per size, then per duration", false, {}, counts_of(cells, kAll)}}};
}

void take_histograms(const Table& table, std::vector<CellRecord>& cells) {
  const Counts& counts = table.values<std::int64_t>("counts");
  constexpr std::size_t kBins = kTok.bins + kDur.bins;
  if (counts.size() != cells.size() * kBins)
    throw TableError("table hist: it does not fit the cells");
  for (std::size_t i = 0; i < cells.size(); ++i)
    std::ranges::copy(std::span(counts).subspan(i * kBins, kBins),
                      cells[i].histograms.bins.begin());
}

}  // namespace sweep
