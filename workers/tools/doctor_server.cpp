#include "workers/server/session.hpp"
#include "workers/tools/doctor.hpp"

namespace worker {
namespace {

DoctorRow caches(server::Session& session, server::Reset reset) {
  if (reset == server::Reset::none)
    return {"caches", Verdict::ok, "left as they are between cells (server.reset)"};
  if (reset == server::Reset::restart)
    return {"caches", Verdict::ok, "emptied by a restart before each cell (server.reset)"};
  if (session.empty_caches(reset)) return {"caches", Verdict::ok, "can be emptied, by a probe"};
  return {"caches", Verdict::warn,
          session.owned() ? "cannot be emptied: it is restarted before each cell"
                          : "cannot be emptied: start it with " + session.dialect().reset_needs() +
                                ", or give server.reset = \"none\""};
}

/// As a sweep file would set them.
std::string listed(const server::EngineSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.named())
    if (size)
      text += (text.empty() ? "engine." : ", engine.") + std::string(name) + ' ' +
              std::to_string(*size);
  return text;
}

}  // namespace

std::vector<DoctorRow> examine_server(const server::ServerConfig& written, const std::string& log) {
  server::ServerConfig config = written;
  config.version.clear();
  try {
    server::Session session(config, {.log = log, .devices = {}});
    const server::ServerFacts& facts = session.facts();
    const auto said = [](const std::string& text) { return text.empty() ? "not reported" : text; };
    std::vector<DoctorRow> rows = {
        {"server", Verdict::ok, config.kind_name + " at " + session.url()},
        {"version", Verdict::ok, said(facts.version)}};
    if (!facts.version.empty() && facts.version != written.version)
      rows.back() = {"version", Verdict::warn,
                     facts.version + "; server.version is \"" + written.version + '"'};
    std::string models;
    for (const std::string& each : facts.models) models += (models.empty() ? "" : ", ") + each;
    rows.push_back({"model", Verdict::ok, said(models)});
    rows.push_back({"KV pool", Verdict::ok, said(facts.pool)});
    rows.push_back({"sizes", Verdict::ok, said(listed(facts.sizes))});
    const bool metrics = session.has_metrics();
    rows.push_back({"metrics", metrics ? Verdict::ok : Verdict::warn,
                    metrics ? "/metrics has what is read" : "none: /telemetry will be empty"});
    rows.push_back(caches(session, config.reset));
    return rows;
  } catch (const server::ServerFailed& failed) {
    return {{"server", Verdict::fail, failed.what()}};
  }
}

}  // namespace worker
