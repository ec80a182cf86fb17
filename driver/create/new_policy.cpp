#include "driver/create/new_policy.hpp"

#include <filesystem>
#include <iostream>
#include <regex>

#include "driver/command_line/exit_codes.hpp"
#include "driver/create/policy_example.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {
namespace {

std::string with_name(std::string_view text, const std::string& name) {
  constexpr std::string_view kPlace = "POLICY_NAME";
  std::string named;
  for (std::size_t at; (at = text.find(kPlace)) != text.npos;
       text.remove_prefix(at + kPlace.size()))
    named.append(text.substr(0, at)).append(name);
  return named.append(text);
}

void check(const std::vector<std::string>& words) {
  if (words[0] != "policy")
    throw UsageError("new: makes a policy, found \"" + words[0] + "\": kvsweep new policy NAME");
  if (!std::regex_match(words[1], std::regex("[a-z][a-z0-9_]*")))
    throw UsageError("new policy: a name has letters a to z, digits and _, found \"" + words[1] +
                     '"');
  if (std::filesystem::exists(words[1]))
    throw UsageError("new policy: " + words[1] + " exists already");
}

}  // namespace

int new_policy(const Options& options) {
  check(options.arguments);
  const std::string& name = options.arguments[1];
  sweep::FileOps files;
  files.make_folder(name);
  for (const ExampleFile& file : policy_example())
    files.write(name + '/' + with_name(file.path, name), with_name(file.text, name));
  std::cout << "wrote " << name
            << "/: a policy as a shared object, with its test. Build and try it:\n"
            << "  cmake -S " << name << " -B " << name << "/build\n"
            << "  cmake --build " << name << "/build\n"
            << "  kvsweep run " << name << "/sweep.toml\n";
  return kOk;
}

}  // namespace driver
