/* Ends its process while it is loaded. */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) { _exit(3); }
