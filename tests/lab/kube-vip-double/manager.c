// A double of kube-vip's `manager`: of what it does in ARP mode with leader election, and nothing else. It holds the lease
// plndr-cp-lock by optimistic locking, has the address on the interface while it does, and announces it to the network by ARP. Speaks to
// the API server through kubectl, as the user of /etc/kubernetes/admin.conf, at the name kubernetes. It does not prove that kube-vip works.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *address, *interface, *name;
static volatile sig_atomic_t ends;

static void stop(int number) {
  (void)number;
  ends = 1;
}

static const char *variable(const char *key) {
  const char *value = getenv(key);
  if (value && *value) return value;
  fprintf(stderr, "%s is not set\n", key);
  exit(2);
}

// Whether the address is on the interface, as an alias of its own.
static void hold(int yes) {
  struct ifreq request = {0};
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  snprintf(request.ifr_name, sizeof request.ifr_name, "%.11s:vip", interface);
  struct sockaddr_in *in = (struct sockaddr_in *)&request.ifr_addr;
  in->sin_family = AF_INET;
  if (yes) {
    inet_pton(AF_INET, address, &in->sin_addr);
    if (ioctl(fd, SIOCSIFADDR, &request)) perror("SIOCSIFADDR");
    in->sin_addr.s_addr = 0xffffffff;
    if (ioctl(fd, SIOCSIFNETMASK, &request)) perror("SIOCSIFNETMASK");
  } else {
    request.ifr_flags = 0;
    ioctl(fd, SIOCSIFFLAGS, &request);
  }
  close(fd);
}

// "The address is at this card": a request for one's own address, to everybody (RFC 5227, ARP announcement).
static void announce(void) {
  struct ifreq request = {0};
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ARP));
  snprintf(request.ifr_name, sizeof request.ifr_name, "%s", interface);
  if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request)) {
    perror("ARP");
    return;
  }
  unsigned char frame[42];
  const unsigned char *mac = (const unsigned char *)request.ifr_hwaddr.sa_data, head[] = {8, 6, 0, 1, 8, 0, 6, 4, 0, 1};
  memset(frame, 0xff, 6);
  memcpy(frame + 6, mac, 6);
  memcpy(frame + 12, head, sizeof head);
  memcpy(frame + 22, mac, 6);
  inet_pton(AF_INET, address, frame + 28);
  memset(frame + 32, 0, 6);
  memcpy(frame + 38, frame + 28, 4);
  struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(interface), .sll_halen = 6};
  memset(to.sll_addr, 0xff, 6);
  if (sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to) < 0) perror("sendto");
  close(fd);
}

// kubectl with a verb and what follows; its input, and what it says. Whether it ended well.
static int kubectl(const char *in, char *out, size_t size, const char *verb, const char *a, const char *b, const char *c, const char *d,
                   const char *e) {
  int to[2], from[2], status = 1;
  if (pipe(to) || pipe(from)) return 0;
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], 0), dup2(from[1], 1);
    for (int fd = 3; fd < 16; ++fd) close(fd);
    execl("/kubectl", "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--server", "https://kubernetes:6443", "--request-timeout=2s",
          "-n", "kube-system", verb, a, b, c, d, e, (char *)NULL);
    _exit(127);
  }
  close(to[0]), close(from[1]);
  if (in && write(to[1], in, strlen(in)) < 0) perror("kubectl");
  close(to[1]);
  size_t got = 0;
  for (ssize_t n; got + 1 < size && (n = read(from[0], out + got, size - got - 1)) > 0;) got += (size_t)n;
  out[got] = 0;
  close(from[0]);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Makes the lease ours, or keeps it: rejected by the API server if another node was faster.
static int take(const char *version) {
  char now[40], text[1200];
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  const size_t length = strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", gmtime(&t.tv_sec));
  snprintf(now + length, sizeof now - length, ".%06ldZ", t.tv_nsec / 1000);
  snprintf(text, sizeof text,
           "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"plndr-cp-lock\",\"namespace\":"
           "\"kube-system\"%s%s%s},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":5,\"renewTime\":\"%s\"}}",
           *version ? ",\"resourceVersion\":\"" : "", version, *version ? "\"" : "", name, now);
  char said[600];
  return kubectl(text, said, sizeof said, *version ? "replace" : "create", "-f", "-", NULL, NULL, NULL);
}

int main(void) {
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  signal(SIGPIPE, SIG_IGN);
  address = variable("address"), interface = variable("vip_interface"), name = variable("vip_nodename");
  char seen[300] = "", held_at[300];
  time_t since = time(NULL), renewed = 0;
  int leads = 0;
  hold(0);
  while (!ends) {
    char holder[200] = "", renew[64] = "", version[64] = "";
    char said[400];
    const int answers = kubectl(NULL, said, sizeof said, "get", "lease", "plndr-cp-lock", "--ignore-not-found", "-o",
                                "jsonpath={.spec.holderIdentity} {.spec.renewTime} {.metadata.resourceVersion}");
    const int words = sscanf(said, "%199s %63s %63s", holder, renew, version);
    snprintf(held_at, sizeof held_at, "%s %s", holder, renew);
    if (strcmp(seen, held_at)) since = time(NULL);
    snprintf(seen, sizeof seen, "%s", held_at);
    const int free_now = words < 3 || !strcmp(holder, name) || time(NULL) - since >= 5;
    if (answers && free_now && take(words < 3 ? "" : version)) renewed = time(NULL);
    const int lead = renewed && time(NULL) - renewed < 5;
    if (lead != leads) printf("%s\n", lead ? "leads" : "leads no more"), fflush(stdout), hold(lead);
    if ((leads = lead)) announce();
    sleep(1);
  }
  hold(0);
  return 0;
}
