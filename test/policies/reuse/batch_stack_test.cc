// The stack of batches alone: what was packed is unpacked, for every size of block, and no other byte is touched.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include "tarn/policies/reuse/batch_reuse.h"

namespace {

using tarn::detail::batch_stack;
constexpr std::size_t batch = batch_stack<>::batch;

/// The words of blocks of so many, in clear; every address is followed.
struct plain_words {
  std::size_t words;

  std::size_t count() const noexcept { return words; }
  void* read(void* block, std::size_t i) const noexcept {
    void* value;
    std::memcpy(&value, static_cast<std::byte*>(block) + i * sizeof value, sizeof value);
    return value;
  }
  void write(void* block, std::size_t i, void* value) const noexcept {
    std::memcpy(static_cast<std::byte*>(block) + i * sizeof value, &value, sizeof value);
  }
  bool trusts(void*) const noexcept { return true; }
};

struct blocks {
  blocks(std::size_t words, std::size_t batches)
      : stride((words + 1) * sizeof(void*)), bytes(stride * batch * batches, std::byte{0xEE}) {
    for (std::size_t i = 0; i < batch * batches; ++i) addresses.push_back(bytes.data() + i * stride);
  }
  std::size_t stride;  // a word more than the batch may use
  std::vector<std::byte> bytes;
  std::vector<void*> addresses;
};

BOOST_AUTO_TEST_CASE(what_is_given_is_taken_newest_batch_first) {
  for (std::size_t words = 2; words <= 70; ++words) {
    blocks all(words, 3);
    std::reverse(all.addresses.begin() + 70, all.addresses.begin() + 130);
    batch_stack<> stack;
    BOOST_TEST(stack.empty());
    for (std::size_t b = 0; b < 3; ++b) stack.give(all.addresses.data() + b * batch, plain_words{words});
    for (std::size_t b = 3; b-- != 0;) {
      std::array<void*, batch> out{};
      BOOST_TEST(stack.take(out.data(), plain_words{words}));
      BOOST_TEST(std::equal(out.begin(), out.end(), all.addresses.begin() + static_cast<std::ptrdiff_t>(b * batch)));
    }
    BOOST_TEST(stack.empty());
    std::array<void*, batch> out{};
    BOOST_TEST(!stack.take(out.data(), plain_words{words}));
    BOOST_TEST(out[0] == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_stays_inside_its_words) {
  for (std::size_t words = 2; words <= 70; ++words) {
    blocks all(words, 1);
    batch_stack<> stack;
    stack.give(all.addresses.data(), plain_words{words});
    for (void* const block : all.addresses)
      for (std::size_t i = words * sizeof(void*); i < all.stride; ++i)
        BOOST_REQUIRE((static_cast<std::byte*>(block)[i] == std::byte{0xEE}));
  }
}

BOOST_AUTO_TEST_CASE(only_as_many_blocks_are_touched_as_64_pointers_need) {
  for (const std::size_t words : {2u, 3u, 8u, 32u, 64u}) {
    blocks all(words, 1);
    batch_stack<> stack;
    stack.give(all.addresses.data(), plain_words{words});
    std::size_t touched = 0;
    for (void* const block : all.addresses) {
      const auto* const bytes = static_cast<std::byte*>(block);
      touched += std::any_of(bytes, bytes + all.stride, [](std::byte b) { return b != std::byte{0xEE}; });
    }
    BOOST_TEST(touched == (batch + words - 1) / words);
  }
}

/// The words of known blocks. Addresses of others aren't trusted, and must not be read from.
struct wary_words : plain_words {
  std::set<void*>* known;
  std::size_t* astray;  // reads of what is no known block

  void* read(void* block, std::size_t i) const noexcept {
    if (known->contains(block)) return plain_words::read(block, i);
    ++*astray;
    return nullptr;
  }
  bool trusts(void* block) const noexcept { return known->contains(block); }
};

BOOST_AUTO_TEST_CASE(an_address_that_is_not_trusted_is_not_followed) {
  std::size_t dropped = 0;
  std::size_t taken = 0;
  for (std::size_t words = 2; words <= 70; ++words)
    for (std::size_t changed = 0; changed != batch; ++changed) {  // of the stream of 64 pointers: the link, then blocks 1 to 63
      blocks all(words, 2);
      std::set<void*> known(all.addresses.begin(), all.addresses.end());
      std::size_t astray = 0;
      const wary_words in{{words}, &known, &astray};
      batch_stack<> stack;
      stack.give(all.addresses.data(), in);
      void** const upper = all.addresses.data() + batch;
      stack.give(upper, in);
      std::byte no_block[8];
      in.write(upper[changed / words], changed % words, no_block);

      const std::size_t pieces = (batch + words - 1) / words;
      const bool leads_on = changed < pieces;  // the link, or a block in which a further piece lies
      std::array<void*, batch> out{};
      const bool had_one = stack.take(out.data(), in);
      BOOST_TEST(had_one == !leads_on);
      BOOST_TEST(astray == 0u);
      if (leads_on) {
        ++dropped;
        BOOST_TEST(stack.empty());
        BOOST_TEST(!stack.take(out.data(), in));
        stack.give(all.addresses.data(), in);  // and goes on from there
        BOOST_TEST(stack.take(out.data(), in));
        BOOST_TEST(std::equal(out.begin(), out.end(), all.addresses.begin()));
        BOOST_TEST(stack.empty());
      } else {  // whoever hands the block out looks at it
        ++taken;
        BOOST_TEST(out[changed] == no_block);
        out[changed] = upper[changed];
        BOOST_TEST(std::equal(out.begin(), out.end(), upper));
        BOOST_TEST(stack.take(out.data(), in));
      }
      BOOST_TEST(astray == 0u);
    }
  std::printf("%zu batches dropped, %zu taken\n", dropped, taken);
  BOOST_TEST(dropped >= 250u);
  BOOST_TEST(taken >= 3000u);
}

}  // namespace
