// Guard bytes around a block, and the fill of a free one: every byte that somebody writes is seen, and told exactly.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tarn/policies/checking/block_checks.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/test/support/check.h"

namespace {

using tarn::detail::damage;
using tarn::detail::free_fill;
using tarn::detail::guard_words;
namespace memory_tools = tarn::detail::memory_tools;

constexpr std::size_t guards = guard_words::bytes;
constexpr std::size_t largest = 70;
constexpr std::byte nobodys{0xEE};
constexpr std::uintptr_t kept = 0x12345670;

/// A block of `size` bytes, at an address that is `shift` past a multiple of 16, and 32 bytes more on each side.
class place {
 public:
  static constexpr std::size_t margin = guards + 32;

  place(std::size_t size, std::size_t shift) : bytes_(16 + 16 + margin + size + margin, nobodys) {
    const auto start = reinterpret_cast<std::uintptr_t>(bytes_.data());
    block = bytes_.data() + (16 - start % 16) % 16 + margin + shift;
  }
  ~place() { memory_tools::unpoison(bytes_.data(), bytes_.size()); }
  place(const place&) = delete;
  place& operator=(const place&) = delete;

  /// Byte `i` from the block's start.
  std::byte& at(std::ptrdiff_t i) {
    memory_tools::unpoison(block + i, 1);
    return block[i];
  }
  /// Whether nothing but [from, to) was written.
  bool rest_is_untouched(std::ptrdiff_t from, std::ptrdiff_t to) {
    memory_tools::unpoison(bytes_.data(), bytes_.size());
    for (std::byte& b : bytes_)
      if (b != nobodys && (&b < block + from || &b >= block + to)) return false;
    return true;
  }

  std::byte* block;

 private:
  std::vector<std::byte> bytes_;
};

template <class Try>
void for_each_place(Try attempt, tarn::test::called_from = {}) {
  for (std::size_t size = 1; size <= largest; ++size)
    for (const std::size_t shift : {0u, 1u, 4u, 7u, 8u, 15u}) {
      place p(size, shift);
      BOOST_TEST_CONTEXT("size " << size << ", shift " << shift) attempt(p, size);
    }
}

bool is(const damage& d, std::size_t first, std::size_t bytes, std::byte value) {
  return d && d.first == first && d.bytes == bytes && std::byte{d.value} == value;
}

BOOST_AUTO_TEST_SUITE(guard_bytes)

BOOST_AUTO_TEST_CASE(stand_as_they_were_written_and_nothing_else_is) {
  for_each_place([](place& p, std::size_t size) {
    const guard_words words(p.block, size);
    BOOST_TEST(!words.stand(kept));
    words.write(kept);
    BOOST_TEST(words.stand(kept));
    BOOST_TEST(!words.in_front(kept));
    BOOST_TEST(!words.behind());
    BOOST_TEST(!words.stand(kept + 1));  // another pool's
    BOOST_TEST(static_cast<bool>(words.in_front(kept + 1)));
    const auto end = static_cast<std::ptrdiff_t>(size);
    BOOST_TEST(p.rest_is_untouched(-std::ptrdiff_t{guards}, end + std::ptrdiff_t{guards}));
    for (std::ptrdiff_t i = 0; i != end; ++i) BOOST_TEST((p.at(i) == nobodys));  // the payload neither
  });
}

BOOST_AUTO_TEST_CASE(show_each_byte_that_was_written) {
  for_each_place([](place& p, std::size_t size) {
    const guard_words words(p.block, size);
    words.write(kept);
    for (std::size_t i = 0; i != 2 * guards; ++i) {
      const bool front = i < guards;
      std::byte& byte = p.at(front ? static_cast<std::ptrdiff_t>(i) - std::ptrdiff_t{guards}
                                   : static_cast<std::ptrdiff_t>(size + i - guards));
      const std::byte was = byte;
      for (const std::byte change : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
        p.at(&byte - p.block) = was ^ change;
        BOOST_TEST(!words.stand(kept));
        BOOST_TEST(is(front ? words.in_front(kept) : words.behind(), i % guards, 1, was ^ change));
        BOOST_TEST(!(front ? words.behind() : words.in_front(kept)));
      }
      p.at(&byte - p.block) = was;
      BOOST_TEST(words.stand(kept));
    }
  });
}

BOOST_AUTO_TEST_CASE(say_from_where_to_where) {
  place p(24, 0);
  const guard_words words(p.block, 24);
  for (std::ptrdiff_t first = 0; first != guards; ++first)
    for (std::ptrdiff_t last = first; last != guards; ++last) {
      words.write(kept);
      const std::byte value = ~p.at(24 + first);
      p.at(24 + first) = value;
      if (last != first) p.at(24 + last) ^= std::byte{0x55};
      BOOST_TEST(is(words.behind(), static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1), value));
    }
}

BOOST_AUTO_TEST_CASE(copied_from_another_block_do_not_stand) {
  alignas(16) std::byte memory[2][2 * guards + 48] = {};
  std::byte* const first = memory[0] + guards;
  std::byte* const second = memory[1] + guards;
  guard_words(first, 48).write(kept);
  {
    const memory_tools::window look(memory[0], sizeof memory[0]);
    std::memcpy(memory[1], memory[0], sizeof memory[0]);
  }
  BOOST_TEST(guard_words(first, 48).stand(kept));
  BOOST_TEST(!guard_words(second, 48).stand(kept));
  BOOST_TEST(static_cast<bool>(guard_words(second, 48).in_front(kept)));
  BOOST_TEST(static_cast<bool>(guard_words(second, 48).behind()));
  memory_tools::unpoison(memory, sizeof memory);
}

BOOST_AUTO_TEST_CASE(tell_whose_block_it_is) {
  place p(40, 0);
  std::uint64_t copy[2];
  const auto read = [&] {
    memory_tools::unpoison(p.block - guards, guards);
    std::memcpy(copy, p.block - guards, guards);
    return guard_words::kept_in(p.block, copy);
  };
  BOOST_TEST(read() == 0u);
  guard_words(p.block, 40).write(kept);
  BOOST_TEST(read() == kept);
  BOOST_TEST(guard_words::kept_in(p.block + 16, copy) == 0u);  // no block starts there
  p.at(-1) ^= std::byte{1};
  BOOST_TEST(read() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fill)

BOOST_AUTO_TEST_CASE(stands_as_it_was_written_and_nothing_else_is) {
  for_each_place([](place& p, std::size_t size) {
    BOOST_TEST(!free_fill::stands(p.block, size));
    memory_tools::unpoison(p.block, size);
    free_fill::write(p.block, size);
    BOOST_TEST(free_fill::stands(p.block, size));
    BOOST_TEST(p.rest_is_untouched(0, static_cast<std::ptrdiff_t>(size)));
    memory_tools::unpoison(p.block, size);
    BOOST_TEST(!free_fill::find(p.block, size));
    BOOST_TEST(!free_fill::stands(p.block, size + 1));
    BOOST_TEST(!free_fill::stands(p.block - 1, size));
  });
  BOOST_TEST(free_fill::stands(nullptr, 0));
}

BOOST_AUTO_TEST_CASE(shows_each_byte_that_was_written) {
  for_each_place([](place& p, std::size_t size) {
    free_fill::write(p.block, size);
    for (std::size_t i = 0; i != size; ++i) {
      for (const std::byte change : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
        const std::byte value = std::byte{free_fill::value} ^ change;
        p.at(static_cast<std::ptrdiff_t>(i)) = value;
        BOOST_TEST(!free_fill::stands(p.block, size));
        memory_tools::unpoison(p.block, size);
        BOOST_TEST(is(free_fill::find(p.block, size), i, 1, value));
      }
      p.at(static_cast<std::ptrdiff_t>(i)) = std::byte{free_fill::value};
      BOOST_TEST(free_fill::stands(p.block, size));
    }
  });
}

BOOST_AUTO_TEST_CASE(says_from_where_to_where) {
  for (std::size_t first = 0; first != largest; ++first)
    for (std::size_t last = first; last != largest; ++last) {
      std::byte bytes[largest];
      free_fill::write(bytes, largest);
      bytes[last] = std::byte{2};
      bytes[first] = std::byte{1};
      BOOST_TEST(is(free_fill::find(bytes, largest), first, last - first + 1, std::byte{1}));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
