#pragma once
#ifdef __CUDACC__  // the compiler's own macro: fine
#endif
#ifdef KVSWEEP_HAVE_CUDA  // a build decision in a header
#endif
