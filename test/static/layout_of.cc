// Only constants come from this file, so that translation units compiled differently can stand in one program. And pool.h
// brings resource_store and group_guard where a program has already included what costs so much.
#include <memory_resource>
#include <mutex>
#include <span>

#include "tarn/allocator/pool.h"
#include "tarn/allocator/static_pool.h"
#include "tarn/test/static/layout.h"

namespace tarn_test {
namespace {

template <class T>
constexpr size_and_alignment of(const char* name) {
  return {name, sizeof(T), alignof(T)};
}

using block = tarn::static_size<64>;

constexpr size_and_alignment layouts[] = {
    of<tarn::pool<block>>("standard"),
    of<tarn::pool<block, tarn::lifo_reuse<>>>("lifo"),
    of<tarn::pool<block, tarn::mutex_locking<>>>("mutex"),
    of<tarn::pool<block, tarn::grouped_locking<struct group>>>("grouped"),
    of<tarn::pool<block, tarn::grouped_locking<struct group, std::mutex>>>("grouped mutex"),
    of<tarn::pool<block, tarn::no_growth<100>>>("no growth"),
    of<tarn::pool<block, tarn::static_array_store<10>>>("array"),
    of<tarn::pool<tarn::static_size<24, 4096>, tarn::static_array_store<3>>>("aligned array"),
    of<tarn::pool<block, tarn::page_store<tarn::huge_pages>>>("pages"),
    of<tarn::pool<block, tarn::buffer_store>>("buffer"),
    of<tarn::pool<block, tarn::resource_store>>("resource"),
    of<tarn::pool<tarn::dynamic_size>>("dynamic"),
    of<tarn::static_pool<struct tag, block>::body>("static"),
    of<tarn::group_guard<struct group>>("guard"),
};

}  // namespace

std::span<const size_and_alignment> TARN_TEST_LAYOUT() { return layouts; }

}  // namespace tarn_test
