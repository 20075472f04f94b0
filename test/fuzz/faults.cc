// Pools whose stores fail as the input says: a failure leaves a pool as it was, and nothing is lost.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tarn/test/fuzz/input.h"
#include "tarn/test/fuzz/made_pool.h"
#include "tarn/test/fuzz/pool_driver.h"
#include "tarn/test/support/any_pool.h"

namespace tarn::test {
namespace {

class failing_pool {
 public:
  explicit failing_pool(input& in) {
    pools_of<over_schedule>::make(made_, in);
    driver_.emplace(made_);
  }

  void step(input& in) {
    const std::uint8_t what = in.byte();
    if (what % 4 == 0) made_.first.schedule(in);
    else if (what % 16 == 1) made_.second.schedule(in);
    else if (what % 16 == 5 && audits_ != 4) ++audits_, books_balance();
    else driver_->step(in);
  }

  /// Every block can be had though there is no more memory; and in the end all memory is given back.
  void end(bool takes_all) {
    books_balance();
    made_.first.fail_for_ever();
    made_.second.fail_for_ever();
    if (takes_all) driver_->take_all();
    driver_->end();
  }

 private:
  /// Every byte that a pool holds of its stores lies in a chunk, or in its own memory.
  void books_balance() {
    const any_pool& pool = *made_.pool;
    const footprint held(pool, {&made_.first.upstream, &made_.second.upstream});
    must(held.lost == 0, "memory that the pool lost");
    must(held.chunk_bytes >= pool.capacity() * pool.block_size(), "a capacity without memory");
    must((held.chunks == 0) == (pool.capacity() == 0), "chunks without blocks");
    if (const auto counts = pool.statistics())
      must(counts->chunks == held.chunks && counts->bytes == held.chunk_bytes, "statistics with other chunks");
  }

  made_pool made_;
  std::optional<pool_driver> driver_;
  unsigned audits_ = 0;
};

}  // namespace
}  // namespace tarn::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tarn::test;
  input in(data, size);
  const std::uint8_t how = in.byte();
  std::vector<std::unique_ptr<failing_pool>> all;  // several: one may be asked for memory that another lacks
  for (std::size_t n = 1 + how % 2; n != 0; --n) all.push_back(std::make_unique<failing_pool>(in));
  while (!in.ended()) all[all.size() == 1 ? 0 : in.below(all.size())]->step(in);
  for (const auto& one : all) one->end(how % 8 < 4);
  return 0;
}
