// Many streams at once, against a server that answers at once. `kvsweep bench client` prints what
// they cost.
#include "tests/support/catch.hpp"
#include "workers/server/http/loop.hpp"
#include "workers/tools/benches.hpp"

TEST_CASE("a thousand streams at once end with all their tokens") {
  if (!server::has_http()) SKIP_TEST("built without libcurl");
  const worker::ClientCost cost = worker::measure_client();
  CHECK(cost.streams == 1000);
  CHECK(cost.token_events > 25'000);  // of 50,000 tokens some arrive together
  CHECK(cost.gaps + cost.streams == cost.token_events);
  CHECK(cost.us_per_event > 0);
}
