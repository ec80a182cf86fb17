#include <boost/program_options.hpp>
const char* shared() { return std::getenv("KVSWEEP_SHARED"); }
