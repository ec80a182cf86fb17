#include "workers/workload/request_list.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sweeps/text/input_text.hpp"
#include "sweeps/text/text.hpp"
#include "workers/engine/base/errors.hpp"
#include "workers/workload/input/json_lines.hpp"
#include "workers/workload/random.hpp"
#include "workers/workload/synthetic_job.hpp"

namespace workload {
namespace {

constexpr int kMostTokens = 1 << 24;

void check(const ZipfSizes& config) {
  require(config.count >= 1 && config.count <= 100'000, "workload.n", config.count, "1 to 100000");
  require(config.min >= 2 && config.min <= kMostTokens, "workload.min", config.min,
          "at least 2 tokens, one in and one out");
  require(config.max >= config.min + 2 && config.max <= kMostTokens, "workload.max", config.max,
          "at least workload.min + 2");
  require(config.theta > 0 && config.theta < 1, "workload.theta", config.theta,
          "above 0 and below 1");
  require(config.prompt_to_output > 0 && config.prompt_to_output <= 1e6,
          "workload.prompt_to_output", config.prompt_to_output, "above 0, at most 1e6");
}

double zeta(int count, double theta) {
  double sum = 0;
  for (int i = 1; i < count; ++i) sum += std::pow(i, -theta);
  return sum;
}

/// Draws from {min, ..., max} by Zipf's law, with a closed formula for all but the two most
/// frequent values.
class ZipfLaw {
 public:
  explicit ZipfLaw(const ZipfSizes& config)
      : min_(config.min),
        items_(config.max - config.min + 1),
        theta_(config.theta),
        zeta_(zeta(items_, theta_)),
        eta_((1 - std::pow(2.0 / items_, 1 - theta_)) / (1 - zeta(2, theta_) / zeta_)) {}

  int at(double u) const {
    const double scaled = u * zeta_;
    if (scaled < 1) return min_;
    if (scaled < 1 + std::pow(0.5, theta_)) return min_ + 1;
    return min_ + static_cast<int>(items_ * std::pow(eta_ * u - eta_ + 1, 1 / (1 - theta_)));
  }

 private:
  int min_, items_;
  double theta_, zeta_, eta_;
};

RequestSize split(int total, double prompt_to_output) {
  const auto share = static_cast<int>(std::ceil(total / (1 + prompt_to_output)));
  const int output = std::clamp(share, 1, total - 1);
  return {total - output, output};
}

/// A count of tokens, if `word` is nothing else.
std::optional<int> tokens_in(std::string_view word) {
  const auto tokens = sweep::number_from<int>(word);
  return tokens && *tokens >= 1 && *tokens <= kMostTokens ? tokens : std::nullopt;
}

std::optional<RequestSize> size_of(std::string_view prompt, std::string_view output) {
  const auto in = tokens_in(prompt), out = tokens_in(output);
  if (!in || !out) return std::nullopt;
  return RequestSize{*in, *out};
}

/// The request of a line; empty optional when the line is a comment.
std::optional<RequestSize> size_in(std::string_view line, const InputPlace& place) {
  constexpr std::size_t kLongest = 100;  // bytes: two numbers and blanks
  std::istringstream in(std::string(line.substr(0, kLongest)));
  std::string prompt, output, more;
  in >> prompt;
  if (prompt.starts_with('#')) return std::nullopt;
  in >> output;
  const auto size = line.size() > kLongest || in >> more ? std::nullopt : size_of(prompt, output);
  if (!size)
    refuse(place, "found \"" + std::string(line.substr(0, kLongest)) +
                      "\", allowed two numbers of tokens, prompt and output");
  return size;
}

/// The sizes, and the name of their source.
struct Listed {
  std::string name;
  std::vector<RequestSize> sizes;
};

struct ListSizes {
  Listed operator()(const FixedSizes& fixed) const {
    check_generated(fixed.count, 0, 256);
    return {"fixed", std::vector(static_cast<std::size_t>(fixed.count), fixed.size)};
  }
  Listed operator()(const ZipfSizes& zipf) const { return {"zipf", zipf_sizes(zipf)}; }
  Listed operator()(const ListedSizes& listed) const { return {"pair", listed.sizes}; }
  Listed operator()(const SizeFile& file) const { return {"lengths", read_sizes(file.path)}; }
};

void keep_first(Listed& listed, int first) {
  const auto count = static_cast<std::size_t>(first);
  if (first < 1 || count > listed.sizes.size())
    throw engine::InputError("workload.n: found " + std::to_string(first) + ", allowed 1 to the " +
                             std::to_string(listed.sizes.size()) + " requests there are");
  listed.sizes.resize(count);
}

std::string describe(const RequestListConfig& config, const Listed& listed) {
  if (const auto* file = std::get_if<SizeFile>(&config.sizes)) return file->path;
  const auto* zipf = std::get_if<ZipfSizes>(&config.sizes);
  return listed.name + (zipf != nullptr ? " seed " + std::to_string(zipf->seed) : "");
}

}  // namespace

std::vector<RequestSize> zipf_sizes(const ZipfSizes& config) {
  check(config);
  const ZipfLaw law(config);
  NumpyRandom random(static_cast<std::uint32_t>(config.seed));
  std::vector<RequestSize> sizes;
  for (int i = 0; i < config.count; ++i)
    sizes.push_back(split(law.at(random.random_sample()), config.prompt_to_output));
  return sizes;
}

std::vector<RequestSize> parse_sizes(const std::string& text) {
  std::string words = text;
  std::ranges::replace(words, ',', ' ');
  std::istringstream in(words);
  std::vector<RequestSize> sizes;
  for (std::string word; in >> word;) {
    const std::string_view view(word);
    const auto plus = view.find('+');
    const auto size =
        plus == view.npos ? std::nullopt : size_of(view.substr(0, plus), view.substr(plus + 1));
    if (!size)
      throw engine::InputError("found \"" + word +
                               "\", allowed prompt+output in tokens, as 430+1024");
    sizes.push_back(*size);
  }
  if (sizes.empty()) throw engine::InputError("found no request, allowed one or more, as 430+1024");
  return sizes;
}

std::vector<RequestSize> read_sizes(const std::string& path) {
  return sweep::or_no_memory<engine::InputError>(path, [&] {
    LineReader lines(path);
    std::vector<RequestSize> sizes;
    while (const auto line = lines.next()) {
      if (const auto size = size_in(*line, lines.place())) sizes.push_back(*size);
    }
    if (sizes.empty()) refuse({path, 0}, "holds no request");
    return sizes;
  });
}

Workload make_request_list(const RequestListConfig& config) {
  Listed listed = std::visit(ListSizes{}, config.sizes);
  if (config.first) keep_first(listed, *config.first);
  check_generated(static_cast<int>(listed.sizes.size()), 0, config.vocabulary);
  const SyntheticTokens tokens(config.seed, config.vocabulary);
  Workload workload;
  workload.source = describe(config, listed);
  workload.tokenizer = "built in";
  workload.jobs.reserve(listed.sizes.size());
  for (const RequestSize& size : listed.sizes) {
    const auto number = static_cast<int>(workload.jobs.size());
    SyntheticJob job(generated_id(listed.name, number));
    job.append_prompt(SegmentKind::user, size.prompt_tokens);
    job.append_answer(SegmentKind::assistant_text, size.output_tokens);
    job.end_turn(engine::ToolId::none, engine::Nanos{0});
    workload.jobs.push_back(job.finish(tokens, static_cast<std::uint32_t>(number), 0));
  }
  return workload;
}

}  // namespace workload
