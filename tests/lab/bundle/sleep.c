// The program of the test image lab.local/sleep:1. Says what it was started with, then sleeps; a first
// argument that is a number ends it after so many seconds with status 0.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void stop(int number) {
  (void)number;
  _exit(0);
}

int main(int argc, char** argv) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  printf("sleep:");
  for (int i = 1; i < argc; ++i) printf(" %s", argv[i]);
  printf("\n");
  fflush(stdout);
  const long seconds = argc > 1 ? atol(argv[1]) : 0;
  if (seconds > 0) {
    sleep((unsigned)seconds);
    return 0;
  }
  for (;;) pause();
}
