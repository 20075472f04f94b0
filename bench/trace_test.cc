// The steps of a trace are what a program did, and their replay does them and sees blocks that lost their content.
#include "tarn/bench/trace.h"

#include <cstdlib>
#include <map>
#include <string>

#include <boost/test/unit_test.hpp>

namespace {

using namespace tarn_bench;
using tarn_record::operation;

tarn_record::call allocated(operation what, std::uint64_t address, std::uint64_t size, std::uint64_t alignment = 0) {
  tarn_record::call it;
  it.what = what;
  it.address = address;
  it.size = size;
  it.alignment = alignment;
  it.thread = 1;
  return it;
}
tarn_record::call freed(std::uint64_t address) { return allocated(operation::free, address, 0); }
tarn_record::call moved(bool begins, std::uint64_t old, std::uint64_t address, std::uint64_t size, std::uint32_t thread = 1) {
  tarn_record::call it = allocated(operation::realloc, address, size);
  it.begins = begins;
  it.old = old;
  it.thread = thread;
  return it;
}

struct read_steps {
  explicit read_steps(const std::vector<tarn_record::call>& calls) : room(3 * calls.size() + 1) {
    trace_converter converter{room.data()};
    for (const tarn_record::call& call : calls) converter.add(call);
    found = converter.result();
    for (const step* at = found.begin; at != found.all_end; ++at) {
      if (at == found.end) text += "| ";
      const char* const names[] = {"take", "zero", "move", "give"};
      text += names[static_cast<int>(at->what)] + (" " + std::to_string(at->place) + ":" + std::to_string(at->bytes));
      if (at->what == step_kind::resize) text += "<" + std::to_string(at->old_bytes);
      if (at->alignment != 4) text += "@" + std::to_string(1 << at->alignment);
      if (at->old_alignment > 4) text += "<@" + std::to_string(1 << at->old_alignment);
      text += at + 1 == found.all_end ? "" : ", ";
    }
  }
  std::vector<step> room;
  trace found{};
  std::string text;
};

BOOST_AUTO_TEST_CASE(steps_are_what_the_program_did) {
  const read_steps all{{allocated(operation::malloc, 0x10, 100), allocated(operation::calloc, 0x200, 50),
                        allocated(operation::memalign, 0x400, 7, 64), freed(0x10), allocated(operation::new_, 0x10, 0),
                        freed(0x400)}};
  BOOST_TEST(all.text == "take 0:100, zero 1:50, take 2:7@64, give 0:100, take 0:1, give 2:7@64, | give 0:1, give 1:50");
  BOOST_TEST(all.found.places == 3U);
  BOOST_TEST(all.found.fullest - all.found.begin == 3);
}

BOOST_AUTO_TEST_CASE(reallocations_keep_their_place) {
  const read_steps grown{{allocated(operation::memalign, 0x10, 8, 256), moved(true, 0x10, 0x900, 40),
                          moved(false, 0x10, 0x900, 40), moved(true, 0x900, 0x900, 4), moved(false, 0x900, 0x900, 4),
                          freed(0x900)}};
  BOOST_TEST(grown.text == "take 0:8@256, move 0:40<8<@256, move 0:4<40, give 0:4");
  const read_steps of_null{
      {moved(true, 0, 0x10, 5), moved(false, 0, 0x10, 5), moved(true, 0x10, 0, 0), moved(false, 0x10, 0, 0)}};
  BOOST_TEST(of_null.text == "take 0:5, give 0:5");
}

BOOST_AUTO_TEST_CASE(another_thread_may_get_the_old_block_before_realloc_returns) {
  tarn_record::call other = allocated(operation::malloc, 0x10, 24);
  other.thread = 2;
  const read_steps all{{allocated(operation::malloc, 0x10, 8), moved(true, 0x10, 0x900, 40), other,
                        moved(false, 0x10, 0x900, 40), freed(0x10), freed(0x900)}};
  BOOST_TEST(all.text == "take 0:8, take 1:24, move 0:40<8, give 1:24, give 0:40");
}

BOOST_AUTO_TEST_CASE(what_failed_or_is_from_before_is_left_out) {
  const read_steps all{{freed(0x70), allocated(operation::malloc, 0, 1U << 30), allocated(operation::malloc, 0x10, 8),
                        moved(true, 0x10, 0, 1U << 30), moved(false, 0x10, 0, 1U << 30), freed(0x10),
                        moved(true, 0x70, 0x80, 6), moved(false, 0x70, 0x80, 6), freed(0x80)}};
  BOOST_TEST(all.text == "take 0:8, give 0:8, take 0:6, give 0:6");
}

BOOST_AUTO_TEST_CASE(an_address_that_is_in_use_was_freed_unseen) {
  const read_steps all{{allocated(operation::malloc, 0x10, 8), allocated(operation::malloc, 0x10, 9), freed(0x10)}};
  BOOST_TEST(all.text == "take 0:8, give 0:8, take 0:9, give 0:9");
  const read_steps moves{{allocated(operation::malloc, 0x10, 8), allocated(operation::malloc, 0x90, 7),
                          moved(true, 0x10, 0x90, 9), moved(false, 0x10, 0x90, 9)}};
  BOOST_TEST(moves.text == "take 0:8, take 1:7, give 1:7, move 0:9<8, | give 0:9");
}

BOOST_AUTO_TEST_CASE(steps_that_begin_late_take_what_is_in_use_first) {
  const std::vector<tarn_record::call> before{
      allocated(operation::malloc, 0x90, 8), allocated(operation::memalign, 0x40, 7, 64),
      allocated(operation::malloc, 0x200, 9), freed(0x200), moved(true, 0x90, 0xa0, 5)};
  std::vector<step> room(20);
  trace_converter converter{room.data()};
  for (const tarn_record::call& call : before) converter.add(call, 3);
  converter.forget();
  BOOST_TEST((converter.at() == room.data()));
  converter.begin_here();
  const step* const begin = converter.at();
  converter.add(moved(false, 0x90, 0xa0, 5), 4);
  converter.add(allocated(operation::malloc, 0x300, 6), 5);
  converter.add(freed(0x40));
  const trace found = converter.result();
  BOOST_TEST(begin - found.begin == 2);
  const std::vector<std::uint64_t> sizes{8, 7, 5, 6, 7}, columns{3, 3, 3, 5, 3};
  for (std::size_t i = 0; i != sizes.size(); ++i) {
    BOOST_TEST(found.begin[i].bytes == sizes[i]);
    BOOST_TEST(found.begin[i].column == columns[i]);
  }
  BOOST_TEST(found.begin[2].place == found.begin[0].place);
  BOOST_TEST(found.end - begin == 3);
  BOOST_TEST(found.fullest - begin == 2);
}

/// Says what it is told wrongly about a block.
struct careful {
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) {
    void* const block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    std::memset(block, 0xee, bytes);
    live[block] = {bytes, alignment};
    return block;
  }
  void give(void* block, std::size_t bytes, std::size_t alignment = usual_alignment) {
    wrong += live[block] != std::pair{bytes, alignment};
    live.erase(block);
    std::free(block);
  }
  std::map<void*, std::pair<std::size_t, std::size_t>> live;
  int wrong = 0;
};

std::vector<tarn_record::call> busy() {
  std::vector<tarn_record::call> calls;
  for (std::uint64_t i = 1; i != 400; ++i) {
    const std::uint64_t address = i << 20;
    calls.push_back(allocated(i % 3 == 0 ? operation::calloc : operation::malloc, address, i * i % 7001));
    if (i % 4 == 0) calls.push_back(allocated(operation::posix_memalign, address + 64, i, 64U << i % 3));
    if (i % 5 == 0) {
      calls.push_back(moved(true, address, address + 128, i * 37 % 5003 + 1));
      calls.push_back(moved(false, address, address + 128, i * 37 % 5003 + 1));
    }
    if (i % 2 == 0 && i % 5 != 0) calls.push_back(freed(address));
    if (i % 8 == 0) calls.push_back(freed(address + 64));
  }
  return calls;
}

BOOST_AUTO_TEST_CASE(a_column_gets_back_what_it_gave_and_as_it_said) {
  const read_steps all{busy()};
  std::vector<void*> blocks(all.found.places);
  careful column;
  BOOST_TEST(replay(column, all.found.begin, all.found.end, blocks.data()) == 0U);
  BOOST_TEST(!column.live.empty());
  BOOST_TEST(replay(column, all.found.end, all.found.all_end, blocks.data()) == 0U);
  BOOST_TEST(column.live.empty());
  BOOST_TEST(column.wrong == 0);
}

/// Hands out some blocks twice.
struct careless : careful {
  void* take(std::size_t bytes, std::size_t alignment = usual_alignment) {
    if (++count % 50 == 0 && bytes <= 7001 && alignment <= 16) return twice;
    return careful::take(bytes, alignment);
  }
  void give(void* block, std::size_t bytes, std::size_t alignment = usual_alignment) {
    if (block != twice) careful::give(block, bytes, alignment);
  }
  alignas(16) unsigned char twice[8192] = {};
  int count = 0;
};
/// Moves blocks and leaves their content behind.
struct forgetful : careful {
  void* resize(void* block, std::size_t bytes) {
    const auto before = live[block];
    give(block, before.first, before.second);
    return take(bytes);
  }
};

BOOST_AUTO_TEST_CASE(lost_content_is_seen) {
  const read_steps all{busy()};
  std::vector<void*> blocks(all.found.places);
  careless one;
  BOOST_TEST(replay(one, all.found.begin, all.found.all_end, blocks.data()) != 0U);
  forgetful other;
  BOOST_TEST(replay(other, all.found.begin, all.found.all_end, blocks.data()) != 0U);
}

BOOST_AUTO_TEST_CASE(small_blocks_are_written_by_lines_and_large_ones_by_pages) {
  const auto written = [](std::size_t bytes) {
    std::vector<unsigned char> block(bytes);
    step it{};
    it.bytes = bytes;
    it.place = 0x01010101;
    write(block.data(), 0, it);
    std::size_t lines = 0;
    for (std::size_t at = 0; at < bytes; at += 64) lines += block[at] != 0;
    return lines;
  };
  BOOST_TEST(written(1) == 1U);
  BOOST_TEST(written(64) == 1U);
  BOOST_TEST(written(65) == 2U);
  BOOST_TEST(written(1000) == 16U);
  BOOST_TEST(written(1024 + 3 * 4096) == 16U + 3U);
}

}  // namespace
