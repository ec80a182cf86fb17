#pragma once
#include <stdexcept>

namespace backends {

/// A call to the device or one of its libraries failed: the message says which and where.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Memory of the device, or page-locked memory, is used up. The cell fails; the device works on.
struct DeviceOutOfMemory : DeviceError {
  using DeviceError::DeviceError;
};

/// The context is dead for this process (illegal address, ECC error, card off the bus): every later
/// call fails as well, so the worker must take no more cells.
struct DeviceLost : DeviceError {
  using DeviceError::DeviceError;
};

}  // namespace backends
