// The pointers in free blocks, alone: what is written is read, and encoded ones say nothing to whoever looks into the block,
// nor can he write one that is followed.
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tarn/policies/checking.h"
#include "tarn/policies/detail/geometry.h"
#include "tarn/policies/platform/memory_tools.h"
#include "tarn/policies/size.h"
#include "tarn/test/support/check.h"

namespace {

namespace detail = tarn::detail;
namespace memory_tools = tarn::detail::memory_tools;
using detail::block_shape;
constexpr std::size_t word = sizeof(void*);

struct open_checking {
  static constexpr tarn::checking_traits traits{};
};
struct hiding_checking {
  static constexpr tarn::checking_traits traits{.hides_links = true};
};
constexpr block_shape in_payload{2 * word, word};
constexpr block_shape in_front{1, word, 2 * word + 16, 16, 2 * word};

/// Blocks in a row, of which a set is free.
template <class Checking, block_shape Shape = in_payload>
class blocks {
 public:
  static constexpr std::size_t count = 16;
  struct traits {
    using checking = Checking;
  };
  using geometry_type = detail::geometry<tarn::static_size<64>, Shape>;
  using words = detail::free_words<blocks>;

  blocks() : memory_(geometry_type().extent(count), std::byte{0xEE}) {
    for (std::size_t i = 0; i != count; ++i) free.insert(at(i));
  }
  ~blocks() { memory_tools::unpoison(memory_.data(), memory_.size()); }
  blocks(const blocks&) = delete;
  blocks& operator=(const blocks&) = delete;

  geometry_type geometry() const noexcept { return {}; }
  bool is_free(const void* block) const noexcept { return free.contains(block); }
  void distrust(const void* address) noexcept { distrusted.push_back(address); }

  void* at(std::size_t i) noexcept { return memory_.data() + geometry().distance(i) + geometry().offset(); }
  words in() noexcept { return words(*this); }

  /// The bytes of slot i.
  std::array<std::byte, geometry_type().stride()> slot(std::size_t i) const {
    std::array<std::byte, geometry_type().stride()> copy;
    std::byte* const from = const_cast<std::byte*>(memory_.data()) + geometry().distance(i);
    memory_tools::unpoison(from, copy.size());
    std::memcpy(copy.data(), from, copy.size());
    return copy;
  }
  /// Where word w of block i lies.
  std::byte* place(std::size_t i, std::size_t w) {
    std::byte* const at_word = static_cast<std::byte*>(geometry().links(at(i))) + w * word;
    memory_tools::unpoison(at_word, word);
    return at_word;
  }

  std::set<const void*> free;
  std::vector<const void*> distrusted;

 private:
  std::vector<std::byte> memory_;
};

template <class Checking, block_shape Shape>
void check_that_what_is_written_is_read(tarn::test::called_from = {}) {
  blocks<Checking, Shape> all;
  const auto in = all.in();
  BOOST_TEST(in.count() == (Shape.links != 0 ? 2u : 64 / word));
  for (std::size_t i = 0; i != all.count; ++i)
    for (std::size_t w = 0; w != in.count(); ++w)
      in.write(all.at(i), w, (i + w) % 5 == 0 ? nullptr : all.at((i + w) % all.count));
  for (std::size_t i = 0; i != all.count; ++i)
    for (std::size_t w = 0; w != in.count(); ++w) {
      void* const read = in.read(all.at(i), w);
      BOOST_TEST(read == ((i + w) % 5 == 0 ? nullptr : all.at((i + w) % all.count)));
      if (read != nullptr) BOOST_TEST(in.trusts(read));
    }
  BOOST_TEST(all.distrusted.empty());
}
BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  check_that_what_is_written_is_read<open_checking, in_payload>();
  check_that_what_is_written_is_read<open_checking, in_front>();
  check_that_what_is_written_is_read<hiding_checking, in_payload>();
  check_that_what_is_written_is_read<hiding_checking, in_front>();
}

/// Nothing but the words is written.
template <block_shape Shape>
void check_that_the_rest_is_left_alone(tarn::test::called_from = {}) {
  blocks<hiding_checking, Shape> all;
  for (std::size_t w = 0; w != all.in().count(); ++w) all.in().write(all.at(3), w, all.at(w));
  const std::size_t from = Shape.links != 0 ? 0 : all.geometry().offset();
  for (std::size_t i = 0; i != all.count; ++i) {
    const auto bytes = all.slot(i);
    for (std::size_t b = 0; b != bytes.size(); ++b)
      if (i != 3 || b < from || b >= from + all.in().count() * word) BOOST_TEST((bytes[b] == std::byte{0xEE}));
  }
}
BOOST_AUTO_TEST_CASE(only_words_are_written) {
  check_that_the_rest_is_left_alone<in_payload>();
  check_that_the_rest_is_left_alone<in_front>();
}

/// How often one of the blocks' addresses, or the word null, stands in the block, at any byte.
template <class Blocks>
std::size_t seen_in_clear(Blocks& all, std::size_t i) {
  std::size_t found = 0;
  const auto bytes = all.slot(i);
  for (std::size_t b = 0; b + word <= bytes.size(); ++b) {
    void* value;
    std::memcpy(&value, bytes.data() + b, word);
    found += value == nullptr;
    for (std::size_t other = 0; other != all.count; ++other) found += value == all.at(other);
  }
  return found;
}
BOOST_AUTO_TEST_CASE(no_address_stands_in_clear_where_it_is_encoded) {
  blocks<open_checking> clear;
  blocks<hiding_checking> encoded;
  blocks<hiding_checking, in_front> kept;
  for (std::size_t i = 0; i != clear.count; ++i)
    for (std::size_t w = 0; w != 64 / word; ++w) {
      const bool ends = w == 1;  // a list's last word is null
      clear.in().write(clear.at(i), w, ends ? nullptr : clear.at(w));
      encoded.in().write(encoded.at(i), w, ends ? nullptr : encoded.at(w));
      if (w < kept.in().count()) kept.in().write(kept.at(i), w, ends ? nullptr : kept.at(w));
    }
  for (std::size_t i = 0; i != clear.count; ++i) {
    BOOST_TEST(seen_in_clear(clear, i) >= 64 / word);  // they would be seen
    BOOST_TEST(seen_in_clear(encoded, i) == 0u);
    BOOST_TEST(seen_in_clear(kept, i) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(words_of_another_run_say_nothing_in_this) {
  blocks<hiding_checking> all;
  all.in().write(all.at(0), 0, all.at(1));
  const std::uintptr_t mine = detail::secret();
  detail::secret_of_process.store(mine ^ 0x0123'4567'89AB'CDE0u, detail::memory_order_relaxed);
  BOOST_TEST(!all.in().trusts(all.in().read(all.at(0), 0)));
  detail::secret_of_process.store(mine, detail::memory_order_relaxed);
  BOOST_TEST(all.in().trusts(all.in().read(all.at(0), 0)));
}

/// What an encoded null looks like: the code of its place.
template <class Blocks>
std::uintptr_t code(Blocks& all, std::size_t i, std::size_t w) {
  all.in().write(all.at(i), w, nullptr);
  std::uintptr_t look;
  std::memcpy(&look, all.place(i, w), word);
  return look;
}
/// Whoever knows a place, what it holds and how that looks knows its code. With a linear code, the difference between two codes
/// is the same in every run, so that one gives all others.
BOOST_AUTO_TEST_CASE(one_known_link_does_not_give_another) {
  blocks<hiding_checking> all;
  const std::uintptr_t mine = detail::secret();
  const std::uintptr_t factor = detail::factor_of_process.load(detail::memory_order_relaxed);
  std::mt19937_64 random(5);
  constexpr std::size_t runs = 100;
  for (std::size_t i = 1; i != all.count; ++i) {
    std::set<std::uintptr_t> exclusive;
    std::set<std::uintptr_t> sums;
    for (std::size_t run = 0; run != runs; ++run) {
      detail::secret_of_process.store(static_cast<std::uintptr_t>(random()) | 1, detail::memory_order_relaxed);
      detail::factor_of_process.store(static_cast<std::uintptr_t>(random()) | 1, detail::memory_order_relaxed);
      const std::uintptr_t known = code(all, 0, 0);
      const std::uintptr_t wanted = code(all, i, i % 8);
      exclusive.insert(known ^ wanted);
      sums.insert(known - wanted);
    }
    detail::secret_of_process.store(mine, detail::memory_order_relaxed);
    detail::factor_of_process.store(factor, detail::memory_order_relaxed);
    BOOST_TEST(exclusive.size() == runs);
    BOOST_TEST(sums.size() == runs);
  }
}

BOOST_AUTO_TEST_CASE(what_somebody_else_wrote_is_not_trusted) {
  blocks<hiding_checking> all;
  const auto in = all.in();
  for (std::size_t i = 0; i != all.count; ++i)
    for (std::size_t w = 0; w != in.count(); ++w) in.write(all.at(i), w, all.at((i + 1) % all.count));
  std::size_t tried = 0;
  const auto refused = [&](std::size_t i, std::size_t w) {
    ++tried;
    void* const read = in.read(all.at(i), w);
    const std::size_t before = all.distrusted.size();
    return read == nullptr || (!in.trusts(read) && all.distrusted.size() == before + 1 && all.distrusted.back() == read);
  };
  std::array<std::byte, word> was;
  const auto with = [&](const void* bytes, std::size_t i, std::size_t w, const char* what) {
    std::byte* const place = all.place(i, w);
    std::memcpy(was.data(), place, word);
    std::memcpy(place, bytes, word);
    BOOST_TEST(refused(i, w), what);
    std::memcpy(all.place(i, w), was.data(), word);
    BOOST_TEST(in.trusts(in.read(all.at(i), w)));
  };

  const std::uintptr_t zero = 0;
  const std::uintptr_t ones = ~zero;
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i != all.count; ++i)
    for (std::size_t w = 0; w != in.count(); ++w) {
      with(&zero, i, w, "zeroes");
      with(&ones, i, w, "0xFF...");
      void* const address = all.at((i + 3) % all.count);
      with(&address, i, w, "a free block's address in clear");
      for (std::size_t other = 0; other != all.count; ++other)
        for (std::size_t of = 0; of != in.count(); ++of)
          if (other != i || of != w) {
            std::array<std::byte, word> copy;
            std::memcpy(copy.data(), all.place(other, of), word);
            with(copy.data(), i, w, "a word of another place");
          }
      for (std::size_t b = 0; b != word; ++b)
        for (unsigned bit = 0; bit != 8; ++bit) {
          std::array<std::byte, word> changed;
          std::memcpy(changed.data(), all.place(i, w), word);
          changed[b] ^= std::byte{1} << bit;
          // Another free block's address may differ by one bit from the right one: that it is one is all that can be seen.
          std::uintptr_t look;
          std::memcpy(&look, all.place(i, w), word);
          std::uintptr_t changed_look;
          std::memcpy(&changed_look, changed.data(), word);
          const auto led = reinterpret_cast<std::uintptr_t>(all.at((i + 1) % all.count)) ^ look ^ changed_look;
          if (!all.is_free(reinterpret_cast<const void*>(led))) with(changed.data(), i, w, "a bit");
        }
      for (int n = 0; n != 100; ++n) {
        const std::uint64_t any = random();
        with(&any, i, w, "a random word");
      }
    }
  std::printf("%zu words that somebody else wrote\n", tried);
  BOOST_TEST(tried >= 30'000u);
}

BOOST_AUTO_TEST_CASE(what_was_right_once_is_not_trusted) {
  blocks<hiding_checking> all;
  all.in().write(all.at(0), 0, all.at(1));
  all.free.erase(all.at(1));  // handed out since
  void* const read = all.in().read(all.at(0), 0);
  BOOST_TEST(read == all.at(1));
  BOOST_TEST(!all.in().trusts(read));
  BOOST_TEST(all.distrusted.size() == 1u);
}

BOOST_AUTO_TEST_CASE(in_clear_every_address_is_followed) {
  blocks<open_checking> all;
  int no_block = 0;
  BOOST_TEST(all.in().trusts(&no_block));
  BOOST_TEST(all.distrusted.empty());
}

}  // namespace
