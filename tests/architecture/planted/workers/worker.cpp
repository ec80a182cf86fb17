#include <mpi.h>  // only the channel and main speak MPI
#include <nccl.h>

#include "driver/command_line/options.hpp"  // nothing below the driver knows it
