// Who asks at a socket: each client sends one line and reads the answer, which ends where the connection does. No call waits
// for a client, and none is kept for longer than `patience`, whatever it does.
#ifndef TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_
#define TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/sockets.h"
#include "tarn/policies/platform/waiting.h"

namespace tarn::detail {

/// The text that answers a request: new char[], or a constant.
struct observed_answer {
  const char* text = nullptr;
  std::size_t bytes = 0;
  bool is_owned = false;
};

/// \tparam Mutex  held while descriptors come and go, and whenever a fork copies the process: its child then knows which there
/// are. Nothing else is locked under it.
template <class Mutex>
class observed_clients {
 public:
  using socket = platform::local_socket;
  using respond = observed_answer (*)(const char* request, std::size_t bytes) noexcept;

  static constexpr std::size_t places = 32;  // clients at once; others wait in the system
  static constexpr std::size_t longest = 255;  // bytes of a request
  static constexpr std::uint64_t patience = 10'000'000'000;  // nanoseconds that a client has, from the start to the end
  static constexpr std::uint64_t crowded = 500'000'000;  // while there is no other place
  static constexpr std::uint64_t pause = 100'000'000;  // until clients are accepted again, when the system refused

  observed_clients(const socket& at, Mutex& mutex) noexcept : listening_(at), mutex_(mutex) {}

  /// Returns the error, or 0.
  int open() noexcept {
    const held<Mutex> lock(mutex_);
    if (const int error = set_.open(listening_.descriptor()); error != 0) return error;
    reserve_ = listening_.spare();
    return reserve_ >= 0 ? 0 : errno;
  }
  void close() noexcept {
    for (client& c : clients_) end(c);
    const held<Mutex> lock(mutex_);
    close_copies();
  }
  /// In the child of a fork: closes what it has inherited. Another thread of the parent may have been in serve(): what was
  /// being written there is left alone. Precondition: the mutex is held, or nobody else can be here.
  void close_copies() noexcept {
    for (client& c : clients_) socket::close(c.descriptor);
    socket::close(reserve_);
    set_.close();
    connected_ = 0;
  }
  int descriptor() const noexcept { return set_.descriptor(); }
  std::size_t size() const noexcept { return connected_; }
  /// Whether a client that comes is something to do.
  bool is_accepting() const noexcept { return is_accepting_; }

  /// Goes on with every client as far as it can without waiting. Returns how many requests it answered.
  std::size_t serve(std::uint64_t now, respond answer) noexcept {
    std::size_t answered = 0;
    for (client& c : clients_)
      if (c.descriptor >= 0 && advance(c, answer)) ++answered;
    const std::uint64_t limit = time_of_each();
    for (client& c : clients_)
      if (c.descriptor >= 0 && now > c.admitted + limit) end(c);
    auto next = socket::outcome::done;
    for (client& c : clients_) {
      if (c.descriptor >= 0) continue;
      next = accept(c, now);
      if (next != socket::outcome::done) break;
      if (c.descriptor >= 0 && advance(c, answer)) ++answered;
    }
    watch(now, next == socket::outcome::failed);
    return answered;
  }

 private:
  struct client {
    int descriptor = -1;
    std::uint64_t admitted = 0;  // when it came
    std::size_t got = 0;  // bytes of the request
    std::size_t sent = 0;  // of the answer
    observed_answer answer;
    char request[longest + 1];
  };

  std::uint64_t time_of_each() const noexcept { return connected_ == places ? crowded : patience; }
  /// The set is readable when there is something to do. That isn't so for a client who comes while there is no place for it,
  /// or while the system gives no descriptor: then a deadline is waited for.
  void watch(std::uint64_t now, bool is_refused) noexcept {
    if (set_.descriptor() < 0) return;  // an answer forked, and this is its child
    const bool accepts = connected_ != places && !is_refused;
    if (accepts != is_accepting_) set_.look_at(listening_.descriptor(), accepts);
    is_accepting_ = accepts;
    std::uint64_t next = is_refused ? now + pause : never;
    for (const client& c : clients_)
      if (const std::uint64_t late = c.admitted + time_of_each() + 1; c.descriptor >= 0 && late < next) next = late;
    if (next == wakes_at_) return;
    wakes_at_ = next;
    set_.wake_after(next == never ? 0 : next - now);
  }

  /// outcome::done: there was a client, and it is admitted unless the system can't watch it.
  socket::outcome accept(client& c, std::uint64_t now) noexcept {
    const held<Mutex> lock(mutex_);
    if (reserve_ < 0) reserve_ = listening_.spare();
    const socket::outcome found = listening_.accept(c.descriptor, reserve_);
    if (found != socket::outcome::done) return found;
    if (!set_.add(c.descriptor)) return socket::close(c.descriptor), found;
    c.admitted = now;
    c.got = c.sent = 0;
    ++connected_;
    return found;
  }
  void end(client& c) noexcept {
    if (c.descriptor >= 0) {
      const held<Mutex> lock(mutex_);
      set_.drop(c.descriptor);
      socket::end(c.descriptor);
      --connected_;
    }
    const observed_answer answer = c.answer;
    c.answer = {};
    if (answer.is_owned) delete[] answer.text;
  }

  /// Returns whether it made an answer.
  bool advance(client& c, respond answer) noexcept {
    const bool asks = c.answer.text == nullptr;
    if (asks && !read(c, answer)) return false;
    write(c);
    return asks;
  }
  /// Returns whether the request is there, and answered.
  bool read(client& c, respond answer) noexcept {
    for (;;) {
      std::size_t bytes = sizeof c.request - c.got;
      switch (socket::read(c.descriptor, c.request + c.got, bytes)) {
        case socket::outcome::nothing:
          return false;
        case socket::outcome::failed:
          return end(c), false;
        case socket::outcome::done:
          break;
      }
      const bool is_end = bytes == 0;
      const std::size_t before = c.got;
      c.got += bytes;
      for (std::size_t i = before; i != c.got; ++i)
        if (c.request[i] == '\n') return set_answer(c, answer(c.request, i)), true;
      if (c.got == sizeof c.request) return set_answer(c, text("error: the request is longer than 255 bytes\n")), true;
      if (!is_end) continue;
      if (c.got == 0) return end(c), false;
      return set_answer(c, answer(c.request, c.got)), true;
    }
  }
  void set_answer(client& c, const observed_answer& answer) noexcept {
    c.answer = answer;
    if (c.descriptor >= 0) set_.await_room(c.descriptor);
  }
  void write(client& c) noexcept {
    while (c.sent != c.answer.bytes) {
      std::size_t bytes = c.answer.bytes - c.sent;
      const socket::outcome sent = socket::write(c.descriptor, c.answer.text + c.sent, bytes);
      if (sent == socket::outcome::nothing) return;
      if (sent == socket::outcome::failed) break;
      c.sent += bytes;
    }
    end(c);
  }
  template <std::size_t N>
  static constexpr observed_answer text(const char (&words)[N]) noexcept {
    return {words, N - 1, false};
  }

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  const socket& listening_;
  Mutex& mutex_;
  platform::watched_set set_;
  int reserve_ = -1;
  std::size_t connected_ = 0;
  bool is_accepting_ = true;
  std::uint64_t wakes_at_ = never;
  client clients_[places];
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_
