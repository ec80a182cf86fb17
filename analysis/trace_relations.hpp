#pragma once
#include <initializer_list>
#include <string_view>

#include "analysis/trace_columns.hpp"

namespace analysis {

/// Columns that follow from others, all but. Each is written as what remains of it (Relation); a
/// column of which that cannot be said, since values are missing or no whole numbers, is written by
/// itself.

/// column = the terms' sum.
void add_sum(PackedTable& packed, const sweep::Table& table, std::string_view column,
             std::initializer_list<std::string_view> terms);

/// column = `of` times a factor: that of the column's largest value.
void add_multiple(PackedTable& packed, const sweep::Table& table, std::string_view column,
                  std::string_view of);

/// column = what it was in the last row with the same number in `group`, which is -1 or more.
void add_within(PackedTable& packed, const sweep::Table& table, std::string_view column,
                std::string_view group);

/// dur_s and t_s of /steps. t_s = "elapsed", the durations before it.
void add_step_times(PackedTable& packed, const sweep::Table& steps);

/// t_s of /kv_events = "begun" + "lasted": the start of the event's step (/steps, the last one
/// whose number is not above the event's), and its duration for events at its end or later, those
/// with a 1 in "ended".
void add_event_times(PackedTable& packed, const sweep::Table& events, const sweep::Table& steps);

}  // namespace analysis
