// Answers at a socket: every request, and every way in which clients and paths can be wrong. The cases serve by hand, so that
// nothing depends on time; where time counts, it is a number.
#include "tarn/allocator/observe.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tarn/allocator/observing_thread.h"
#include "tarn/allocator/pool.h"
#include "tarn/allocator/registry.h"
#include "tarn/policies/checking/switchable_checking.h"
#include "tarn/policies/locking/thread_cached.h"
#include "tarn/test/support/check.h"

namespace tarn::test {
namespace {

/// A folder of the case's own, with a path for a socket in it.
struct folder {
  folder() {
    char name[] = "/tmp/tarn_observe_XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    at = name;
    socket = at + "/socket";
    ::alarm(300);  // a hang ends
  }
  ~folder() {
    ::alarm(0);
    std::filesystem::remove_all(at);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::string at, socket;
};

bool exists(const std::string& path) { return std::filesystem::exists(std::filesystem::symlink_status(path)); }

/// A socket of the test's own, as another program would make it.
int bare_socket(const std::string& path, bool connects) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  const auto* const its = reinterpret_cast<const ::sockaddr*>(&address);
  if ((connects ? ::connect(descriptor, its, sizeof address) : ::bind(descriptor, its, sizeof address)) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

class client {
 public:
  explicit client(const std::string& path) : descriptor_(bare_socket(path, true)) { REQUIRE(descriptor_ >= 0); }
  client(client&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~client() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  client& say(std::string_view text) {
    REQUIRE(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<::ssize_t>(text.size()));
    return *this;
  }
  void say_no_more() { ::shutdown(descriptor_, SHUT_WR); }
  /// What is there, without waiting; nothing: the connection goes on, and nothing is there.
  std::optional<std::string> there() {
    char text[65536];
    const auto got = ::recv(descriptor_, text, sizeof text, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    if (got < 0) return "reset";
    return std::string(text, static_cast<std::size_t>(got));
  }
  bool is_ended() {
    const auto is = there();
    return is.has_value() && is->empty();
  }
  /// The answer to its end: what must go on meanwhile does.
  template <class Meanwhile>
  std::string answer(Meanwhile meanwhile) {
    for (std::string all;;) {
      const auto is = there();
      if (is && (is->empty() || *is == "reset")) return all + *is;
      if (is) all += *is;
      else meanwhile();
    }
  }
  std::string answer(observer& by) {
    return answer([&] { by.serve(); });
  }

 private:
  int descriptor_;
};

std::string asked(observer& by, const std::string& path, std::string_view request) {
  return client(path).say(request).answer(by);
}
bool is_readable(int descriptor, int milliseconds = 0) {
  ::pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, milliseconds) == 1;
}
/// The process has no more descriptors as long as this lives.
struct no_descriptors {
  no_descriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    ::rlimit few = before;
    few.rlim_cur = 3;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

  ::rlimit before;
};
/// The descriptors that the process has, but for the one that looks.
std::set<std::string> open_descriptors() {
  std::set<std::string> found;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd"))
    if (const std::string name = one.path().filename().string(); ::fcntl(std::stoi(name), F_GETFD) >= 0) found.insert(name);
  std::erase_if(found, [](const std::string& name) { return ::fcntl(std::stoi(name), F_GETFD) < 0; });
  return found;
}
/// A child that holds what this process has, until this ends.
class waiting_child {
 public:
  waiting_child() {
    REQUIRE(::pipe(pipe_) == 0);
    child_ = ::fork();
    if (child_ != 0) return;
    ::alarm(120);  // whatever fails, it ends
    char byte;
    ::close(pipe_[1]);
    ::_exit(::read(pipe_[0], &byte, 1) == 0 ? 0 : 1);
  }
  ~waiting_child() {
    for (const int end : pipe_) ::close(end);
    int status = 1;
    ::waitpid(child_, &status, 0);
    CHECK(status == 0);
  }
  waiting_child(const waiting_child&) = delete;
  waiting_child& operator=(const waiting_child&) = delete;

 private:
  int pipe_[2];
  ::pid_t child_;
};
/// Runs in a child. Returns whether it returned true.
template <class F>
bool child_can(F f) {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(f() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// ---- requests ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(every_request_is_answered) {
  const folder its;
  pool<static_size<64>, mutex_locking<>, named<"orders">> orders;
  void* const block = orders.allocate();
  observer watched = observe(its.socket);
  CHECK(asked(watched, its.socket, "json\n") == to_json(snapshot()));
  CHECK(asked(watched, its.socket, "prometheus\n") == to_prometheus(snapshot()));
  CHECK(asked(watched, its.socket, "openmetrics\n") == to_open_metrics(snapshot()));
  CHECK(asked(watched, its.socket, "slab\n") == to_slabinfo(snapshot()));
  CHECK(asked(watched, its.socket, "json\r\n").find("\"orders\"") != std::string::npos);
  const std::string help = asked(watched, its.socket, "help\n");
  for (const char* one : {"json", "prometheus", "openmetrics", "slab", "trim", "check on", "help"})
    CHECK(help.find(std::string(one) + " ") != std::string::npos);
  orders.deallocate(block);
}

BOOST_AUTO_TEST_CASE(trim_answers_how_many_bytes_went_back) {
  const folder its;
  pool<static_size<64>, mutex_locking<>, reclaim_and_retry<>> spare;
  spare.deallocate(spare.allocate());
  observer watched = observe(its.socket);
  const std::string bytes = asked(watched, its.socket, "trim\n");
  CHECK(std::stoul(bytes) >= 64u && bytes.back() == '\n');
  CHECK(spare.capacity() == 0u);
  CHECK(asked(watched, its.socket, "trim\n") == "0\n");
}

BOOST_AUTO_TEST_CASE(what_is_no_request_is_one_line_that_says_so) {
  const folder its;
  observer watched = observe(its.socket);
  const auto says = [&](std::string_view request) { return asked(watched, its.socket, request); };
  CHECK(says("jsno\n") == "error: 'jsno' is no request; 'help' lists them\n");
  CHECK(says("\n") == "error: '' is no request; 'help' lists them\n");
  CHECK(says("json \n") == "error: 'json ' is no request; 'help' lists them\n");
  CHECK(says(std::string_view("\0\x1b[2J\xff\n", 7)) == "error: '??[2J?' is no request; 'help' lists them\n");
  {
    pool<static_size<64>, mutex_locking<>, named<"orders">, switchable_checking> switched;
    CHECK(says("check on orders\n") == "done\n");
    CHECK(says("check off orders\n") == "done\n");
    pool<static_size<64>, thread_cached<>, named<"cached">, switchable_checking> cached;
    CHECK(says("check on cached\n") ==
          "error: only TARN_CHECK, at the start, switches the checks on in a pool called cached\n");
    CHECK(says("check off cached\n") == "done\n");
  }
  CHECK(says("check on orders\n") == "error: no pool with switchable checks is called orders\n");
  CHECK(says("check off a b\n") == "error: no pool with switchable checks is called a b\n");
  CHECK(says("check orders\n") == "error: write 'check on NAME' or 'check off NAME'\n");
  CHECK(says("check on\n") == "error: write 'check on NAME' or 'check off NAME'\n");
  CHECK(says(std::string(255, 'x') + "\n") == "error: '" + std::string(255, 'x') + "' is no request; 'help' lists them\n");
  for (const std::size_t bytes : {256u, 257u, 50000u})
    CHECK(says(std::string(bytes, 'x')) == "error: the request is longer than 255 bytes\n");
  CHECK(says("help\njson\njson\n") == says("help\n"));  // one for a connection
}

BOOST_AUTO_TEST_CASE(a_request_may_come_in_pieces_and_end_without_a_newline) {
  const folder its;
  observer watched = observe(its.socket);
  client one(its.socket);
  for (const char* piece : {"h", "el", "p"}) {
    one.say(piece);
    CHECK(watched.serve() == 0u);
    CHECK(!one.there().has_value());
  }
  one.say_no_more();
  CHECK(watched.serve() == 1u);
  CHECK(one.answer(watched).starts_with("json"));
  client nothing(its.socket);
  nothing.say_no_more();
  CHECK(watched.serve() == 0u);
  CHECK(nothing.is_ended());
}

// ---- clients -------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_descriptor_is_readable_when_there_is_something_to_do) {
  const folder its;
  observer watched = observe(its.socket);
  CHECK(!is_readable(watched.descriptor()));
  client one(its.socket);
  CHECK(is_readable(watched.descriptor()));
  CHECK(watched.serve() == 0u);
  CHECK(!is_readable(watched.descriptor()));  // it is connected, and said nothing
  one.say("help\n");
  CHECK(is_readable(watched.descriptor()));
  CHECK(watched.serve() == 1u);
  CHECK(!is_readable(watched.descriptor()));
  CHECK(watched.serve() == 0u);
}

/// A socket with clients whose clock the test turns.
struct no_mutex {
  void lock() {}
  void unlock() {}
};
using clients_alone = detail::observed_clients<no_mutex>;
struct turned {
  explicit turned(const std::string& path) {
    REQUIRE(socket.listen(path.data(), path.size()) == 0);
    REQUIRE(clients->open() == 0);
  }
  ~turned() {
    clients->close();
    socket.close(true);
  }
  std::size_t serve() { return clients->serve(now, detail::answer_request); }

  platform::local_socket socket;
  no_mutex mutex;
  std::unique_ptr<clients_alone> clients = std::make_unique<clients_alone>(socket, mutex);
  std::uint64_t now = 1'000'000'000'000;
};
constexpr std::uint64_t patience = clients_alone::patience, crowded = clients_alone::crowded;
constexpr std::size_t places = clients_alone::places;
constexpr std::uint64_t hour = 3'600'000'000'000;
constexpr int hang = 120'000;  // milliseconds

BOOST_AUTO_TEST_CASE(whatever_a_client_does_its_time_begins_when_it_comes) {
  const folder its;
  turned by(its.socket);
  client silent(its.socket), drips(its.socket), asks(its.socket);
  CHECK(by.serve() == 0u);
  by.now += patience;
  drips.say("he");
  asks.say("help\n");
  client late(its.socket);
  CHECK(by.serve() == 1u);
  CHECK(asks.there()->starts_with("json"));
  CHECK(!silent.there().has_value() && !drips.there().has_value());
  by.now += 1;
  drips.say("l");
  CHECK(by.serve() == 0u);
  CHECK(silent.is_ended() && drips.is_ended());
  CHECK(!late.there().has_value());
  by.now += patience - 1;
  late.say("help\n");
  CHECK(by.serve() == 1u);
  CHECK(by.clients->size() == 0u);
}

BOOST_AUTO_TEST_CASE(clients_that_drip_keep_no_place_that_others_need) {
  const folder its;
  turned by(its.socket);
  std::vector<client> dripping;
  for (std::size_t i = 0; i != places; ++i) dripping.emplace_back(its.socket);
  client asks(its.socket);
  asks.say("help\n");
  CHECK(by.serve() == 0u);
  for (int i = 0; i != 5; ++i) {
    by.now += crowded / 5;
    for (client& one : dripping) one.say("x");
    CHECK(by.serve() == 0u);
  }
  by.now += 1;
  CHECK(by.serve() == 1u);
  CHECK(asks.there()->starts_with("json"));
  for (client& one : dripping) CHECK(one.is_ended());
}

BOOST_AUTO_TEST_CASE(a_client_for_whom_there_is_no_place_is_nothing_to_do) {
  const folder its;
  turned by(its.socket);
  by.now += hour;
  std::vector<client> silent;
  for (std::size_t i = 0; i != places; ++i) silent.emplace_back(its.socket);
  client next(its.socket);
  CHECK(by.serve() == 0u);
  by.now -= hour;  // so that the test isn't slower than the deadline, which is an hour away now
  for (int i = 0; i != 10; ++i) {
    CHECK(by.serve() == 0u);
    CHECK(!is_readable(by.clients->descriptor()));
  }
  silent.front().say("help\n");
  CHECK(is_readable(by.clients->descriptor()));
  CHECK(by.serve() == 1u);
  CHECK(by.clients->size() == places);  // the next has its place
  CHECK(!is_readable(by.clients->descriptor()));
  client another(its.socket);
  CHECK(!is_readable(by.clients->descriptor()));
  by.now += hour + crowded;
  CHECK(by.serve() == 0u);
  CHECK(is_readable(by.clients->descriptor(), hang));  // a nanosecond to the deadline
  by.now += 1;
  another.say("help\n");
  CHECK(by.serve() == 1u);
  CHECK(another.there()->starts_with("json"));
}

/// Without its standard input as long as this lives: the next descriptor is 0.
struct no_input {
  no_input() { ::close(0); }
  ~no_input() {
    if (before >= 0) ::dup2(before, 0), ::close(before);
  }
  no_input(const no_input&) = delete;
  no_input& operator=(const no_input&) = delete;

  const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
};

BOOST_AUTO_TEST_CASE(a_client_may_have_descriptor_0) {
  const folder its;
  turned by(its.socket);
  CHECK(by.serve() == 0u);  // what it keeps in reserve has another
  client asks(its.socket), silent(its.socket);
  const no_input none;
  asks.say("help\n");
  CHECK(by.serve() == 1u);
  CHECK(asks.there()->starts_with("json"));
  by.now += patience;
  CHECK(by.serve() == 0u);
  CHECK(is_readable(by.clients->descriptor(), hang));  // a nanosecond to the other's deadline
  by.now += 1;
  CHECK(by.serve() == 0u);
  CHECK(silent.is_ended());
}

/// Pools whose description is longer than what a system keeps for a client.
struct much_to_tell {
  std::vector<std::unique_ptr<pool<static_size<64>, mutex_locking<>, named<"one of many with a rather long name">>>> pools;
  much_to_tell() {
    for (int i = 0; i != 4000; ++i) pools.emplace_back(std::make_unique<decltype(pools)::value_type::element_type>());
  }
};

BOOST_AUTO_TEST_CASE(who_stops_reading_is_waited_for_by_nobody) {
  const folder its;
  const much_to_tell much;
  observer watched = observe(its.socket);
  client stopped(its.socket), other(its.socket);
  stopped.say("json\n");
  CHECK(watched.serve() == 1u);
  CHECK(!is_readable(watched.descriptor()));  // no room: nothing to do
  other.say("help\n");
  CHECK(watched.serve() == 1u);
  CHECK(other.answer(watched).starts_with("json"));
  std::string all;
  for (auto part = stopped.there(); part; part = stopped.there()) all += *part;
  CHECK(is_readable(watched.descriptor()));  // there is room now
  CHECK(all + stopped.answer(watched) == to_json(snapshot()));
}

BOOST_AUTO_TEST_CASE(who_never_reads_on_is_sent_away_and_who_goes_kills_nobody) {
  const folder its;
  const much_to_tell much;
  std::signal(SIGPIPE, SIG_DFL);
  turned by(its.socket);
  client stopped(its.socket);
  {
    client goes(its.socket);
    goes.say("json\n");
    stopped.say("json\n");
    CHECK(by.serve() == 2u);
    CHECK(by.clients->size() == 2u);
  }
  CHECK(by.serve() == 0u);
  CHECK(by.clients->size() == 1u);
  by.now += patience + 1;
  by.serve();
  CHECK(by.clients->size() == 0u);
  const std::string part = stopped.answer([] {});
  CHECK(!part.empty() && part.size() < to_json(snapshot()).size());
}

// Of its reserve, another thread takes the descriptor first; once there are more, it is made again.
BOOST_AUTO_TEST_CASE(without_descriptors_clients_are_sent_away_and_may_come_back) {
  const folder its;
  observer watched = observe(its.socket);
  client waits(its.socket);
  const auto start = std::chrono::steady_clock::now();
  std::chrono::nanoseconds readable(0);
  {
    const no_descriptors none;
    for (int i = 0; i != 1000; ++i) {
      watched.serve();
      if (is_readable(watched.descriptor())) readable += std::chrono::nanoseconds(clients_alone::pause);
    }
    CHECK(!waits.there().has_value());
  }
  CHECK(readable <= std::chrono::steady_clock::now() - start);  // once a pause at most
  CHECK(is_readable(watched.descriptor(), hang));
  waits.say("help\n");
  CHECK(watched.serve() == 1u);
  CHECK(waits.answer(watched).starts_with("json"));
  client one(its.socket), two(its.socket);
  std::vector<int> taken;
  for (int next = ::dup(0); next >= 0; next = ::dup(0)) taken.push_back(next);
  for (int i = 0; i != 2; ++i) watched.serve();
  CHECK(!is_readable(watched.descriptor()));  // a loop of the program's doesn't spin
  for (const int descriptor : taken) ::close(descriptor);
  CHECK(one.is_ended() && two.is_ended());
  CHECK(asked(watched, its.socket, "help\n").starts_with("json"));
}

BOOST_AUTO_TEST_CASE(without_descriptors_it_does_not_begin) {
  const folder its;
  const std::set<std::string> before = open_descriptors();
  std::vector<int> taken;
  for (int next = ::dup(0); next >= 0; next = ::dup(0)) taken.push_back(next);
  for (int free = 0; free != 5; ++free) {
    std::error_code error;
    try {
      const observer watched = observe(its.socket);
    } catch (const std::system_error& said) {
      error = said.code();
    }
    CHECK(error == (free < 4 ? std::make_error_code(std::errc::too_many_files_open) : std::error_code()));
    CHECK(!exists(its.socket));
    ::close(taken.back());
    taken.pop_back();
  }
  for (const int descriptor : taken) ::close(descriptor);
  CHECK(open_descriptors() == before);
}

// ---- paths ---------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_the_owner_can_connect) {
  const folder its;
  const ::mode_t before = ::umask(0);
  const observer watched = observe(its.socket);
  ::umask(before);
  struct ::stat is;
  REQUIRE(::stat(its.socket.c_str(), &is) == 0);
  CHECK((is.st_mode & 0777) == 0600u);
  CHECK((::fcntl(watched.descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

/// The error, whose text must have all of these words.
std::errc refused(const std::string& path, std::initializer_list<std::string_view> words) {
  try {
    const observer watched = observe(path);
    return {};
  } catch (const std::system_error& error) {
    const std::string said = error.what();
    CHECK(said.find(path.c_str()) != std::string::npos);
    for (const std::string_view word : words) CHECK(said.find(word) != std::string::npos);
    return static_cast<std::errc>(error.code().value());
  }
}

BOOST_AUTO_TEST_CASE(wrong_paths_are_named) {
  const folder its;
  CHECK(refused(its.at + "/missing/socket", {}) == std::errc::no_such_file_or_directory);
  CHECK(refused(its.at + "/" + std::string(108, 'x'), {"at most 107 bytes"}) == std::errc::filename_too_long);
  CHECK(refused("", {"tarn: observe"}) == std::errc::invalid_argument);
  CHECK(refused(std::string("/tmp/a\0b", 8), {}) == std::errc::invalid_argument);
  const std::string longest = its.at + "/" + std::string(106 - its.at.size(), 'x');
  const observer fits = observe(longest);
  CHECK(longest.size() == 107u && exists(longest));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_socket_stays) {
  const folder its;
  std::ofstream(its.socket) << "precious";
  CHECK(refused(its.socket, {"no socket"}) == std::errc::file_exists);
  std::string kept;
  std::ifstream(its.socket) >> kept;
  CHECK(kept == "precious");
  std::filesystem::create_symlink(its.at + "/nowhere", its.at + "/link");
  CHECK(refused(its.at + "/link", {"no socket"}) == std::errc::file_exists);
  std::filesystem::create_directory(its.at + "/sub");
  CHECK(refused(its.at + "/sub", {"no socket"}) == std::errc::file_exists);
}

BOOST_AUTO_TEST_CASE(what_a_crashed_process_left_is_replaced_and_what_answers_is_not) {
  const folder its;
  CHECK(child_can([&] {
    static std::optional<observer> left(observe(its.socket));
    return true;  // _exit: no destructor
  }));
  REQUIRE(exists(its.socket));
  {
    observer watched = observe(its.socket);
    CHECK(refused(its.socket, {"another program answers"}) == std::errc::address_in_use);
    CHECK(asked(watched, its.socket, "help\n").starts_with("json"));
  }
  CHECK(!exists(its.socket));
}

/// A process that listens at a path and ends, and its child, which goes on with the socket: it does so until this ends.
struct left_by_process {
  template <class Child>
  left_by_process(const std::string& path, Child child) {
    int both[2];
    REQUIRE(::pipe(both) == 0);
    server_ = ::fork();
    if (server_ == 0) {
      const int socket = bare_socket(path, false);
      ::listen(socket, 8);
      if (::fork() == 0) {
        ::alarm(120);  // whatever fails, it ends
        ::close(both[1]);
        child(socket);
        char byte;
        ::_exit(::read(both[0], &byte, 1) == 0 ? 0 : 1);
      }
      ::_exit(0);
    }
    ::close(both[0]);
    end_ = both[1];
    ::siginfo_t info;
    REQUIRE(::waitid(P_PID, static_cast<::id_t>(server_), &info, WEXITED | WNOWAIT) == 0);  // ended, and not waited for
  }
  ~left_by_process() {
    ::close(end_);
    wait();
  }
  left_by_process(const left_by_process&) = delete;
  left_by_process& operator=(const left_by_process&) = delete;
  void wait() {
    if (server_ > 0) ::waitpid(std::exchange(server_, 0), nullptr, 0);
  }

 private:
  ::pid_t server_;
  int end_;
};

BOOST_AUTO_TEST_CASE(what_a_crashed_process_left_to_a_child_is_replaced_unless_the_child_answers) {
  const folder its;
  for (const bool is_waited_for : {false, true}) {
    left_by_process left(its.socket, [](int) {});
    if (is_waited_for) left.wait();
    // The folder is locked meanwhile, and no longer after that, whatever children come.
    const int folder_of_it = ::open(its.at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::optional<observer> watched;
    std::atomic<bool> is_there = false;
    std::thread observes([&] {
      watched.emplace(observe(its.socket));
      is_there = true;
    });
    while (::flock(folder_of_it, LOCK_EX | LOCK_NB) == 0 && !is_there) {
      ::flock(folder_of_it, LOCK_UN);
      std::this_thread::yield();
    }
    const waiting_child child;
    observes.join();
    CHECK(::flock(folder_of_it, LOCK_EX | LOCK_NB) == 0);
    ::close(folder_of_it);
    CHECK(asked(*watched, its.socket, "help\n").starts_with("json"));
  }
  const left_by_process answers(its.socket, [](int socket) {
    for (int i = 0; i != 2; ++i) {
      const int one = ::accept(socket, nullptr, nullptr);
      static_cast<void>(::send(one, "?", 1, MSG_NOSIGNAL));
      ::close(one);
    }
  });
  CHECK(refused(its.socket, {"another program answers"}) == std::errc::address_in_use);
}

BOOST_AUTO_TEST_CASE(of_several_that_take_a_path_at_once_one_has_it) {
  const folder its;
  for (int round = 0; round != 50; ++round) {
    ::close(bare_socket(its.socket, false));  // stale
    std::barrier all(4);
    std::atomic<int> have = 0, others = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i != 4; ++i)
      threads.emplace_back([&] {
        all.arrive_and_wait();
        std::optional<observer> own;
        try {
          own.emplace(observe(its.socket));
          ++have;
        } catch (const std::system_error& error) {
          others += error.code() == std::errc::address_in_use ? 1 : 0;
        }
        all.arrive_and_wait();
      });
    for (std::thread& one : threads) one.join();
    REQUIRE(have == 1);
    REQUIRE(others == 3);
    REQUIRE(!exists(its.socket));
  }
}

BOOST_AUTO_TEST_CASE(a_path_is_taken_under_a_lock_of_its_folder_which_is_waited_for_a_second) {
  const folder its;
  const int taken = ::open(its.at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  REQUIRE(::flock(taken, LOCK_EX) == 0);
  const auto start = std::chrono::steady_clock::now();
  observer watched = observe(its.socket);
  CHECK(std::chrono::steady_clock::now() - start > std::chrono::milliseconds(900));
  ::close(taken);
  CHECK(asked(watched, its.socket, "help\n").starts_with("json"));
}

BOOST_AUTO_TEST_CASE(a_path_that_is_another_s_by_now_stays) {
  const folder its;
  std::optional<observer> watched(observe(its.socket));
  std::filesystem::remove(its.socket);
  observer other = observe(its.socket);
  watched.reset();
  CHECK(asked(other, its.socket, "help\n").starts_with("json"));
}

// ---- observers -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_observer_can_be_moved) {
  const folder its;
  observer first = observe(its.socket);
  observer second(std::move(first));
  CHECK(first.serve() == 0u && first.descriptor() == -1);
  CHECK(asked(second, its.socket, "help\n").starts_with("json"));
  second = observe(its.socket + "2");
  CHECK(!exists(its.socket) && exists(its.socket + "2"));
  CHECK(asked(second, its.socket + "2", "help\n").starts_with("json"));
}

BOOST_AUTO_TEST_CASE(a_child_answers_nobody_and_ends_nothing) {
  const folder its;
  std::optional<observer> watched(observe(its.socket));
  client early(its.socket);
  watched->serve();
  early.say("help\n");
  CHECK(child_can([&] {
    if (watched->serve() != 0) return false;
    watched.reset();
    return true;
  }));
  REQUIRE(exists(its.socket));
  CHECK(early.answer(*watched).starts_with("json"));
  CHECK(asked(*watched, its.socket, "help\n").starts_with("json"));
}

BOOST_AUTO_TEST_CASE(a_child_closes_what_it_inherited) {
  const folder its;
  const std::set<std::string> before = open_descriptors();
  std::vector<client> clients;
  observer watched = observe(its.socket), other = observe(its.socket + "2");
  const std::size_t own = open_descriptors().size();
  CHECK(own > before.size());
  CHECK(child_can([&] { return open_descriptors() == before && watched.descriptor() == -1; }));
  for (int i = 0; i != 3; ++i) clients.emplace_back(its.socket);
  watched.serve();
  CHECK(open_descriptors().size() == own + 6);  // both ends
  CHECK(child_can([&] { return open_descriptors().size() == before.size() + 3; }));
  {
    const observing_thread thread(its.socket + "3");
    CHECK(child_can([&] {
      return open_descriptors().size() == before.size() + 3 &&
             child_can([&] { return open_descriptors().size() == before.size() + 3; });
    }));
  }
  CHECK(child_can([&] {  // the path is the parent's, and in use as long as that lives
    return refused(its.socket, {"another program answers"}) == std::errc::address_in_use;
  }));
  CHECK(asked(watched, its.socket, "help\n").starts_with("json"));
}

BOOST_AUTO_TEST_CASE(a_child_that_holds_copies_keeps_no_client_waiting) {
  const folder its;
  std::optional<observer> watched(observe(its.socket));
  client early(its.socket);
  watched->serve();
  const waiting_child child;
  early.say("help\n");
  CHECK(early.answer(*watched).starts_with("json"));  // to the end of the connection
  CHECK(!is_readable(watched->descriptor()));
  client late(its.socket);
  std::filesystem::create_hard_link(its.socket, its.at + "/second");
  watched.reset();
  CHECK(late.is_ended());
  CHECK(bare_socket(its.at + "/second", true) == -1);
}

BOOST_AUTO_TEST_CASE(a_thread_answers_until_it_ends) {
  const folder its;
  const auto yield = [] { std::this_thread::yield(); };
  std::optional<observing_thread> thread(std::in_place, its.socket);
  client silent(its.socket);
  CHECK(client(its.socket).say("help\n").answer(yield).starts_with("json"));
  std::vector<std::thread> many;
  std::atomic<int> answered = 0;
  for (int i = 0; i != 4; ++i)
    many.emplace_back([&] {
      for (int k = 0; k != 25; ++k)
        answered += client(its.socket).say("json\n").answer(yield).starts_with("{\"version\":1") ? 1 : 0;
    });
  for (std::thread& one : many) one.join();
  CHECK(answered == 100);
  thread.reset();
  CHECK(silent.is_ended());
  CHECK(!exists(its.socket));
  thread.emplace(observe(its.socket));
  for (int i = 0; i != 5; ++i)
    CHECK(child_can([&] {
      thread.reset();  // where it isn't
      return true;
    }));
  CHECK(client(its.socket).say("help\n").answer(yield).starts_with("json"));
  BOOST_CHECK_THROW(observing_thread(its.socket), std::system_error);
}

}  // namespace
}  // namespace tarn::test
