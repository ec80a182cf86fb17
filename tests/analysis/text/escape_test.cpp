#include "analysis/text/escape.hpp"

#include "analysis/text/json.hpp"

#include "tests/support/catch.hpp"

using namespace analysis;

namespace {

std::string json_escaped(std::string_view text) { return text_of(Json(text)); }

const std::string kReplaced = "\xEF\xBF\xBD";

}  // namespace

TEST_CASE("JSON strings escape what JSON forbids and keep the rest") {
  CHECK(json_escaped("plain") == "\"plain\"");
  CHECK(json_escaped("a\"b\\") == R"("a\"b\\")");
  CHECK(json_escaped("\n\t\r") == R"("\n\t\r")");
  CHECK(json_escaped(std::string_view("\0\x1f\x7f", 3)) == "\"\\u0000\\u001f\x7f\"");
  CHECK(json_escaped("Grüße ☃ 😀") == "\"Grüße ☃ 😀\"");
}

TEST_CASE("bytes that are not UTF-8 become replacement characters in JSON") {
  CHECK(json_escaped("\xff") == '"' + kReplaced + '"');
  CHECK(json_escaped("a\xc3") == "\"a" + kReplaced + '"');               // cut short
  CHECK(json_escaped("\xc0\xaf") == '"' + kReplaced + kReplaced + '"');  // overlong
  CHECK(json_escaped("\xed\xa0\x80") ==
        '"' + kReplaced + kReplaced + kReplaced + '"');                        // surrogate
  CHECK(json_escaped("\xf4\x90\x80\x80").size() == 2 + 4 * kReplaced.size());  // above U+10FFFF
}

TEST_CASE("control characters are escaped for a terminal") {
  CHECK(terminal_text("\x1b[31mred\x07") == R"(\x1b[31mred\x07)");
  CHECK(terminal_text("two\nlines\r\t") == R"(two\nlines\r\t)");
  CHECK(terminal_text("\xc2\x9b"
                      "2J") == R"(\x9b2J)");  // C1 CSI in UTF-8
  CHECK(terminal_text("\xe2\x80\xae"
                      "abc") == R"(\u202eabc)");
  CHECK(terminal_text("\xff\x80") == R"(\xff\x80)");
  CHECK(terminal_text("Grüße ☃ 😀") == "Grüße ☃ 😀");
}

TEST_CASE("width counts characters, not bytes") {
  CHECK(display_width("Grüße") == 5);
  CHECK(display_width("") == 0);
}

TEST_CASE(
    "a word for the shell is in quotes where it needs them, and in ASCII if it is not UTF-8") {
  CHECK(analysis::shell_word("a.h5") == "a.h5");
  CHECK(analysis::shell_word("it's mine") == "'it'\\''s mine'");
  CHECK(analysis::shell_word("caf\xe9's\\.h5") == "$'caf\\xe9\\'s\\\\.h5'");
  CHECK(analysis::shell_word("a\nb") == "$'a\\nb'");
}
