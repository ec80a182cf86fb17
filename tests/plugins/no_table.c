/* A shared object of something else. */
int kvsweep_nothing(void);
int kvsweep_nothing(void) { return 0; }
