#pragma once

namespace backends {

/// What a device reaches at its best: figures to hold everything else against. GB are 10^9 bytes.
struct Ceilings {
  double copy_gb_s = 0;       // device to device, bytes read and bytes written
  double read_gb_s = 0;       // device memory, read only
  double gemm_tflop_s = 0;    // bf16, 8,192 x 8,192 x 8,192, random numbers
  double to_device_gb_s = 0;  // from page-locked memory
  double to_host_gb_s = 0;
  double both_ways_gb_s = 0;  // at once, the sum
};

/// Takes about 5 GiB of device memory and 1 GiB of page-locked memory for a moment. Throws
/// engine::InputError where the program was built without CUDA, DeviceOutOfMemory and DeviceLost.
Ceilings measure_ceilings(int ordinal);

}  // namespace backends
