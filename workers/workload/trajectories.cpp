#include "workers/workload/trajectories.hpp"

#include <filesystem>
#include <unordered_map>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/recorded_job.hpp"

namespace workload {
namespace {

/// Numbers tools in order of first use.
class ToolIndex {
 public:
  explicit ToolIndex(std::vector<std::string>& names) : names_(names) {}

  engine::ToolId id_of(const std::string& word) {
    if (word.empty()) return engine::ToolId::none;
    const auto [entry, fresh] = ids_.try_emplace(word, static_cast<engine::ToolId>(names_.size()));
    if (fresh) names_.push_back(word);
    return entry->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, engine::ToolId> ids_;
};

void check_gap(const char* key, double seconds) {
  if (seconds >= 0 && seconds <= 1e8) return;  // false for NaN
  throw engine::InputError(std::string(key) + " is " + std::to_string(seconds) +
                           "; allowed: 0 to 1e8 seconds");
}

void check(const TrajectoryConfig& config) {
  check(config.curation);
  check_gap("gap_s", config.gap.gap_s);
  if (config.gap.fallback_s) check_gap("gap_fallback_s", *config.gap.fallback_s);
}

/// Reads one file: parses rows, chooses jobs, then tokenizes them.
class TrajectoryReader {
 public:
  TrajectoryReader(const TrajectoryConfig& config, const Tokenizer& tokenizer)
      : config_(config), tokenizer_(tokenizer), tools_(set_.workload.tools) {
    set_.workload.source = std::filesystem::path(config.path).filename().string();
    set_.workload.tokenizer = tokenizer.name();
  }

  TrajectorySet read() && {
    read_rows();
    choose();
    return std::move(set_);
  }

 private:
  void read_rows() {
    LineReader lines(config_.path);
    std::unordered_map<std::string, int> line_of_id;
    while (const std::optional<std::string_view> line = lines.next()) {
      RecordedJob job = parse_job(parse_json(*line, lines.place()), lines.place());
      const auto [first, fresh] = line_of_id.try_emplace(job.id, job.line);
      if (!fresh) {
        refuse(lines.place(), "job \"" + job.id + "\" stands on line " +
                                  std::to_string(first->second) + " already; ids must be unique");
      }
      ++set_.rows;
      const int turns = static_cast<int>(job.turns.size());
      if (passes_turn_range(config_.curation, turns, set_.rejected))
        candidates_.push_back(std::move(job));
    }
    if (set_.rows == 0) refuse({config_.path, 0}, "holds no job; one JSON object a line is needed");
  }

  void choose() {
    std::vector<std::string> ids;
    for (const RecordedJob& job : candidates_) ids.push_back(job.id);
    for (const std::size_t position : order_of_choice(config_.curation, ids)) {
      if (config_.curation.count && chosen() == *config_.curation.count) {
        ++set_.rejected.not_needed;
      } else {
        offer(candidates_[position]);
      }
    }
    if (chosen() < config_.curation.count.value_or(1)) refuse_as_too_few();
  }

  int chosen() const { return static_cast<int>(set_.workload.jobs.size()); }

  /// Tokenizes a candidate and adds it unless it is too long. Releases its text.
  void offer(RecordedJob& candidate) {
    const RecordedJob recorded = std::move(candidate);
    EncodedChat chat = encode_chat(recorded.messages, config_.tool_fallback, tokenizer_);
    const std::size_t context = chat.job.tokens.size();
    if (config_.curation.max_context &&
        context > static_cast<std::size_t>(*config_.curation.max_context)) {
      ++set_.rejected.over_context;
      return;
    }
    check_model_context(recorded, context);
    chat.job.id = recorded.id;
    set_tools(recorded, chat);
    set_gaps(recorded, chat.job);
    set_.workload.jobs.push_back(std::move(chat.job));
  }

  void check_model_context(const RecordedJob& recorded, std::size_t context) const {
    if (!config_.model_context || context <= static_cast<std::size_t>(*config_.model_context))
      return;
    refuse({config_.path, recorded.line},
           "job \"" + recorded.id + "\" grows to " + std::to_string(context) +
               " tokens, over the model's limit of " + std::to_string(*config_.model_context) +
               "; workload.max_context = " + std::to_string(*config_.model_context) +
               " leaves such jobs out");
  }

  void set_tools(const RecordedJob& recorded, EncodedChat& chat) {
    for (std::size_t k = 0; k < chat.job.turns.size(); ++k) {
      chat.job.turns[k].tool = tools_.id_of(chat.tool_words[k]);
      const std::string& noted = recorded.turns[k].tool;
      set_.tools_recorded += noted.empty() ? 0 : 1;
      set_.tools_unlike_record += noted.empty() || noted == chat.tool_words[k] ? 0 : 1;
    }
  }

  /// Sets the gaps between turns; the last turn has none.
  void set_gaps(const RecordedJob& recorded, Job& job) const {
    for (std::size_t k = 0; k + 1 < job.turns.size(); ++k) {
      job.turns[k].gap = engine::from_seconds(gap_s(recorded, k));
    }
  }

  double gap_s(const RecordedJob& recorded, std::size_t turn) const {
    if (!config_.gap.recorded) return config_.gap.gap_s;
    const std::optional<double>& exec_s = recorded.turns[turn].exec_s;
    if (exec_s) return *exec_s;
    if (config_.gap.fallback_s) return *config_.gap.fallback_s;
    refuse({config_.path, recorded.line},
           "job \"" + recorded.id + "\", turn " + std::to_string(turn + 1) +
               " has no recorded tool time (turns[" + std::to_string(turn) +
               "].exec_s); set gap_fallback_s to replay it all the same");
  }

  [[noreturn]] void refuse_as_too_few() const {
    refuse({config_.path, 0}, std::to_string(chosen()) + " of " + std::to_string(set_.rows) +
                                  " jobs qualify, " +
                                  std::to_string(config_.curation.count.value_or(1)) +
                                  " are needed; left out: " + describe(set_.rejected));
  }

  const TrajectoryConfig& config_;
  const Tokenizer& tokenizer_;
  TrajectorySet set_;
  ToolIndex tools_;
  std::vector<RecordedJob> candidates_;
};

}  // namespace

TrajectorySet read_trajectories(const TrajectoryConfig& config, const Tokenizer& tokenizer) {
  check(config);
  return sweep::fitting_memory<engine::InputError>(
      config.path, [&] { return TrajectoryReader(config, tokenizer).read(); });
}

}  // namespace workload
