#include "analysis/text/web_page.hpp"

#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/support/shared.hpp"

using namespace analysis;
using Catch::Matchers::Contains;

namespace {

const std::string kElement = R"(<script type="application/json" id="kvsweep-data">)";

/// The page with this JSON in it.
std::string filled(const std::string& page, const std::string& json) {
  support::TempDir folder;
  folder.write("page.html", page);
  std::ostringstream out;
  write_web_page(folder.path() / "page.html", json, out);
  return out.str();
}

}  // namespace

TEST_CASE("a page is filled with data in place of its null") {
  CHECK(filled("<p>a null</p>" + kElement + "null</script>", R"({"x":1})") ==
        "<p>a null</p>" + kElement + R"({"x":1}</script>)");
}

TEST_CASE("no text of the data can end its element or open another") {
  const std::string page = filled(kElement + "null</script>", R"(["</script><script>","<!--"])");
  CHECK(page == kElement + R"(["\u003c/script>\u003cscript>","\u003c!--"]</script>)");
}

TEST_CASE("code of the page may name the element as well") {
  const std::string code = "f('" + kElement + "null')";
  CHECK(filled(code + kElement + "null</script>", "1") == code + kElement + "1</script>");
}

TEST_CASE("a file that is no page for data, or not there, is refused by its name") {
  CHECK_THROWS_WITH(filled("<p>hello</p>", "1"), Contains("page.html"));
  std::ostringstream out;
  CHECK_THROWS_WITH(write_web_page("/none/page.html", "1", out), Contains("/none/page.html"));
}
