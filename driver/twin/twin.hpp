#pragma once
#include <map>
#include <string>

#include "driver/command_line/options.hpp"
#include "sweeps/spec/spec.hpp"

namespace driver {

/// The sweep file with another name, backend and values of keys, each given in its place or added
/// to [engine]; all else as it was written, comments too. Throws sweep::SpecError where the file is
/// written in a way that cannot be edited so.
std::string edited_sweep(const sweep::SweepSpec& spec, const std::string& name,
                         const std::string& backend,
                         const std::map<std::string, sweep::Value>& values);

/// `kvsweep twin SWEEP.toml --archive A.h5`: writes the sweep for sim and cuda with the sizes that
/// the servers of the archive's cells reported. Returns the exit code.
int write_twin(const Options& options);

/// `kvsweep twin A.h5`: simulates the cells in which a server was measured, with the constants of
/// its own steps that the card's profile has, and prints both beside each other.
int judge_twin(const Options& options);

}  // namespace driver
