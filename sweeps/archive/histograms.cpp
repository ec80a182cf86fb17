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

/// Calls `use` with the name, the unit, the exponent of the first edge and the bins of each.
template <class Use>
void for_each_histogram(const Use& use) {
  use("step_tok", "tok", StepHistograms::kFirstTokEdge, &StepHistograms::tok);
  use("step_dur", "s", StepHistograms::kFirstDurEdge, &StepHistograms::dur);
}

template <class Bins>
std::size_t bins_of(Bins StepHistograms::*) {
  return std::tuple_size_v<Bins>;
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
  for_each_histogram([&](const std::string& name, const std::string& unit, int first, auto member) {
    const hsize_t bins = bins_of(member), edges = bins + 1;
    std::vector<double> powers;
    for (int i = 0; i <= static_cast<int>(bins); ++i) powers.push_back(std::ldexp(1.0, first + i));
    Counts counts;
    for (const CellRecord& cell : cells) {
      const auto& own = cell.histograms.*member;
      counts.insert(counts.end(), own.begin(), own.end());
    }
    const hsize_t size[2] = {cells.size(), bins},
                  chunk[2] = {std::clamp<hsize_t>(size[0], 1, 1024), bins};
    const H5Properties layout = chunked_layout(1);
    h5_check(H5Pset_chunk(layout.get(), 2, chunk), "set the chunk size");
    H5Group group = create_group(hist.get(), name);
    H5Dataset stored = write_numbers(group.get(), "edges", H5T_IEEE_F64LE, {&edges, 1}, H5P_DEFAULT,
                                     powers.data());
    write_attribute(stored.get(), "unit", unit);
    stored.close_checked("close the edges of a histogram");
    write_numbers(group.get(), "counts", H5T_STD_I64LE, size, layout.get(), counts.data())
        .close_checked("close the counts of a histogram");
    write_attribute(group.get(), "unit", unit);
    write_attribute(group.get(), "scale", "log2");
    group.close_checked("close the histogram " + name);
  });
  hist.close_checked("close the group hist");
}

void read_histograms(hid_t file, std::vector<CellRecord>& cells) {
  for_each_histogram([&](const std::string& name, const char*, int, auto member) {
    const std::size_t bins = bins_of(member);
    const H5Dataset dataset(H5Dopen2(file, ("hist/" + name + "/counts").c_str(), H5P_DEFAULT),
                            "open the histogram " + name);
    if (rows_of(dataset.get()) != cells.size() * bins)
      throw H5Error("the histogram " + name + " does not fit the cells");
    Counts counts(cells.size() * bins);
    if (counts.empty()) return;
    h5_check(H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts.data()),
             "read the histogram " + name);
    auto from = counts.begin();
    for (CellRecord& cell : cells) {
      std::copy_n(from, bins, (cell.histograms.*member).begin());
      from += static_cast<std::ptrdiff_t>(bins);
    }
  });
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

}  // namespace sweep
