// Who asks at a socket: each client sends one line and reads the answer, which ends where the connection does. No call waits
// for a client, and no client is kept for longer than `patience` when it does nothing.
#ifndef TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_
#define TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tarn/policies/platform/local_sockets.h"
#include "tarn/policies/platform/watched_set.h"

namespace tarn::detail {

/// The text that answers a request: new char[], or a constant.
struct observed_answer {
  const char* text = nullptr;
  std::size_t bytes = 0;
  bool is_owned = false;
};

class observed_clients {
 public:
  using socket = platform::local_socket;
  using respond = observed_answer (*)(const char* request, std::size_t bytes) noexcept;

  static constexpr std::size_t places = 32;  // clients at once; others wait in the system
  static constexpr std::size_t longest = 255;  // bytes of a request
  static constexpr std::uint64_t patience = 10'000'000'000;  // nanoseconds that a client may do nothing
  static constexpr std::uint64_t crowded = 500'000'000;  // while there is no other place

  /// Returns the error, or 0.
  int open(const socket& at) noexcept {
    listening_ = &at;
    set_ = platform::watched_set::open(at.descriptor());
    if (set_ < 0 || !platform::watched_set::add(set_, at.descriptor())) return errno;
    reserve_ = at.spare();
    return 0;
  }
  /// \param is_owner  false in the child of a fork. Another thread of the parent may have been in serve(): what was being
  /// written there is left alone
  void close(bool is_owner) noexcept {
    for (client& c : clients_) {
      if (c.descriptor < 0) continue;
      if (is_owner) end(c);
      else socket::close(c.descriptor);
    }
    if (reserve_ >= 0) socket::close(reserve_);
    if (set_ >= 0) platform::watched_set::close(set_);
  }
  int descriptor() const noexcept { return set_; }
  std::size_t size() const noexcept { return connected_; }

  /// Goes on with every client as far as it can without waiting. Returns how many requests it answered.
  std::size_t serve(std::uint64_t now, respond answer) noexcept {
    std::size_t answered = 0;
    for (client& c : clients_)
      if (c.descriptor >= 0 && advance(c, now, answer)) ++answered;
    for (client& c : clients_) {
      if (c.descriptor >= 0) continue;
      const int next = listening_->accept(reserve_);
      if (next < 0) break;
      admit(c, next, now);
      if (c.descriptor >= 0 && advance(c, now, answer)) ++answered;
    }
    const std::uint64_t limit = connected_ == places ? crowded : patience;
    for (client& c : clients_)
      if (c.descriptor >= 0 && now - c.last > limit) end(c);
    return answered;
  }

 private:
  struct client {
    int descriptor = -1;
    std::uint64_t last = 0;  // when it last did something
    std::size_t got = 0;  // bytes of the request
    std::size_t sent = 0;  // of the answer
    observed_answer answer;
    char request[longest + 1];
  };

  void admit(client& c, int descriptor, std::uint64_t now) noexcept {
    if (!platform::watched_set::add(set_, descriptor)) return socket::close(descriptor);
    c.descriptor = descriptor;
    c.last = now;
    c.got = c.sent = 0;
    ++connected_;
  }
  void end(client& c) noexcept {
    platform::watched_set::drop(set_, c.descriptor);
    socket::end(c.descriptor);
    c.descriptor = -1;
    --connected_;
    const observed_answer answer = c.answer;
    c.answer = {};
    if (answer.is_owned) delete[] answer.text;
  }

  /// Returns whether it made an answer.
  bool advance(client& c, std::uint64_t now, respond answer) noexcept {
    const bool asks = c.answer.text == nullptr;
    if (asks && !read(c, now, answer)) return false;
    write(c, now);
    return asks;
  }
  /// Returns whether the request is there, and answered.
  bool read(client& c, std::uint64_t now, respond answer) noexcept {
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
      c.last = now;
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
    platform::watched_set::await_room(set_, c.descriptor);
  }
  void write(client& c, std::uint64_t now) noexcept {
    while (c.sent != c.answer.bytes) {
      std::size_t bytes = c.answer.bytes - c.sent;
      const socket::outcome sent = socket::write(c.descriptor, c.answer.text + c.sent, bytes);
      if (sent == socket::outcome::nothing) return;
      if (sent == socket::outcome::failed) break;
      c.sent += bytes;
      c.last = now;
    }
    end(c);
  }
  template <std::size_t N>
  static constexpr observed_answer text(const char (&words)[N]) noexcept {
    return {words, N - 1, false};
  }

  const socket* listening_ = nullptr;
  int set_ = -1;
  int reserve_ = -1;
  std::size_t connected_ = 0;
  client clients_[places];
};

}  // namespace tarn::detail

#endif  // TARN_ALLOCATOR_DETAIL_OBSERVED_CLIENTS_H_
