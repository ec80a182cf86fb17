/* Never ends to be loaded. */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) { for (;;) pause(); }
