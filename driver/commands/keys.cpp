#include "driver/commands/keys.hpp"

#include <iostream>

#include "analysis/text/list.hpp"
#include "driver/commands/commands.hpp"

namespace driver {
namespace {

using worker::Default;
using worker::Key;

std::string short_number(double number) {
  char buffer[32];
  const auto format =
      number >= 1e-3 && number < 1e9 ? std::chars_format::fixed : std::chars_format::general;
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr};
}

/// The range as text, without a maximum that only prevents overflow.
std::string range(const worker::Whole& whole) {
  if (whole.max >= worker::kMostOf32Bits) return "at least " + std::to_string(whole.min);
  return std::to_string(whole.min) + "-" + std::to_string(whole.max);
}

struct InWords {
  std::string operator()(const worker::Flag&) const { return "true or false"; }
  std::string operator()(const worker::Whole& whole) const { return range(whole); }
  std::string operator()(const worker::Real& real) const {
    return short_number(real.min) + "-" + short_number(real.max);
  }
  std::string operator()(const worker::AnyText&) const { return "text"; }
  std::string operator()(const worker::OneOf& choice) const { return sweep::joined(choice.words); }
  std::string operator()(const worker::ProfileIn& profile) const {
    return std::string("a name in ") + profile.folder + "/";
  }
  std::string operator()(const worker::FilePath&) const { return "path of a file"; }
  std::string operator()(const worker::FolderPath&) const { return "path of a folder"; }
};

void print_markdown_row(const Key& key, std::ostream& out) {
  out << "| `" << key.name << "` | " << default_in_words(key) << " | " << values_in_words(key)
      << " | " << key.says << " | " << worker::in_words(key.where) << " |\n";
}

std::string section_of(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

}  // namespace

std::string values_in_words(const Key& key) {
  return std::visit(InWords(), key.type) + (key.unit().empty() ? "" : " " + key.unit());
}

std::string default_in_words(const Key& key) {
  if (key.fallback.kind == Default::Kind::required) return "required";
  if (key.fallback.kind != Default::Kind::value) return key.fallback.text;
  return key.fallback.text + (key.unit().empty() ? "" : " " + key.unit());
}

std::vector<const Key*> keys_with(const worker::KeyTable& table, const std::string& word) {
  std::vector<const Key*> keys;
  for (const Key& key : table.keys())
    if (key.name.find(word) != std::string::npos) keys.push_back(&key);
  if (!keys.empty()) return keys;
  throw UsageError("no key contains \"" + word + '"' + sweep::suggestion(word, table.names()));
}

void print_keys(const std::vector<const Key*>& keys, std::ostream& out) {
  for (const Key* key : keys) {
    const std::string where = worker::in_words(key->where);
    const bool is_required = key->fallback.kind == Default::Kind::required;
    out << key->name << "\n    " << key->says << "\n    " << (is_required ? "" : "default: ")
        << default_in_words(*key) << "; allowed: " << values_in_words(*key) << '\n';
    if (!where.empty()) out << "    counts where " << where << '\n';
  }
}

void print_keys_markdown(const std::vector<const Key*>& keys, std::ostream& out) {
  out << "# Keys of a sweep file\n\n"
         "Every key that a sweep file, `[axes]` or `--set` may set; `kvsweep keys WORD` prints "
         "the same. A key\ncounts where its condition holds, and is no part of a cell's identity "
         "elsewhere: an axis of a policy's\nparameter collapses to one cell for a policy that "
         "does not use it, and `plan` names keys that\ncount in no cell. `backend` stands for "
         "`sweep.backend` or `--backend`.\n";
  std::vector<std::string> sections;
  for (const Key* key : keys) analysis::add_once(sections, section_of(key->name));
  for (const std::string& section : sections) {
    out << "\n## " << (section.empty() ? "Without a section" : '[' + section + ']') << "\n\n"
        << "| key | default | allowed | what it is | counts where |\n|---|---|---|---|---|\n";
    for (const Key* key : keys)
      if (section_of(key->name) == section) print_markdown_row(*key, out);
  }
}

int keys(const Options& options) {
  const std::string word = options.arguments.empty() ? "" : options.arguments.front();
  const auto keys = keys_with(worker::sweep_keys(), word);
  const std::string format = options.format.value_or("text");
  if (format != "text" && format != "md")
    throw UsageError("--format must be text or md, found \"" + format + '"');
  (format == "md" ? print_keys_markdown : print_keys)(keys, std::cout);
  return kOk;
}

}  // namespace driver
