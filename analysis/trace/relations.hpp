#pragma once
#include <initializer_list>
#include <string_view>

#include "analysis/trace/columns.hpp"

namespace analysis {

/// Columns that almost follow from others. Each is written as the remainder of a Relation; a column
/// with missing values or values that are not whole numbers is written in full.

/// column = sum of the terms.
void add_sum(PackedTable& packed, const sweep::Table& table, std::string_view column,
             std::initializer_list<std::string_view> terms);

/// column = `of` times a factor, taken from the column's largest value.
void add_multiple(PackedTable& packed, const sweep::Table& table, std::string_view column,
                  std::string_view of);

/// column = its value in the last row with the same number in `group`. That number is -1 or more.
void add_within(PackedTable& packed, const sweep::Table& table, std::string_view column,
                std::string_view group);

/// dur_s and t_s of /steps. t_s = "elapsed", the durations before it.
void add_step_times(PackedTable& packed, const sweep::Table& steps);

/// t_s of /kv_events = "begun" + "lasted". "begun" is the start of the event's step: the last step
/// of /steps with a number not above the event's. "lasted" is the step's duration for events at its
/// end or later, which have a 1 in "ended", and 0 otherwise.
void add_event_times(PackedTable& packed, const sweep::Table& events, const sweep::Table& steps);

}  // namespace analysis
