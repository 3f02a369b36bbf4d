// What static libraries of newer distributions want of a glibc newer than 2.31, in terms of that one. Linked into portable
// programs only (packaging/sysroot).
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

// libstdc++ and libgcc: "the process may have several threads" is always right.
char __libc_single_threaded = 0;

// What libgcc's unwinder asks for the object that an address is in, and where its .eh_frame_hdr begins: glibc's manual,
// "Dynamic Linker Introspection". It is asked for nothing else.
struct dl_find_object {
  unsigned long long dlfo_flags;
  void* dlfo_map_start;
  void* dlfo_map_end;
  void* dlfo_link_map;
  void* dlfo_eh_frame;
  unsigned long long reserved[7];
};

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int look(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  const struct search* search = data;
  uintptr_t start = 0, end = 0, frames = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    const uintptr_t from = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME) frames = from;
    if (header->p_type == PT_LOAD && search->address >= from && search->address - from < header->p_memsz) {
      start = from;
      end = from + header->p_memsz;
    }
  }
  if (end == 0) return 0;
  if (frames == 0) return -1;
  search->result->dlfo_map_start = (void*)start;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_eh_frame = (void*)frames;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

// std::random_device. Random bytes or none: there is no way to say that they could not be had.
uint32_t arc4random(void) {
  uint32_t value;
  ssize_t got;
  do got = getrandom(&value, sizeof value, 0);
  while (got < 0 && errno == EINTR);
  if (got != (ssize_t)sizeof value) abort();
  return value;
}

// C23's names; what differs, binary literals with base 0 or 2, is nothing that the libraries read.
long __isoc23_strtol(const char* text, char** end, int base) {
  return strtol(text, end, base);
}
unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return strtoul(text, end, base);
}
long long __isoc23_strtoll(const char* text, char** end, int base) {
  return strtoll(text, end, base);
}
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return strtoull(text, end, base);
}
