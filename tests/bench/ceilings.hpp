#pragma once

namespace backends {

/// Peak rates that a device reaches, as a reference for other figures. GB are 10^9 bytes.
struct Ceilings {
  double copy_gb_s = 0;               // device to device, bytes read and bytes written
  double read_gb_s = 0;               // device memory, read only
  double gemm_tflop_s = 0;            // bf16, 8,192 x 8,192 x 8,192, random numbers
  double sustained_gemm_tflop_s = 0;  // of the same, one after another, once power limits the clock
  double to_device_gb_s = 0;          // from page-locked memory
  double to_host_gb_s = 0;
  double both_ways_gb_s = 0;  // both directions at once, their sum
};

/// Temporarily allocates about 5 GiB of device memory and 1 GiB of page-locked memory. Throws
/// engine::InputError when the program was built without CUDA, DeviceOutOfMemory and DeviceLost.
Ceilings measure_ceilings(int ordinal);

}  // namespace backends
