#include "workers/workload/request_list.hpp"

#include "workers/engine/base/errors.hpp"
#include "workers/workload/synthetic_job.hpp"

namespace workload {
namespace {

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
    job.prompt(SegmentKind::user, size.prompt_tokens);
    job.answer(SegmentKind::assistant_text, size.output_tokens);
    job.end_turn(engine::ToolId::none, engine::Nanos{0});
    workload.jobs.push_back(job.finish(tokens, static_cast<std::uint32_t>(number), 0));
  }
  return workload;
}

}  // namespace workload
