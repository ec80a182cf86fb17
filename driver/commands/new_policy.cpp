#include <filesystem>
#include <iostream>
#include <regex>

#include "driver/commands/commands.hpp"
#include "sweeps/files/durable_file.hpp"

namespace driver {
namespace {

std::string with(std::string_view text, std::string_view place, std::string_view value) {
  std::string replaced;
  for (std::size_t at; (at = text.find(place)) != text.npos; text.remove_prefix(at + place.size()))
    replaced.append(text.substr(0, at)).append(value);
  return replaced.append(text);
}

struct Language {
  const char* name;
  const char* suffix;
  const char* of_cmake;  // null: nothing is compiled
};
constexpr Language kLanguages[] = {
    {"c++", "cpp", "CXX"}, {"c", "c", "C"}, {"python", "py", nullptr}};

const Language& language_of(const std::string& name) {
  for (const Language& language : kLanguages)
    if (name == language.name) return language;
  throw UsageError("new policy: --language must be one of c++, c, python, found \"" + name + '"');
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

/// The text with what stands for the policy's name, file and language in it.
std::string filled(std::string_view text, const std::string& name, const Language& language) {
  const std::string file = language.of_cmake ? "lib" + name + ".so" : name + ".py";
  std::string result = with(text, "POLICY_FILE", file);
  result = with(result, "POLICY_LANGUAGE", language.of_cmake ? language.of_cmake : "");
  result = with(result, "POLICY_SUFFIX", language.suffix);
  return with(result, "POLICY_NAME", name);
}

}  // namespace

int new_policy(const Options& options) {
  check(options.arguments);
  const std::string& name = options.arguments[1];
  const Language& language = language_of(options.language);
  sweep::FileOps files;
  files.make_folder(name);
  for (const ExampleFile& file : policy_example())
    if (file.languages.find(std::string(" ") + language.suffix + ' ') != file.languages.npos)
      files.write(name + '/' + filled(file.path, name, language),
                  filled(file.text, name, language));
  std::cout << "wrote " << name << "/: a policy, with its test. Try it:\n";
  if (language.of_cmake) {
    std::cout << "  cmake -S " << name << " -B " << name << "/build\n"
              << "  cmake --build " << name << "/build\n"
              << "  ctest --test-dir " << name << "/build\n";
  } else {
    std::cout << "  python3 " << name << '/' << name << "_test.py\n";
  }
  std::cout << "  kvsweep run " << name << "/sweep.toml\n";
  return kOk;
}

}  // namespace driver
