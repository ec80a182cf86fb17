#pragma once
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/compare/external_cell.hpp"
#include "sweeps/archive/reader.hpp"
#include "sweeps/spec/figure.hpp"

namespace analysis {

/// A point of a series: the median over the repeats, and their range.
struct StudyPoint {
  std::string x;  // as displayed
  double y = 0, low = 0, high = 0;
  int repeats = 0;
};

/// One line: points of cells, or a level over time.
struct StudySeries {
  std::string name;
  std::string external;  // source of an external result; empty for cells
  std::vector<StudyPoint> points;
  std::vector<std::pair<std::string, double>> published;
  std::vector<double> t, level;  // over time: midpoints of equal spans, and means within them
};

/// A preemption or resumption of a request.
struct StudyMark {
  double t;
  bool resumed;
  double level;  // KV use of the device at that time, in %
};

/// The state of a request between two times.
struct StudySpan {
  int request;
  std::string what;
  double from, to;
};

/// One of several charts side by side in a figure.
struct StudyPanel {
  std::string name;
  std::vector<StudySeries> series;
  std::vector<StudyMark> marks;
  std::vector<StudySpan> spans;
};

/// A study's figure over cells of one kind of figures, and of one card unless it compares cards.
struct StudyChart {
  std::string study;  // name of the file that describes the figure, or of the sweep
  sweep::FigureSpec figure;
  std::string kind, gpu;  // gpu is empty if the figure compares cards
  std::vector<StudyPanel> panels;
  std::vector<std::string> remarks;
  std::vector<std::size_t> externals;  // indices of the external results that it shows
};

/// Every figure with cells in the archives: figures of folder/published, and of the archives' sweep
/// files. An external result is a series of its own beside the cells of its experiment. Throws
/// SpecError and what ArchiveReader throws.
std::vector<StudyChart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                          const std::deque<ExternalCell>& externals,
                                          const std::filesystem::path& folder);

}  // namespace analysis
