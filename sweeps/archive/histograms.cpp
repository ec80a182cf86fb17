#include "sweeps/archive/histograms.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "sweeps/hdf5/column.hpp"

namespace sweep {

namespace {

void count(std::span<std::int64_t> bins, double value, int first_edge) {
  if (std::isnan(value)) return;
  const double last = static_cast<double>(bins.size()) - 1;
  const double bin = value > 0 ? std::floor(std::log2(value)) - first_edge : 0;
  ++bins[static_cast<std::size_t>(std::clamp(bin, 0.0, last))];
}

using Counts = std::vector<std::int64_t>;  // [cells, bins]

void write_edges(hid_t group, int first_exponent, std::size_t bins, const std::string& unit) {
  std::vector<double> edges;
  for (std::size_t i = 0; i <= bins; ++i) {
    edges.push_back(std::ldexp(1.0, first_exponent + static_cast<int>(i)));
  }
  const hsize_t size = edges.size();
  const H5Space space(H5Screate_simple(1, &size, nullptr), "make a space of edges");
  H5Dataset dataset(H5Dcreate2(group, "edges", H5T_IEEE_F64LE, space.get(), H5P_DEFAULT,
                               H5P_DEFAULT, H5P_DEFAULT),
                    "create the edges of a histogram");
  h5_check(H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, edges.data()),
           "write the edges of a histogram");
  write_attribute(dataset.get(), "unit", unit);
  dataset.close_checked("close the edges of a histogram");
}

void write_counts(hid_t group, const Counts& counts, std::size_t bins) {
  const hsize_t size[2] = {counts.size() / bins, bins};
  const hsize_t chunk[2] = {std::clamp<hsize_t>(size[0], 1, 1024), bins};
  const H5Space space(H5Screate_simple(2, size, nullptr), "make a space of counts");
  const H5Properties layout = chunked_layout(1);
  h5_check(H5Pset_chunk(layout.get(), 2, chunk), "set the chunk size");
  H5Dataset dataset(H5Dcreate2(group, "counts", H5T_STD_I64LE, space.get(), H5P_DEFAULT,
                               layout.get(), H5P_DEFAULT),
                    "create the counts of a histogram");
  if (!counts.empty()) {
    h5_check(
        H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()),
        "write the counts of a histogram");
  }
  dataset.close_checked("close the counts of a histogram");
}

template <class Bins>
void write_histogram(hid_t hist, const std::string& name, const std::string& unit, int first_edge,
                     const std::vector<CellRecord>& cells, Bins StepHistograms::*member) {
  constexpr std::size_t kBins = std::tuple_size_v<Bins>;
  H5Group group = create_group(hist, name);
  Counts counts;
  counts.reserve(cells.size() * kBins);
  for (const CellRecord& cell : cells) {
    const Bins& bins = cell.histograms.*member;
    counts.insert(counts.end(), bins.begin(), bins.end());
  }
  write_edges(group.get(), first_edge, kBins, unit);
  write_counts(group.get(), counts, kBins);
  write_attribute(group.get(), "unit", unit);
  write_attribute(group.get(), "scale", "log2");
  group.close_checked("close the histogram " + name);
}

template <class Bins>
void read_histogram(hid_t hist, const std::string& name, std::vector<CellRecord>& cells,
                    Bins StepHistograms::*member) {
  constexpr std::size_t kBins = std::tuple_size_v<Bins>;
  const H5Dataset dataset(H5Dopen2(hist, (name + "/counts").c_str(), H5P_DEFAULT),
                          "open the histogram " + name);
  if (rows_of(dataset.get()) != cells.size() * kBins) {
    throw H5Error("the histogram " + name + " does not fit the cells");
  }
  Counts counts(cells.size() * kBins);
  if (counts.empty()) return;
  h5_check(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()),
           "read the histogram " + name);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::copy_n(counts.begin() + static_cast<std::ptrdiff_t>(i * kBins), kBins,
                (cells[i].histograms.*member).begin());
  }
}

}  // namespace

StepHistograms histograms_of(const Table& steps) {
  StepHistograms histograms;
  for (const std::int32_t tok : steps.values<std::int32_t>("n_tok")) {
    count(histograms.tok, tok, StepHistograms::kFirstTokEdge);
  }
  for (const double dur_s : steps.values<double>("dur_s")) {
    count(histograms.dur, dur_s, StepHistograms::kFirstDurEdge);
  }
  return histograms;
}

void write_histograms(hid_t file, const std::vector<CellRecord>& cells) {
  H5Group hist = create_group(file, "hist");
  write_histogram(hist.get(), "step_tok", "tok", StepHistograms::kFirstTokEdge, cells,
                  &StepHistograms::tok);
  write_histogram(hist.get(), "step_dur", "s", StepHistograms::kFirstDurEdge, cells,
                  &StepHistograms::dur);
  hist.close_checked("close the group hist");
}

Table histograms_table(const std::vector<CellRecord>& cells) {
  Counts counts;
  for (const CellRecord& cell : cells) {
    const auto& [tok, dur] = cell.histograms;
    counts.insert(counts.end(), tok.begin(), tok.end());
    counts.insert(counts.end(), dur.begin(), dur.end());
  }
  return {"hist", {{"counts", "", "steps per size, then per duration", false, {}, counts}}};
}

void take_histograms(const Table& table, std::vector<CellRecord>& cells) {
  const Counts& counts = table.values<std::int64_t>("counts");
  const std::size_t tok = StepHistograms().tok.size(), dur = StepHistograms().dur.size();
  if (counts.size() != cells.size() * (tok + dur))
    throw TableError("table hist: it does not fit the cells");
  auto from = counts.begin();
  for (CellRecord& cell : cells) {
    const auto durations = from + static_cast<std::ptrdiff_t>(tok);
    std::copy_n(from, tok, cell.histograms.tok.begin());
    std::copy_n(durations, dur, cell.histograms.dur.begin());
    from = durations + static_cast<std::ptrdiff_t>(dur);
  }
}

void read_histograms(hid_t file, std::vector<CellRecord>& cells) {
  const H5Group hist(H5Gopen2(file, "hist", H5P_DEFAULT), "open the group hist");
  read_histogram(hist.get(), "step_tok", cells, &StepHistograms::tok);
  read_histogram(hist.get(), "step_dur", cells, &StepHistograms::dur);
}

}  // namespace sweep
