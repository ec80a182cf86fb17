#pragma once
#include <span>
#include <string>

#include "analysis/claims.hpp"

namespace analysis {

/// A number of the cells of one repeat. Besides the figures of /cells (the mean over the cells):
///   cells                     how many there are
///   sum:FIGURE                a figure's sum over the cells
///   turn_latency_s:K          mean latency of the K-th turn, from 1
///   turn_growth:K:L           mean latency of the K-th turn over that of the L-th
///   turn_median:COLUMN        median of a column of /turns
///   tool_share:NAME           share of turns that end in a call of this tool
///   new_tok:min               fewest prompt tokens that a turn after the first computed
///   next_turn_hit             tokens found cached by turns after the first, over what the turns
///                             before had left in whole blocks
///   steps_beyond_output:min   fewest steps of a turn beyond one for each generated token
///   step_mean:COLUMN          mean of a column of /steps
///   step_max:COLUMN           its largest value
///   step_share:prefill        share of steps with prompt tokens
///   step_share:max_tok_upto:N share of steps whose largest request has at most N tokens
///   step_mode:max_tok_from:N  most frequent size of the largest request from N tokens on
///   slope_us:X, intercept_ms:X, r2:X   of step duration over column X of /steps, least squares
///   h2d_gb_per_s              bytes copied to the device over the time from first to last step
///   events:KIND               rows of /kv_events of this kind
///   pin_share                 pins over all decisions at the end of turns that were not the last
///   access:NAME               of logged accesses to KV, see claims_access.hpp
/// NaN where the cells do not have it. Throws std::invalid_argument for none of these forms.
double claim_metric(const std::string& metric, std::span<const ConfiguredCell* const> cells,
                    const LoadTable& load);

}  // namespace analysis
