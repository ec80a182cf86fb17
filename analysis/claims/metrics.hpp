#pragma once
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "analysis/compare/config.hpp"

namespace analysis {

/// A claim cannot be judged with these cells; what() says why.
struct CannotJudge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A table of a cell, e.g. "steps". Throws CannotJudge if the cell was stored without it.
sweep::Table stored_table(const ConfiguredCell& cell, std::string_view table);

/// A metric of the cells of one repeat. Besides the figures of /cells (the mean over the cells):
///   sum:FIGURE                a figure's sum over the cells
///   turn_latency_s:K          mean latency of the K-th turn, from 1
///   turn_growth:K:L           mean latency of the K-th turn over that of the L-th
///   turn_median:COLUMN        median of a column of /turns
///   tool_share:NAME           share of turns that end in a call of this tool
///   new_tok:min               fewest computed prompt tokens of a turn after the first
///   next_turn_hit             cached prompt tokens of turns after the first, over the tokens that
///                             the preceding turns left in whole blocks
///   steps_beyond_output:min   fewest steps of a turn, minus its generated tokens
///   step_mean:COLUMN          mean of a column of /steps
///   step_max:COLUMN           maximum of a column of /steps
///   step_share:prefill        share of steps with prompt tokens
///   step_share:max_tok_upto:N share of steps with at most N tokens in their largest request
///   step_mode:max_tok_from:N  most frequent size of the largest request from N tokens on
///   slope_us:X, intercept_ms:X, r2:X   of step duration over column X of /steps, least squares
///   h2d_gb_per_s              bytes copied to the device over the time from first to last step
///   pin_share                 pins over all decisions at the end of turns other than the last
///   access:NAME               access_metric()
///   slo:METRIC                a metric of service level objectives, "slo:interactivity_p90"
/// NaN if the cells lack the data. Throws std::invalid_argument for any other form.
double claim_metric(const std::string& metric, std::span<const ConfiguredCell* const> cells);

/// A metric of the KV accesses that cells logged (docs/results.md), the mean over the cells:
///   prefill_reads   number of accesses that read KV for prompts
///   behind_keys     share of the blocks read by decodes, by step and head, whose values were read
///                   after their keys
///   ascending       share of a warp's reads in decodes that continue in the same or a later block
///   read_spread     time between the first reads of a step's requests, as a share of the kernel's
///                   time; median over steps with more than one decode
///   write_spread    the same for the first writes to the blocks of a prefill
///   idle            share of the time without an access to a block; median over keys and values
/// NaN if the log has no such accesses; empty for an unknown name.
std::optional<double> access_metric(const std::string& name,
                                    std::span<const ConfiguredCell* const> cells);

}  // namespace analysis
