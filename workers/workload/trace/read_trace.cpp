#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "sweeps/files/input_text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_cursor.hpp"
#include "workers/workload/trace/head.hpp"
#include "workers/workload/trace/read_trace.hpp"

namespace workload {
namespace {

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

/// What a turn's JSON says, with the positions that errors name.
struct WrittenTurn {
  TraceTurn turn;
  std::size_t at = 0;
  std::optional<std::string> agent;
  std::optional<int> extends;
  std::optional<int> extended_tokens;
  std::size_t extends_at = 0;
  std::optional<std::vector<int>> after;
  std::size_t after_at = 0;
  std::optional<std::vector<TraceSegment>> prompt, answer;
};

/// Reads the jobs of a file and counts what it holds.
class JobReader {
 public:
  explicit JobReader(std::vector<std::string>& tools) : tools_(tools) {}

  TraceSession read(JsonCursor& in) {
    session_ = {};
    session_.agents.push_back({{}, 0});
    agents_.clear();
    last_.assign(1, -1);
    const std::size_t begin = in.at();
    std::optional<std::size_t> turns;
    in.object("the line", [&](const std::string& key) {
      if (key == "job") return void(session_.id = in.name("job"));
      if (key == "arrival_s")
        return void(session_.arrival_s = in.number("arrival_s", 0, kLatest_s));
      if (key != "turns") in.refuse("a job has no \"" + key + "\"; allowed: job, arrival_s, turns");
      turns = (in.next(), in.at());
      in.skip();
    });
    if (session_.id.empty()) in.refuse("the line has no job", begin);
    if (!ids_.insert(session_.id).second)
      in.refuse("job \"" + session_.id + "\" stands on a line above already", begin);
    if (!turns) in.refuse("the job has no turns", begin);
    in.seek(*turns);  // with the job's name known
    in.array("turns", [&] { add(read_turn(in), in); });
    if (session_.turns.empty()) in.refuse("the job has no turns", *turns);
    ++counts_.jobs;
    counts_.arrivals += std::isnan(session_.arrival_s) ? 0 : 1;
    return std::move(session_);
  }

  const TraceCounts& counts() const { return counts_; }

 private:
  WrittenTurn read_turn(JsonCursor& in) {
    WrittenTurn made;
    made.at = (in.next(), in.at());
    in.object("a turn", [&](const std::string& key) { read_member(key, made, in); });
    if (!made.prompt) in.refuse("the turn has no prompt", made.at);
    if (!made.answer) in.refuse("the turn has no answer", made.at);
    return made;
  }

  void read_member(const std::string& key, WrittenTurn& made, JsonCursor& in) {
    if (key == "prompt") {
      made.prompt = segments("prompt", SegmentKind::user, in);
    } else if (key == "answer") {
      made.answer = segments("answer", SegmentKind::assistant_text, in);
    } else if (key == "extends") {
      read_extends(made, in);
    } else if (key == "after") {
      made.after_at = (in.next(), in.at());
      made.after.emplace();
      in.array("after", [&] { made.after->push_back(earlier_turn("after", in)); });
    } else if (key == "gap_s") {
      made.turn.think_s = in.number("gap_s", 0, kLatest_s);
      ++counts_.gaps;
    } else if (key == "start_s") {
      made.turn.start_s = in.number("start_s", 0, kLatest_s);
      ++counts_.starts;
    } else if (key == "api_s") {
      made.turn.api_s = in.number("api_s", 0, kLatest_s);
    } else if (key == "agent") {
      made.agent = in.name("agent");
    } else if (key == "tool") {
      made.turn.tool = number_of_tool(in.name("tool"));
    } else {
      in.refuse("a turn has no \"" + key +
                "\"; allowed: prompt, answer, extends, after, gap_s, start_s, api_s, agent, tool");
    }
  }

  int earlier_turn(const char* what, JsonCursor& in) const {
    if (session_.turns.empty()) in.refuse(std::string(what) + ": no turn stands above the first");
    const auto last = static_cast<std::int64_t>(session_.turns.size()) - 1;
    return static_cast<int>(in.whole(what, 0, last));
  }

  void read_extends(WrittenTurn& made, JsonCursor& in) {
    made.extends_at = (in.next(), in.at());
    if (in.next() != '[') return void(made.extends = earlier_turn("extends", in));
    in.array("extends", [&] {
      if (!made.extends) return void(made.extends = earlier_turn("extends", in));
      if (made.extended_tokens) in.refuse("extends has more than [turn, tokens]");
      const TraceTurn& of = session_.turns[static_cast<std::size_t>(*made.extends)];
      made.extended_tokens = static_cast<int>(
          in.whole("tokens of the extended turn", 1, of.prompt_tokens + of.output_tokens));
    });
    if (!made.extended_tokens)
      in.refuse("extends has no tokens; allowed: a turn, or [turn, tokens]", made.extends_at);
  }

  std::vector<TraceSegment> segments(const char* what, SegmentKind usual, JsonCursor& in) {
    std::vector<TraceSegment> made;
    in.array(what, [&] {
      int member = 0;
      TraceSegment segment{0, 0, usual};
      const std::size_t at = (in.next(), in.at());
      in.array("a segment", [&] {
        if (member == 0) segment.key = segment_key(in);
        if (member == 1)
          segment.tokens = static_cast<int>(in.whole("a segment's length", 1, kMostTokens));
        if (member == 2) segment.kind = label(in);
        if (++member > 3) in.refuse("a segment has more than [id, length, label]");
      });
      if (member < 2) in.refuse("a segment has no length; allowed: [id, length, label]", at);
      made.push_back(segment);
    });
    return made;
  }

  std::uint64_t segment_key(JsonCursor& in) {
    enum Kind : std::uint64_t { number = 1, text, own };
    if (in.null()) return mixed(mixed(own, key_of(session_.id)), unnamed_++);
    if (in.next() == '"') return mixed(text, key_of(in.name("a segment's id")));
    const auto id = in.whole("a segment's id", 0, std::numeric_limits<std::int64_t>::max());
    return mixed(number, static_cast<std::uint64_t>(id));
  }

  static SegmentKind label(JsonCursor& in) {
    in.next();
    const std::size_t at = in.at();
    const std::string name = in.name("a segment's label");
    std::string known;
    for (const auto& [label, kind] : kLabels) {
      if (name == label) return kind;
      known += (known.empty() ? "" : ", ") + std::string(label);
    }
    in.refuse("a segment's label is \"" + name + "\"; allowed: " + known, at);
  }

  int number_of_tool(const std::string& name) {
    const auto [entry, fresh] = tool_numbers_.try_emplace(name, static_cast<int>(tools_.size()));
    if (fresh) tools_.push_back(name);
    return entry->second;
  }

  void add(WrittenTurn made, const JsonCursor& in) {
    if (session_.turns.size() == kMostTurns)
      in.refuse("the job has more than the 1,000,000 turns allowed", made.at);
    set_waits(made, in);
    set_agent(made);
    set_tokens(made, in);
    TraceTurn& turn = made.turn;
    int& last = last_[static_cast<std::size_t>(turn.agent)];
    if (last >= 0 && turn.start_s < session_.turns[static_cast<std::size_t>(last)].start_s)
      in.refuse("start_s lies before that of its agent's turn before", made.at);
    if (last >= 0 && std::ranges::find(turn.waits_for, last) == turn.waits_for.end())
      turn.waits_for.insert(turn.waits_for.begin(), last);
    const int before = last;
    last = static_cast<int>(session_.turns.size());
    ++counts_.turns;
    counts_.prompt_tokens += turn.prompt_tokens;
    counts_.answer_tokens += turn.output_tokens;
    session_.turns.push_back(std::move(turn));
    if (before >= 0) session_.turns.back().same_as_before = same_tokens(before, last);
  }

  void set_waits(WrittenTurn& made, const JsonCursor& in) {
    const auto number = static_cast<int>(session_.turns.size());
    if (number == 0) return;
    if (made.after && made.after->empty())
      in.refuse("after is empty; allowed: so in the first turn alone", made.after_at);
    made.turn.waits_for = made.after.value_or(std::vector{number - 1});
  }

  void set_agent(WrittenTurn& made) {
    if (session_.turns.empty()) agents_.emplace(made.agent.value_or(""), 0);
    if (!made.agent) return;
    const auto [entry, fresh] =
        agents_.try_emplace(*made.agent, static_cast<int>(session_.agents.size()));
    made.turn.agent = entry->second;
    if (!fresh) return;
    const auto by = static_cast<std::size_t>(made.turn.waits_for.front());
    session_.agents.push_back({*made.agent, session_.turns[by].agent});
    last_.push_back(-1);
  }

  void set_tokens(WrittenTurn& made, const JsonCursor& in) {
    TraceTurn& turn = made.turn;
    if (made.extends) {
      const TraceTurn& base = session_.turns[static_cast<std::size_t>(*made.extends)];
      turn.base = *made.extends;
      turn.shared_tokens = made.extended_tokens.value_or(base.prompt_tokens + base.output_tokens);
    }
    const std::int64_t prompt = turn.shared_tokens + tokens_of(*made.prompt);
    const std::int64_t answer = tokens_of(*made.answer);
    if (prompt < 1) in.refuse("the turn's prompt is empty", made.at);
    if (answer < 1) in.refuse("the turn's answer is empty; allowed: one token or more", made.at);
    if (prompt + answer > kMostTokens)
      in.refuse("the turn has " + std::to_string(prompt + answer) +
                    " tokens; allowed: " + std::to_string(kMostTokens),
                made.at);
    turn.prompt_tokens = static_cast<int>(prompt);
    turn.output_tokens = static_cast<int>(answer);
    turn.first_segment = session_.segments.size();
    for (const auto* list : {&*made.prompt, &*made.answer})
      session_.segments.insert(session_.segments.end(), list->begin(), list->end());
    turn.num_segments = static_cast<int>(session_.segments.size() - turn.first_segment);
    if (!made.answer->empty() && made.answer->back().kind == SegmentKind::role_prefix)
      session_.segments.back().kind = SegmentKind::end_of_turn;
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
  return sweep::fitting_memory<engine::InputError>(path, [&] {
    LineReader lines(path);
    TraceHead head = read_head(lines);
    TraceSet set;
    set.source = std::filesystem::path(path).filename().string();
    JobReader jobs(set.tools);
    while (const auto line = lines.next()) {
      JsonCursor in(*line, lines.place());
      set.sessions.push_back(jobs.read(in));
    }
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
