#pragma once
#include <dlfcn.h>

namespace backends {

/// Points `function` to the symbol of a library that was opened at run time; null if it has none.
template <class Function>
bool find_symbol(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace backends
