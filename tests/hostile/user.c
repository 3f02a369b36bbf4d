// What a user without rights can show to root on a host: processes and files of any name. Each form ends when the file GOES-ON is gone, and
// prints its process id when it is ready.
//   user GOES-ON called NAME [FILE...]   a process called NAME (15 bytes of any value) that has these files open
//   user GOES-ON waits NAME [FILE...]    the same, waiting in the kernel (state D): a parent of vfork waits for its child
//   user GOES-ON listens NAME            the same, with a port of the loopback interface; prints its number, too
//   user GOES-ON swaps A B               A and B are exchanged again and again
//   user GOES-ON opens COUNT FILE        a process that has the file open that often
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *goes_on;

static void wait_for_end(void) {
  while (access(goes_on, F_OK) == 0) usleep(50000);
  _exit(0);
}

static void fail(const char *what) {
  perror(what);
  _exit(1);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  goes_on = argv[1];
  const char *what = argv[2];
  if (strcmp(what, "swaps") == 0) {
    while (access(goes_on, F_OK) == 0) renameat2(AT_FDCWD, argv[3], AT_FDCWD, argv[4], RENAME_EXCHANGE);
    return 0;
  }
  if (strcmp(what, "opens") == 0) {
    for (int i = 0; i < atoi(argv[3]); ++i)
      if (open(argv[4], O_RDONLY) < 0) fail(argv[4]);
    printf("%d\n", getpid());
    fflush(stdout);
    wait_for_end();
  }
  if (prctl(PR_SET_NAME, argv[3]) != 0) fail("name");
  for (int i = 4; i < argc; ++i)
    if (open(argv[i], O_RDONLY) < 0) fail(argv[i]);
  if (strcmp(what, "listens") == 0) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&at, size) != 0 || listen(s, 1) != 0) fail("listen");
    if (getsockname(s, (struct sockaddr *)&at, &size) != 0) fail("listen");
    printf("%d %d\n", getpid(), ntohs(at.sin_port));
  } else {
    printf("%d\n", getpid());
  }
  fflush(stdout);
  if (strcmp(what, "waits") == 0 && vfork() == 0) wait_for_end();
  wait_for_end();
}
