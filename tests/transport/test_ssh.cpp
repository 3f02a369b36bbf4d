#include <doctest/doctest.h>
//
#include "gpuadm/base/shell.hpp"

#include "sshd.hpp"

using namespace testing_transport;

TEST_CASE("ssh: 64 MiB are streamed to a program without being held in memory") {
  if (!can_serve()) return;
  Sshd sshd;
  REQUIRE(shell("head -c 67108864 /dev/urandom > " + (sshd.place.path / "big").string()) == 0);
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto command = reads("sha256sum | cut -d' ' -f1");
  command.input = sshd.place.path / "big";
  command.timeout = 60s;
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == base::sha256_of_file(sshd.place.path / "big").value() + "\n");
}

namespace {
/// A client whose files take two channels, however short the way is.
transport::Options of_two_channels(const Sshd& sshd) {
  auto options = sshd.options();
  options.long_way = 0ms;
  return options;
}
transport::Command rooted(std::string script) {
  auto command = reads(std::move(script));
  command.as = transport::As::root;
  return command;
}
std::size_t sessions(const Sshd& sshd) {
  return sshd.logged("Starting session: command");
}
}  // namespace

TEST_CASE("ssh: a large file that goes over two channels is put together again, to the last byte") {
  if (!can_serve()) return;
  Sshd sshd("LogLevel VERBOSE");
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  const std::uint64_t least = 16u << 20, block = 1u << 20;
  for (const std::uint64_t size :
       {least - 1, least, least + 1, least + block, least + 3 * block / 2, 3 * least + 77}) {
    CAPTURE(size);
    const auto file = sshd.place.path / "big";
    REQUIRE(shell(fmt::format("head -c {} /dev/urandom > {}", size, file.string())) == 0);
    const std::size_t before = sessions(sshd);
    auto command = rooted("sha256sum | cut -d' ' -f1; exit 7");
    command.input = file;
    const auto exit = client(command);
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == base::sha256_of_file(file).value() + "\n");
    CHECK(exit->status == 7);
    CHECK(sessions(sshd) - before == (size < least ? 1 : 2));
  }
  auto rest = rooted("wc -c");
  rest.input = sshd.place.path / "big";
  rest.input_offset = block + 5;
  CHECK(client(rest)->out == fmt::format("{}\n", 3 * least + 77 - block - 5));
  CHECK(client("ls /run | grep -c gpuadm-.*- || :")->out == "0\n");
}

TEST_CASE("ssh: a program that stops reading a file of two channels is answered") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto command = rooted("head -c 3; exit 5");
  command.input = sshd.place.write("file", std::string(40'000'000, 'x'));
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "xxx");
  CHECK(exit->status == 5);
  CHECK(client("echo next")->out == "next\n");
}

TEST_CASE("ssh: what came of a file before one of its two channels ended is its beginning") {
  if (!can_serve()) return;
  Sshd sshd;
  const auto file = sshd.place.path / "big";
  REQUIRE(shell("head -c 60000000 /dev/urandom > " + file.string()) == 0);
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  // The second channel's program is killed once some of the file is here.
  auto command = rooted(
      "head -c 9000000; for p in /proc/[0-9]*; do case $(readlink $p/fd/1) in \"$gpuadm_meeting\"*) kill "
      "${p#/proc/} ;; esac; done; cat");
  command.input = file;
  command.output_limit = 100u << 20;
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out.size() >= 9'000'000);
  CHECK(exit->out.size() < 60'000'000);
  CHECK(base::read_file(file)->starts_with(exit->out));
}

TEST_CASE("ssh: through sudo a large file takes two channels once sudo is known to ask for nothing") {
  if (!can_serve() || !std::filesystem::exists("/usr/bin/sudo")) return;
  Sshd sshd;
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519"), "gpu"));
  auto command = rooted("id -u; wc -c");
  command.input = sshd.place.write("file", std::string(40'000'000, 'x'));
  for (const int channels : {1, 2}) {
    const std::size_t before = sessions(sshd);
    const auto exit = client(command);
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "0\n40000000\n");
    CHECK(sessions(sshd) - before == channels);
  }
}

TEST_CASE("ssh: where the program of the second channel does not begin, one channel does") {
  if (!can_serve()) return;
  Place here;
  const auto once = here.write("once", fmt::format("mkdir {}/turned-away 2>/dev/null && exit 1\n"
                                                   "exec sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
                                                   here.path.string()));
  Sshd sshd("ForceCommand sh " + once.string());
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto command = rooted("wc -c");
  command.input = here.write("file", std::string(40'000'000, 'x'));
  for (int i = 0; i < 2; ++i) {
    const auto exit = client(command);
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "40000000\n");
  }
  CHECK(std::filesystem::exists(here.path / "turned-away"));
}

TEST_CASE("ssh: where sshd lets no second channel be, one does") {
  if (!can_serve()) return;
  Sshd sshd("MaxSessions 1");
  Client client(of_two_channels(sshd), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto command = rooted("wc -c");
  command.input = sshd.place.write("file", std::string(40'000'000, 'x'));
  for (int i = 0; i < 12; ++i) {
    const auto exit = client(command);
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == "40000000\n");
  }
}

TEST_CASE("ssh: a large script and a large answer arrive whole") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  std::string text;
  while (text.size() < 3'000'000) text += "it's line " + std::to_string(text.size()) + "\n";
  auto command = reads("printf '%s' " + base::quote(text));
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out.size() == text.size());
  CHECK(base::sha256(exit->out) == base::sha256(text));
}

TEST_CASE("ssh: a file comes behind a script that is longer than a packet, and not a byte of it is lost") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  std::string comment;
  while (comment.size() < 300'000) comment += ": 'it is line " + std::to_string(comment.size()) + "'\n";
  for (const char* content : {"", "x", "first\nsecond\n"}) {
    auto command = reads(comment + "cat");
    command.input = sshd.place.write("file", content);
    const auto exit = client(command);
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == content);
  }
}

TEST_CASE("ssh: a program that stops reading its file is answered") {
  if (!can_serve()) return;
  Sshd sshd;
  Client client(sshd.options(), sshd.endpoint(sshd.user_key("ed", "ed25519")));
  auto command = reads("head -c 3; exit 5");
  command.input = sshd.place.write("file", std::string(20'000'000, 'x'));
  const auto exit = client(command);
  if (!exit) FAIL(exit.error().what);
  CHECK(exit->out == "xxx");
  CHECK(exit->status == 5);
  CHECK(client("echo next")->out == "next\n");
}

TEST_CASE("ssh: 200 hosts through a window of 64, and a second command over the same connections") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  auto options = sshd.options();
  options.connect_timeout = 60s;
  auto session = transport::make_session(options, {});
  transport::Fleet fleet(64, nullptr);
  for (int i = 1; i <= 200; ++i) {
    const std::string host = fmt::format("127.0.{}.{}", i / 100, 1 + i % 100);
    fleet.add(host, transport::open(*session, host, sshd.endpoint(key, "root", host)));
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& host : fleet.hosts()) fleet.submit(host, reads("echo $SSH_CONNECTION | cut -d' ' -f3"));
    int good = 0;
    while (auto completion = fleet.next()) {
      if (!completion->result) FAIL(completion->result.error().what);
      good += completion->result->out == completion->host + "\n";
    }
    CHECK(good == 200);
  }
}

TEST_CASE("ssh: a first Ctrl-C lets running commands finish, a second closes them") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  for (const int presses : {1, 2}) {
    CAPTURE(presses);
    base::Interrupt interrupt;
    auto session = transport::make_session(sshd.options(), {});
    transport::Fleet fleet(2, &interrupt);
    for (const char* host : {"a", "b", "c"}) {
      fleet.add(host, transport::open(*session, host, sshd.endpoint(key)));
      fleet.submit(host, reads(presses == 1 ? "sleep 2; echo done" : "sleep 20"));
    }
    std::thread presser([&] {
      for (int i = 0; i < presses; ++i) {
        std::this_thread::sleep_for(1s);
        ::kill(::getpid(), SIGINT);
      }
    });
    const auto from = base::Clock::now();
    int done = 0, ended = 0;
    while (auto completion = fleet.next())
      completion->result                                             ? ++done
      : completion->result.error().fault == base::Fault::interrupted ? ++ended
                                                                     : 0;
    presser.join();
    CHECK(done == (presses == 1 ? 2 : 0));
    CHECK(ended == (presses == 1 ? 1 : 3));
    CHECK(base::Clock::now() - from < 10s);
  }
}

TEST_CASE("ssh: a jump host and a proxy command of ssh_config lead to the host") {
  if (!can_serve()) return;
  Sshd jump, sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  std::ofstream(jump.place.path / "authorized", std::ios::app) << base::read_file(key + ".pub").value();
  auto options = sshd.options();
  const std::string common = "IdentityAgent none\nIdentityFile " + key + "\n";
  options.ssh_config = sshd.place.write(
      "jumping", fmt::format("Host target\n HostName 127.0.0.1\n Port {0}\n ProxyJump "
                             "root@127.0.0.1:{1}\nHost commanded\n HostName "
                             "127.0.0.1\n Port {0}\n ProxyCommand ssh -F none -W %h:%p -p {1} -i {2} "
                             "-oUserKnownHostsFile={3} root@127.0.0.1\n"
                             "Host broken\n ProxyCommand echo no way >&2; exit 1\n"
                             "Host lost\n ProxyJump root@127.0.0.1:{4}\nHost *\n {5}",
                             sshd.port, jump.port, key, options.known_hosts.string(), free_port(), common));
  for (const char* host : {"target", "commanded"}) {
    CAPTURE(host);
    Client client(options, {.address = host, .user = "root"});
    const auto exit = client("echo $SSH_CONNECTION | cut -d' ' -f4");
    if (!exit) FAIL(exit.error().what);
    CHECK(exit->out == std::to_string(sshd.port) + "\n");
    CHECK(jump.log().find("Accepted publickey") != std::string::npos);
  }
  const auto broken = Client(options, {.address = "broken", .user = "root"})("true");
  REQUIRE_FALSE(broken);
  CAPTURE(broken.error().what);
  CHECK(broken.error().what.find("no way") != std::string::npos);
  const auto lost = Client(options, {.address = "lost", .user = "root"})("true");
  REQUIRE_FALSE(lost);
  CAPTURE(lost.error().what);
  CHECK(lost.error().what.find("Connection refused") != std::string::npos);
}

namespace {
/// From somewhere else on the stack each time, as callers may.
transport::Result<std::optional<transport::Exit>> advance(transport::Transport& transport, int depth) {
  volatile char stack[500];
  stack[0] = static_cast<char>(depth);
  if (depth == 0) return transport.advance();
  auto progress = advance(transport, depth - 1);
  stack[1] = stack[0];
  return progress;
}
}  // namespace

TEST_CASE("ssh: the end of a file waits for space in the socket, wherever it is sent from") {
  if (!can_serve()) return;
  Sshd sshd;
  const std::string key = sshd.user_key("ed", "ed25519");
  const auto slow = sshd.place.write("slow.py",  // reads little at a time
                                     "import os, select, socket, sys, time\n"
                                     "there = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                                     "while True:\n"
                                     "    for one in select.select([0, there], [], [])[0]:\n"
                                     "        data = os.read(0, 3000) if one == 0 else there.recv(65536)\n"
                                     "        if not data: sys.exit()\n"
                                     "        if one == 0: there.sendall(data); time.sleep(0.001)\n"
                                     "        else: os.write(1, data)\n");
  auto options = sshd.options();
  options.ssh_config = sshd.place.write(
      "config", fmt::format("Host *\n IdentityFile {}\n IdentityAgent none\n ProxyCommand python3 {} {}\n",
                            key, slow.string(), sshd.port));
  const auto session = transport::make_session(options, {});
  const auto client = transport::open(*session, "gpu7", {.address = "127.0.0.1", .user = "root"});
  for (const int size : {200'000, 300'001, 400'123, 555'555}) {
    CAPTURE(size);
    auto command = reads("wc -c");
    command.input = sshd.place.write("file", std::string(static_cast<std::size_t>(size), 'x'));
    REQUIRE(client->start(command));
    const auto until = base::Clock::now() + 20s;
    std::optional<transport::Exit> exit;
    for (int turn = 0; !exit && base::Clock::now() < until; ++turn) {
      std::vector<pollfd> sockets;
      client->interests(sockets);
      ::poll(sockets.data(), sockets.size(), 5);
      auto progress = advance(*client, turn % 7);
      if (!progress) FAIL(progress.error().what);
      exit = std::move(*progress);
    }
    REQUIRE(exit);
    CHECK(exit->out == fmt::format("{}\n", size));
  }
}
