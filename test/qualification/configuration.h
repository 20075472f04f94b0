// The compositions that docs/safety/configuration.md names, as that page shows them.
#ifndef TARN_TEST_QUALIFICATION_CONFIGURATION_H_
#define TARN_TEST_QUALIFICATION_CONFIGURATION_H_

#include <cstddef>

#include "tarn/allocator/object_pool.h"
#include "tarn/allocator/static_pool.h"

void on_misuse(const tarn::misuse& what) noexcept;  // yours: note it, and enter the safe state

using stops_misuse = tarn::hardened_with<tarn::reported_to<on_misuse>>;

template <class Tag, std::size_t Bytes, std::size_t Blocks, class Locking = tarn::no_locking, class Checking = stops_misuse>
using block_pool = tarn::static_pool<Tag, tarn::static_size<Bytes>, tarn::static_array_store<Blocks>, Locking, Checking>;

template <class T, std::size_t Blocks, class Locking = tarn::no_locking, class Checking = stops_misuse>
using objects = tarn::object_pool<T, tarn::static_array_store<Blocks>, Locking, Checking>;

#endif  // TARN_TEST_QUALIFICATION_CONFIGURATION_H_
