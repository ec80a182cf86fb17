#pragma once
#include <dlfcn.h>

namespace backends {

/// A function of a library that was opened at run time; null if the library lacks it.
template <class Function>
class Symbol {
 public:
  Symbol(void* library, const char* name)
      : function_(reinterpret_cast<Function*>(dlsym(library, name))) {}
  operator Function*() const { return function_; }

 private:
  Function* function_;
};

}  // namespace backends
