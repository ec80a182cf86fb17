#include <toml++/toml.h>  // models are read from JSON
