#pragma once
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/external_cell.hpp"
#include "sweeps/archive_reader.hpp"
#include "sweeps/figure.hpp"

namespace analysis {

/// A point of a series: the median over the repeats, and their range.
struct StudyPoint {
  std::string x;  // as it is shown
  double y = 0, low = 0, high = 0;
  int repeats = 0;
};

/// One line: points of cells, or a level over time.
struct StudySeries {
  std::string name;
  std::string external;  // the source of results from elsewhere; empty for those of cells
  std::vector<StudyPoint> points;
  std::vector<std::pair<std::string, double>> published;
  std::vector<double> t, level;  // over time: middles of equal spans and means in them
};

/// When a request was preempted or resumed.
struct StudyMark {
  double t;
  bool resumed;
  double level;  // of the device's KV use, %
};

/// What a request did between two times.
struct StudySpan {
  int request;
  std::string what;
  double from, to;
};

/// Charts beside each other that share a figure.
struct StudyPanel {
  std::string name;
  std::vector<StudySeries> series;
  std::vector<StudyMark> marks;
  std::vector<StudySpan> spans;
};

/// A figure over the cells of one kind of figures, of one card unless the figure compares cards.
struct StudyChart {
  std::string study;  // name of the file that describes the figure, or of the sweep
  sweep::FigureSpec figure;
  std::string kind, gpu;  // gpu empty where cards are compared
  std::vector<StudyPanel> panels;
  std::vector<std::string> remarks;
  std::vector<std::size_t> externals;  // which of those given it shows
};

/// Every figure that the archives have cells for: those of folder/published, and those in the sweep
/// files of the archives. A result from elsewhere is a series of its own beside the cells of the
/// experiment that it names. Throws SpecError and what ArchiveReader throws.
std::vector<StudyChart> make_study_charts(std::deque<sweep::ArchiveReader>& archives,
                                          const std::deque<ExternalCell>& externals,
                                          const std::filesystem::path& folder);

}  // namespace analysis
