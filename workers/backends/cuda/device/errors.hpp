#pragma once
#include <stdexcept>

namespace backends {

/// A call to the device or one of its libraries failed. The message names the call and its place.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Device memory or page-locked memory is exhausted. The cell fails; the device stays usable.
struct DeviceOutOfMemory : DeviceError {
  using DeviceError::DeviceError;
};

/// The context is lost for this process (illegal address, ECC error, card off the bus): every later
/// call fails as well, so the worker must accept no more cells.
struct DeviceLost : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace backends
