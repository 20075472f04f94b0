// What differs between compilers and builds. None of these conditions changes a layout.
#ifndef TARN_POLICIES_PLATFORM_CONFIG_H_
#define TARN_POLICIES_PLATFORM_CONFIG_H_

#include "tarn/version.h"

// Stops a compilation for an older standard with one sentence instead of hundreds of errors. Each header that would include no
// other of tarn's includes this one, so the others reach it before anything that needs C++20.

#if defined(new)
#error "tarn: [B2] new is a macro here, as debug heaps define it; include tarn's headers before #define new"
#include "see_the_error_above"
#endif

#if defined(_MSVC_LANG) ? _MSVC_LANG < 202002L : __cplusplus < 202002L
#error "tarn: [B1] this file is compiled for an older standard than C++20; add -std=c++20 to the compiler's flags"
#include "see_the_error_above"  // no such file: g++ and clang go on after an #error, but not after this
#endif

#if defined(__cpp_exceptions)
#define TARN_EXCEPTIONS 1
#else
#define TARN_EXCEPTIONS 0
#endif

#if defined(_MSC_VER)
#define TARN_NO_UNIQUE_ADDRESS [[msvc::no_unique_address]]
#define TARN_UNREACHABLE() __assume(false)
#define TARN_NOINLINE __declspec(noinline)
#define TARN_COLD __declspec(noinline)
#define TARN_RETURNS_NONNULL
#else
#define TARN_NO_UNIQUE_ADDRESS [[no_unique_address]]
#define TARN_UNREACHABLE() __builtin_unreachable()
#define TARN_NOINLINE [[gnu::noinline]]     // slow, but run for every 64th block: optimised for speed
#define TARN_COLD [[gnu::noinline, gnu::cold]]  // once for each chunk, or never
#define TARN_RETURNS_NONNULL [[gnu::returns_nonnull]]
#endif

// A step of the hot path: inlined even in debug builds, and skipped by a debugger. At -O0 a pair of calls takes 7 instead of 18
// ns (prototype).
#if defined(__GNUC__)
#define TARN_STEP [[gnu::always_inline, gnu::artificial]] inline
#else
#define TARN_STEP inline
#endif

// Whether the file is compiled for size; if so, two paths that do the same may be merged. Files that aren't may use the same
// pool.
#if defined(__OPTIMIZE_SIZE__)
#define TARN_FOR_SIZE true
#else
#define TARN_FOR_SIZE false
#endif

// A deleted function, and the message for its callers. Before C++26 they see it only in the compiler's note, which shows this
// line.
#if defined(__cpp_deleted_function) && __cplusplus > 202302L
#define TARN_DELETED(...) delete (__VA_ARGS__)
#else
#define TARN_DELETED(...) delete
#endif

// A condition that nobody can foresee, of an `if` that chooses a value: clang 19 would make a branch of it.
#if defined(__clang__)
#define TARN_UNFORESEEN(...) __builtin_unpredictable(__VA_ARGS__)
#else
#define TARN_UNFORESEEN(...) (__VA_ARGS__)
#endif

#if defined(__SANITIZE_THREAD__)
#define TARN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TARN_TSAN 1
#endif
#endif

#if defined(__ELF__)
#define TARN_ONE_IN_PROCESS [[gnu::visibility("default")]]  // one for all libraries, if their build allows it
#define TARN_ONE_IN_LIBRARY [[gnu::visibility("hidden")]]   // each library has its own, whatever its build
// A thread-local variable of a shared library, reached without a call: 1.3 instead of 3.0 ns a pair (prototype, Sapphire
// Rapids). It uses some of the few KiB reserved for libraries loaded later, so there is one such variable.
#define TARN_NEAR_TLS [[gnu::tls_model("initial-exec")]]
#define TARN_FIRST_AT_LOAD [[maybe_unused, gnu::init_priority(101)]]  // constructed before the library's other static objects
#define TARN_AT_UNLOAD [[gnu::destructor]]  // of a shared library: called before its static objects are destroyed
#else
#define TARN_ONE_IN_PROCESS
#define TARN_ONE_IN_LIBRARY
#define TARN_NEAR_TLS
#define TARN_FIRST_AT_LOAD [[maybe_unused]]
#if defined(__GNUC__)
#define TARN_AT_UNLOAD [[gnu::destructor]]
#else
#define TARN_AT_UNLOAD [[maybe_unused]]
#endif
#endif

/// The name of the function that contains it, with its template arguments.
#if defined(__GNUC__)
#define TARN_FUNCTION_NAME __PRETTY_FUNCTION__
#elif defined(_MSC_VER)
#define TARN_FUNCTION_NAME __FUNCSIG__
#else
#define TARN_FUNCTION_NAME ""
#endif

/// In the declaration of a template that libraries share, and in its definition. Not [[...]], which clang rejects there.
#if !defined(_WIN32)
#define TARN_SHARED_ __attribute__((visibility("default")))  // the definition finds it there
#define TARN_SHARED_HERE_
#elif defined(__GNUC__)
#define TARN_SHARED_ __declspec(dllexport)  // of the module that defines it; the linker finds it for the others (auto-import)
#define TARN_SHARED_HERE_
#else
#if defined(TARN_DEFINES_SHARED_POOLS)
#define TARN_SHARED_
#else
#define TARN_SHARED_ __declspec(dllimport)
#endif
#define TARN_SHARED_HERE_ __declspec(dllexport)
#endif

/// Around code that constructs an aggregate from a caller's arguments: they may be fewer than its members, as in T{1}.
#if defined(__GNUC__)
#define TARN_FEWER_ARGUMENTS_ \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define TARN_FEWER_ARGUMENTS_END_ _Pragma("GCC diagnostic pop")
#else
#define TARN_FEWER_ARGUMENTS_
#define TARN_FEWER_ARGUMENTS_END_
#endif

// For clang's [[clang::nonblocking]] (-Wfunction-effects): a function that doesn't block if the condition holds, because what
// it might wait for was done by reserve(). Its body, which clang can't judge, is between BEGIN and END.
#if defined(__clang__) && defined(__has_warning)
#if __has_warning("-Wfunction-effects")
#define TARN_NONBLOCKING_IF_(...) [[clang::nonblocking(__VA_ARGS__)]]
#define TARN_NONBLOCKING_BEGIN_ _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wfunction-effects\"")
#define TARN_NONBLOCKING_END_ _Pragma("clang diagnostic pop")
#endif
#endif
#if !defined(TARN_NONBLOCKING_IF_)
#define TARN_NONBLOCKING_IF_(...)
#define TARN_NONBLOCKING_BEGIN_
#define TARN_NONBLOCKING_END_
#endif

/// As default arguments: where the function was called. <source_location> is missing in clang 14.
#define TARN_CALLER_FILE __builtin_FILE()
#define TARN_CALLER_LINE __builtin_LINE()

// Notes for tools/tarn-bound about places of the code. With TARN_MARKS defined they are in a section that isn't loaded. Its
// name begins like those of debug information, so linkers that drop what isn't used keep it.
//
//   TARN_AT_MOST(n)        in a loop, where each round passes: at most n times when it is entered
//   TARN_ROUNDS(name, n)   gives n rounds to the loops marked TARN_ROUND(name, k), each round of which takes k of them: for
//   TARN_ROUND(name, k)    loops that share their rounds, or whose number only a function around them knows
//   TARN_NOT_IF(name)      the place isn't reached if `name` is assumed. It has an instruction, so that its address is its own
//   TARN_CHOICE(name)      from here on, in this function, at most one of the places marked TARN_CHOSEN(name) is passed
//   TARN_CHOSEN(name)
#if defined(TARN_MARKS) && defined(__ELF__) && defined(__GNUC__)
#define TARN_MARK_(code, record, ...) \
  asm volatile("770:" code "\n\t.pushsection .debug_tarn_marks,\"?\",%%progbits\n\t.dc.a 770b, " record "\n\t.popsection" \
               :                                                                                                     \
               : __VA_ARGS__)
#define TARN_AT_MOST(...) TARN_MARK_("", "0, %c0, %c1", "i"(__VA_ARGS__), "i"(__LINE__))
#define TARN_NOT_IF(name) TARN_MARK_("\n\tnop", "1\n\t.asciz \"" #name "\"")
#define TARN_ROUNDS(name, ...) TARN_MARK_("\n\tnop", "2, %c0\n\t.asciz \"" #name "\"", "i"(__VA_ARGS__))
#define TARN_ROUND(name, ...) TARN_MARK_("", "3, %c0\n\t.asciz \"" #name "\"", "i"(__VA_ARGS__))
#define TARN_CHOICE(name) TARN_MARK_("\n\tnop", "4\n\t.asciz \"" #name "\"")
#define TARN_CHOSEN(name) TARN_MARK_("\n\tnop", "5\n\t.asciz \"" #name "\"")
#else
#define TARN_CHOICE(name) static_cast<void>(0)
#define TARN_CHOSEN(name) static_cast<void>(0)
#define TARN_AT_MOST(...) static_cast<void>(0)
#define TARN_NOT_IF(name) static_cast<void>(0)
#define TARN_ROUNDS(name, ...) static_cast<void>(0)
#define TARN_ROUND(name, ...) static_cast<void>(0)
#endif

namespace tarn::platform {

// What the processor can do atomically. For the rest, the compiler calls functions of a library, which lock.
#if defined(__GCC_ATOMIC_POINTER_LOCK_FREE) && defined(__GCC_ATOMIC_LLONG_LOCK_FREE)
inline constexpr bool has_atomics = __GCC_ATOMIC_POINTER_LOCK_FREE == 2;     // compare-and-swap of a pointer: not on ARMv6-M
inline constexpr bool has_wide_atomics = __GCC_ATOMIC_LLONG_LOCK_FREE == 2;  // of 64 bits
inline constexpr bool has_byte_atomics = !has_atomics || __GCC_ATOMIC_CHAR_LOCK_FREE == 2;  // false: RISC-V with g++ before 13
#else
inline constexpr bool has_atomics = true;
inline constexpr bool has_wide_atomics = sizeof(void*) == 8;
inline constexpr bool has_byte_atomics = true;
#endif

/// Whether the processor can divide. If it can't (ARMv6-M, RISC-V without M), the compiler calls 280 bytes of a library.
#if (defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_IDIV)) || \
    (defined(__riscv) && !defined(__riscv_div))
inline constexpr bool has_division = false;
#else
inline constexpr bool has_division = true;
#endif

}  // namespace tarn::platform

namespace tarn::detail {

/// The address of an object even if its type overloads &, like std::addressof, which would need <memory>. Types of users are
/// part of the names of ours, so calls between namespace-scope functions are qualified: unqualified ones look into the users'
/// namespaces, and complete their classes.
template <class T>
[[nodiscard]] TARN_STEP constexpr T* pointer_to(T& object) noexcept {
  return __builtin_addressof(object);
}

/// Prefetches the cache line of a block that is about to be written. Never faults, whatever the address.
TARN_STEP void prefetch_for_write([[maybe_unused]] const void* block) noexcept {
#if defined(__GNUC__)
  __builtin_prefetch(block, 1);
#endif
}

/// The same address, known to be aligned to a pointer: for a processor that reads words only at such addresses (ARMv6-M,
/// RISC-V), the compiler otherwise calls memcpy for each word.
template <class T>
[[nodiscard]] TARN_STEP T* word_aligned(T* place) noexcept {
#if defined(__GNUC__)
  return static_cast<T*>(::__builtin_assume_aligned(place, alignof(void*)));
#else
  return place;
#endif
}

/// Tells the processor that this thread waits for another.
TARN_STEP void pause_processor() noexcept {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Hides where a pointer comes from. A static object addressed directly costs 2.5 to 3.4 times as much as one behind a
/// register, because the processor forwards a stored list head only through a base register (prototype, Sapphire Rapids).
template <class T>
[[nodiscard]] TARN_STEP T* launder_address(T* p) noexcept {
#if defined(__GNUC__)
  asm("" : "+r"(p));  // not volatile: it can be hoisted out of loops
#endif
  return p;
}

/// Makes an argument count as used, so that no compiler drops it from the function's signature.
TARN_STEP void keep_argument([[maybe_unused]] const void* argument) noexcept {
#if defined(__GNUC__)
  asm volatile("" : : "r"(argument));
#endif
}

/// Keeps the compiler from dropping earlier stores, even to an object that is destroyed here.
inline void keep_stores([[maybe_unused]] const void* object) noexcept {
#if defined(__GNUC__)
  asm volatile("" : : "r"(object) : "memory");
#endif
}

}  // namespace tarn::detail

#endif  // TARN_POLICIES_PLATFORM_CONFIG_H_
