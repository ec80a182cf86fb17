/* Crashes while it is loaded. */
#include <signal.h>

__attribute__((constructor)) static void loaded(void) { raise(SIGSEGV); }
