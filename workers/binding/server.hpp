#pragma once
// Private to this room: cells of backend server.
#include "workers/binding/binding.hpp"
#include "workers/binding/param_binder.hpp"

namespace worker {

/// The value of server.profile; empty: none.
std::string chosen_profile(const sweep::ParamMap& params);

/// The cell's policy on a backend that knows no server: its own, or the one that its profile names
/// for comparison; null: it has none.
const sweep::Param* policy_without_server(const sweep::ParamMap& params);

/// Throws sweep::SpecError where the environment gives a policy inside vLLM a value that the cell
/// does not have as a key policy.*, so that `backend` would run the policy without it.
void refuse_values_of_servers_alone(const sweep::ParamMap& written, const std::string& backend);

/// Whether the command, flags, environment or request of the cell's server name this key.
bool server_names(const sweep::ParamMap& params, const std::string& key);

/// With server.match: adds the flags behind the server's command that give it the sizes of
/// engine.*, which the cell's engine gets as well.
void bind_match(ParamBinder& in, ExperimentConfig& config);

/// With server.steps: adds the scheduler class that writes steps behind the server's command.
void bind_steps(ParamBinder& in, server::ServerConfig& server);

/// Throws sweep::SpecError for priorities that a vLLM started here would not heed.
void require_priorities(const ParamBinder& in, const server::ServerConfig& server);

/// Throws sweep::SpecError for a policy inside vLLM that is not told which turns are a job's last.
void require_last_turns(const ParamBinder& in, const server::ServerConfig& server);

/// Throws sweep::SpecError, which shows no value, for a header or a variable with the name of a
/// secret whose value is not "env:VARIABLE", and for an address with a password.
void refuse_secrets(const sweep::ParamMap& written);

/// The cell of what was taken.
BoundCell bound_cell(ParamBinder& in);

BoundCell bind_server_cell(const sweep::ParamMap& cell, const std::string& document,
                           std::int64_t arrival_seed, Profiles& profiles);

}  // namespace worker
