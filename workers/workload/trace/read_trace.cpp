#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <ranges>
#include <set>

#include "sweeps/text/input_text.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_part.hpp"
#include "workers/workload/trace/head.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace workload {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostTokens = 1 << 26;
constexpr double kLatest_s = 1e9;
constexpr std::size_t kMostTurns = 1'000'000;

constexpr std::array<std::pair<const char*, SegmentKind>, 7> kLabels = {
    {{"system", SegmentKind::system},
     {"user", SegmentKind::user},
     {"assistant", SegmentKind::assistant_text},
     {"tool_call", SegmentKind::tool_calls},
     {"tool_result", SegmentKind::tool_response},
     {"role", SegmentKind::role_prefix},
     {"synthesized", SegmentKind::tool_block}}};

/// Reads the jobs of a file and counts what it holds.
class JobReader {
 public:
  explicit JobReader(std::vector<std::string>& tools) : tools_(tools) {}

  TraceSession read(const json& line, const InputPlace& place) {
    in_ = {place, ""};
    session_ = {};
    session_.agents.push_back({{}, 0});
    agents_.clear();
    last_.assign(1, -1);
    in_.only(in_.object(line, "the line"), "a job", {"job", "arrival_s", "turns"});
    if (!line.contains("job")) in_.refuse("the line has no job");
    session_.id = in_.short_text(line["job"], "job");
    if (!ids_.insert(session_.id).second)
      in_.refuse("job \"" + session_.id + "\" stands on a line above already");
    session_.arrival_s = seconds(line, "arrival_s", counts_.arrivals);
    if (!line.contains("turns") || in_.list(line["turns"], "turns").empty())
      in_.refuse("the job has no turns");
    if (line["turns"].size() > kMostTurns)
      in_.refuse("the job has more than the 1,000,000 turns allowed");
    for (const json& turn : line["turns"]) {
      in_.name = "turns[" + std::to_string(session_.turns.size()) + "]";
      add(turn);
    }
    ++counts_.jobs;
    return std::move(session_);
  }

  const TraceCounts& counts() const { return counts_; }

 private:
  void add(const json& turn) {
    in_.only(
        turn, "a turn",
        {"prompt", "answer", "extends", "after", "gap_s", "start_s", "api_s", "agent", "tool"});
    TraceTurn made;
    std::int64_t uncounted = 0;
    made.think_s = seconds(turn, "gap_s", counts_.gaps);
    made.start_s = seconds(turn, "start_s", counts_.starts);
    made.api_s = seconds(turn, "api_s", uncounted);
    if (turn.contains("tool")) made.tool = number_of_tool(in_.short_text(turn["tool"], "tool"));
    set_waits(turn, made);
    set_agent(turn, made);
    set_tokens(turn, made);
    int& last = last_[static_cast<std::size_t>(made.agent)];
    if (last >= 0 && made.start_s < session_.turns[static_cast<std::size_t>(last)].start_s)
      in_.refuse("start_s lies before that of its agent's turn before");
    if (last >= 0 && std::ranges::find(made.waits_for, last) == made.waits_for.end())
      made.waits_for.insert(made.waits_for.begin(), last);
    const int before = last;
    last = static_cast<int>(session_.turns.size());
    ++counts_.turns;
    counts_.prompt_tokens += made.prompt_tokens;
    counts_.answer_tokens += made.output_tokens;
    session_.turns.push_back(std::move(made));
    if (before >= 0) session_.turns.back().same_as_before = same_tokens(before, last);
  }

  /// Counts those that are said.
  double seconds(const json& of, const char* key, std::int64_t& count) const {
    if (!of.contains(key)) return kUnrecorded;
    ++count;
    return in_.number(of[key], key, 0, kLatest_s);
  }

  int earlier_turn(const json& value, const char* what) const {
    if (session_.turns.empty()) in_.refuse(std::string(what) + ": no turn stands above the first");
    const auto last = static_cast<std::int64_t>(session_.turns.size()) - 1;
    return static_cast<int>(in_.whole(value, what, 0, last));
  }

  void set_waits(const json& turn, TraceTurn& made) const {
    const auto number = static_cast<int>(session_.turns.size());
    if (number > 0) made.waits_for = {number - 1};
    if (!turn.contains("after")) return;
    made.waits_for.clear();
    for (const json& each : in_.list(turn["after"], "after"))
      made.waits_for.push_back(earlier_turn(each, "after"));
    if (number > 0 && made.waits_for.empty())
      in_.refuse("after is empty; allowed: so in the first turn alone");
  }

  void set_agent(const json& turn, TraceTurn& made) {
    const bool named = turn.contains("agent");
    const std::string name = named ? in_.short_text(turn["agent"], "agent") : "";
    if (session_.turns.empty()) agents_.emplace(name, 0);
    if (!named) return;
    const auto [entry, fresh] = agents_.try_emplace(name, static_cast<int>(session_.agents.size()));
    made.agent = entry->second;
    if (!fresh) return;
    const auto by = static_cast<std::size_t>(made.waits_for.front());
    session_.agents.push_back({name, session_.turns[by].agent});
    last_.push_back(-1);
  }

  void set_base(const json& extends, TraceTurn& made) const {
    const bool part = extends.is_array();
    if (part && extends.size() != 2)
      in_.refuse("extends has " + std::string(extends.size() > 2 ? "more than" : "no tokens") +
                 "; allowed: a turn, or [turn, tokens]");
    made.base = earlier_turn(part ? extends[0] : extends, "extends");
    const TraceTurn& base = session_.turns[static_cast<std::size_t>(made.base)];
    const int all = base.prompt_tokens + base.output_tokens;
    made.shared_tokens =
        part ? static_cast<int>(in_.whole(extends[1], "tokens of the extended turn", 1, all)) : all;
  }

  void set_tokens(const json& turn, TraceTurn& made) {
    for (const char* key : {"prompt", "answer"})
      if (!turn.contains(key)) in_.refuse("the turn has no " + std::string(key));
    if (turn.contains("extends")) set_base(turn["extends"], made);
    const auto prompts = segments(turn["prompt"], "prompt", SegmentKind::user);
    const auto answers = segments(turn["answer"], "answer", SegmentKind::assistant_text);
    const std::int64_t prompt = made.shared_tokens + tokens_of(prompts);
    const std::int64_t answer = tokens_of(answers);
    if (prompt < 1) in_.refuse("the turn's prompt is empty");
    if (answer < 1) in_.refuse("the turn's answer is empty; allowed: one token or more");
    if (prompt + answer > kMostTokens)
      in_.refuse("the turn has " + std::to_string(prompt + answer) +
                 " tokens; allowed: " + std::to_string(kMostTokens));
    made.prompt_tokens = static_cast<int>(prompt);
    made.output_tokens = static_cast<int>(answer);
    made.first_segment = session_.segments.size();
    for (const auto* list : {&prompts, &answers})
      session_.segments.insert(session_.segments.end(), list->begin(), list->end());
    made.num_segments = static_cast<int>(session_.segments.size() - made.first_segment);
    if (session_.segments.back().kind == SegmentKind::role_prefix)
      session_.segments.back().kind = SegmentKind::end_of_turn;
  }

  std::vector<TraceSegment> segments(const json& list, const char* what, SegmentKind usual) {
    std::vector<TraceSegment> made;
    for (const json& segment : in_.list(list, what)) {
      const std::size_t members = in_.list(segment, "a segment").size();
      if (members < 2) in_.refuse("a segment has no length; allowed: [id, length, label]");
      if (members > 3) in_.refuse("a segment has more than [id, length, label]");
      const auto tokens = in_.whole(segment[1], "a segment's length", 1, kMostTokens);
      made.push_back({segment_key(segment[0]), static_cast<int>(tokens),
                      members > 2 ? label(segment[2]) : usual});
    }
    return made;
  }

  std::uint64_t segment_key(const json& id) {
    enum Kind : std::uint64_t { number = 1, text, own };
    if (id.is_null()) return mixed(mixed(own, key_of(session_.id)), unnamed_++);
    if (id.is_string()) return mixed(text, key_of(in_.short_text(id, "a segment's id")));
    const auto whole = in_.whole(id, "a segment's id", 0, std::numeric_limits<std::int64_t>::max());
    return mixed(number, static_cast<std::uint64_t>(whole));
  }

  SegmentKind label(const json& value) const {
    const std::string name = in_.short_text(value, "a segment's label");
    for (const auto& [label, kind] : kLabels)
      if (name == label) return kind;
    in_.refuse("a segment's label is \"" + name +
               "\"; allowed: " + sweep::joined(std::views::keys(kLabels)));
  }

  int number_of_tool(const std::string& name) {
    const auto [entry, fresh] = tool_numbers_.try_emplace(name, static_cast<int>(tools_.size()));
    if (fresh) tools_.push_back(name);
    return entry->second;
  }

  static std::int64_t tokens_of(const std::vector<TraceSegment>& segments) {
    std::int64_t tokens = 0;
    for (const TraceSegment& segment : segments) tokens += segment.tokens;
    return tokens;
  }

  /// Leading tokens of the second turn's prompt that the first turn has, too.
  int same_tokens(int first, int second) const {
    const TraceTurn& turn = session_.turns[static_cast<std::size_t>(second)];
    const auto prompt = static_cast<std::size_t>(turn.prompt_tokens);
    std::size_t same = turn.base == first ? static_cast<std::size_t>(turn.shared_tokens) : 0;
    const auto one = ends_from(first, same, prompt), two = ends_from(second, same, prompt);
    for (auto a = one.begin(), b = two.begin(); a != one.end() && b != two.end(); ++a, ++b) {
      if (a->first != b->first || a->second.first != b->second.first) break;
      same = std::min(a->second.second, b->second.second);
      if (a->second != b->second) break;
    }
    return static_cast<int>(same);
  }

  /// Keys and ends of a turn's segments, by where they begin.
  std::map<std::size_t, std::pair<std::uint64_t, std::size_t>> ends_from(int turn, std::size_t from,
                                                                         std::size_t end) const {
    std::map<std::size_t, std::pair<std::uint64_t, std::size_t>> ends;
    visit_segments(session_, turn, from, end,
                   [&](const TraceSegment& segment, int, std::size_t begin, std::size_t stop) {
                     ends.emplace(begin, std::pair(segment.key, stop));
                   });
    return ends;
  }

  JsonPart in_;
  std::vector<std::string>& tools_;
  std::map<std::string, int> tool_numbers_;
  std::set<std::string> ids_;
  TraceCounts counts_;
  TraceSession session_;
  std::map<std::string, int> agents_;
  std::vector<int> last_;  // by agent; -1: none
  std::uint64_t unnamed_ = 0;
};

void check_counts(const TraceCounts& said, const TraceCounts& found, const std::string& path) {
  for (const auto& [name, count] : kCounts)
    if (said.*count != found.*count)
      refuse({path, 1}, std::string("counts.") + name + " is " + std::to_string(said.*count) +
                            ", but the file holds " + std::to_string(found.*count) +
                            ": it is cut, or was edited");
}

}  // namespace

std::uint64_t key_of(std::string_view name) {
  std::uint64_t key = 1;
  for (const char c : name) key = mixed(key, static_cast<unsigned char>(c));
  return std::max<std::uint64_t>(key, 1);
}

TraceSet read_trace(const std::string& path) {
  return sweep::or_no_memory<engine::InputError>(path, [&] {
    LineReader lines(path);
    TraceHead head = read_head(lines);
    TraceSet set;
    set.source = std::filesystem::path(path).filename().string();
    JobReader jobs(set.tools);
    while (const auto line = lines.next())
      set.sessions.push_back(jobs.read(parsed_line(*line, lines.place()), lines.place()));
    check_counts(head.counts, jobs.counts(), path);
    if (set.sessions.empty()) refuse({path, 0}, "holds no job");
    if (!head.tokenizer.empty()) set.tokenizer = head.tokenizer;
    for (const std::string& sentence : head.assumed)
      set.assumed += (set.assumed.empty() ? set.source + ": assumed: " : "; ") + sentence;
    set.notes = std::move(head.notes);
    return set;
  });
}

}  // namespace workload
