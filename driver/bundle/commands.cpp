#include "driver/bundle/commands.hpp"

#include <algorithm>
#include <iostream>

#include "analysis/text/escape.hpp"
#include "analysis/text/text_table.hpp"
#include "driver/bundle/pack.hpp"
#include "driver/bundle/verify.hpp"
#include "driver/command_line/archive_argument.hpp"
#include "driver/command_line/exit_codes.hpp"

namespace driver {
namespace {

const char* text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::same:
      return "ok";
    case Outcome::note:
      return "note";
    case Outcome::different:
      return "DIFFERS";
    case Outcome::damaged:
      return "DAMAGED";
  }
  return "";
}

}  // namespace

int run_pack(const Options& options) {
  if (!options.output) throw UsageError("pack needs -o DIR, the folder to write");
  using_files([&] { pack(options.arguments, options.profiles, *options.output); });
  std::cout << "packed " << options.arguments.size() << " archives in " << options.output->string()
            << "; kvsweep verify " << options.output->string() << '\n';
  return kOk;
}

int run_verify(const Options& options) {
  VerifyLimits limits;
  limits.set = options.set;
  limits.minutes = options.minutes.value_or(limits.minutes);
  const std::vector<Finding> findings = verify(options.arguments.front(), limits);
  analysis::TextTable table;
  for (const char* name : {"step", "", "what"})
    table.add_column(name, "", analysis::TextTable::Align::left);
  const auto has = [&](Outcome outcome) {
    return std::ranges::any_of(findings,
                               [&](const Finding& each) { return each.outcome == outcome; });
  };
  for (const Finding& each : findings) table.add_row({each.step, text_of(each.outcome), each.text});
  table.print(std::cout);
  if (has(Outcome::damaged)) return kBadArchive;
  return has(Outcome::different) ? kSomeCellsFailed : kOk;
}

}  // namespace driver
