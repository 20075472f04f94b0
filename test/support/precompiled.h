// What nearly every test includes, parsed once for each configuration instead of once for each file: Boost.Test alone takes a
// second. Nothing of tarn, so that it is made anew only when a flag changes. The build puts it in front of every file of a
// tarn_test; each file still includes what it uses.
#ifndef TARN_TEST_SUPPORT_PRECOMPILED_H_
#define TARN_TEST_SUPPORT_PRECOMPILED_H_

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#endif  // TARN_TEST_SUPPORT_PRECOMPILED_H_
