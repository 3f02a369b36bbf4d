#include "transport/child.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <ctime>

extern char** environ;

namespace transport {

namespace {
struct Pair {
  Descriptor ours, theirs;
};

void prepare(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

enum class Flow { from_child, to_child };
bool make_pipe(Pair& pair, Flow flow) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return false;
  pair.ours.reset(flow == Flow::from_child ? fds[0] : fds[1]);
  pair.theirs.reset(flow == Flow::from_child ? fds[1] : fds[0]);
  prepare(pair.ours.get());
  return true;
}

bool make_socket(Pair& pair) {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return false;
  pair.ours.reset(fds[0]);
  pair.theirs.reset(fds[1]);
  prepare(pair.ours.get());
  return true;
}

int spawn_process(const std::vector<std::string>& argv, int in, int out, int err, pid_t& pid) {
  std::vector<char*> arguments;
  for (const auto& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const int error = ::posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}
}  // namespace

base::Result<Child> Child::spawn(const std::vector<std::string>& argv, Wiring wiring) {
  Pair in, out, err;
  const bool made = wiring == Wiring::socket
                        ? make_socket(in) && make_pipe(err, Flow::from_child)
                        : make_pipe(in, Flow::to_child) && make_pipe(out, Flow::from_child) &&
                              make_pipe(err, Flow::from_child);
  if (!made)
    return base::fail(base::Fault::bug, fmt::format("cannot make a pipe: {}", std::strerror(errno)),
                      "increase `ulimit -n`, or use a smaller --window");
  Child child;
  const int child_out = wiring == Wiring::socket ? in.theirs.get() : out.theirs.get();
  if (const int error = spawn_process(argv, in.theirs.get(), child_out, err.theirs.get(), child.pid_);
      error != 0)
    return base::fail(base::Fault::bug, fmt::format("cannot start {}: {}", argv[0], std::strerror(error)));
  child.exit_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0)));
  child.in = std::move(in.ours);
  child.out = std::move(out.ours);
  child.err = std::move(err.ours);
  return child;
}

Child::Child(Child&& other) noexcept {
  *this = std::move(other);
}

Child& Child::operator=(Child&& other) noexcept {
  if (this == &other) return *this;
  end();
  in = std::move(other.in);
  out = std::move(other.out);
  err = std::move(other.err);
  exit_ = std::move(other.exit_);
  pid_ = std::exchange(other.pid_, -1);
  status_ = std::exchange(other.status_, std::nullopt);
  return *this;
}

Child::~Child() {
  end();
}

void Child::end() {
  if (!running()) return;
  signal(SIGKILL);
  // A process of another user (sudo) cannot be killed; it is left to init instead of waiting for it.
  wait(std::chrono::milliseconds(500));
  pid_ = -1;
}

void Child::wait(std::chrono::milliseconds longest) {
  for (auto waited = std::chrono::milliseconds(0); !status() && waited < longest; ++waited) {
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

namespace {
/// Result and errno of a call that writes to a pipe, without SIGPIPE.
template <class Call>
ssize_t without_sigpipe(Call&& call) {
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  const ssize_t written = call();
  const int error = errno;
  if (written < 0 && error == EPIPE) {
    const timespec now{0, 0};
    ::sigtimedwait(&pipe, nullptr, &now);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}
}  // namespace

ssize_t Child::write(std::string_view bytes) {
  const ssize_t written = without_sigpipe([&] { return ::write(in.get(), bytes.data(), bytes.size()); });
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  return written;
}

ssize_t Child::pass(int file) {
  constexpr std::size_t most = 1u << 20;
  return without_sigpipe(
      [&] { return ::splice(file, nullptr, in.get(), nullptr, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE); });
}

Child::Read Child::read(Descriptor& from, std::string& into) {
  char buffer[64u << 10];
  const ssize_t got = ::read(from.get(), buffer, sizeof buffer);
  const int error = errno;
  if (got > 0) into.append(buffer, static_cast<std::size_t>(got));
  if (got > 0) return Read::some;
  if (got < 0 && (error == EAGAIN || error == EINTR)) return Read::later;
  from.reset();
  return Read::end;
}

std::optional<int> Child::status() {
  if (status_ || pid_ <= 0) return status_;
  int raw = 0;
  if (::waitpid(pid_, &raw, WNOHANG) == pid_) {
    status_ = WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
    exit_.reset();
  }
  return status_;
}

void Child::interests(std::vector<pollfd>& into, Writes writes) const {
  if (out.is_open()) into.push_back({out.get(), POLLIN, 0});
  if (err.is_open()) into.push_back({err.get(), POLLIN, 0});
  if (in.is_open() && writes == Writes::yes) into.push_back({in.get(), POLLOUT, 0});
  if (exit_.is_open()) into.push_back({exit_.get(), POLLIN, 0});
}

void Child::signal(int number) const {
  if (running()) ::kill(-pid_, number);
}

}  // namespace transport
