/* Never ends to be loaded, ignores the alarm, and leaves a process that holds what it inherited. */
#include <signal.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
  signal(SIGALRM, SIG_IGN);
  if (fork() == 0) {
    sleep(5);
    _exit(0);
  }
  for (;;) pause();
}
