// A stand-in for pool.h of "Simple memory pool implementations": the documented interface over the heap. It pools nothing.
#ifndef MULTIPOOL_POOL_H
#define MULTIPOOL_POOL_H

#include <cstddef>
#include <new>
#include <set>
#include <tuple>
#include <utility>

template <class T>
class Pool {
 public:
  explicit Pool(std::size_t) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { release(); }

  template <class... Args>
  T* construct(Args&&... args) {
    void* const place = ::operator new(sizeof(T));
    places_.insert(place);
    return new (place) T(std::forward<Args>(args)...);
  }
  void destroy(T* object) {
    object->~T();
    places_.erase(object);
    ::operator delete(object);
  }
  void release() {  // runs no destructors
    for (void* const place : places_) ::operator delete(place);
    places_.clear();
  }

 private:
  std::set<void*> places_;
};

template <class... Ts>
class Multipool {
 public:
  explicit Multipool(std::size_t objects) : pools_((static_cast<void>(sizeof(Ts)), objects)...) {}
  template <class T, class... Args>
  T* construct(Args&&... args) {
    return std::get<Pool<T>>(pools_).construct(std::forward<Args>(args)...);
  }
  template <class T>
  void destroy(T* object) {
    std::get<Pool<T>>(pools_).destroy(object);
  }
  void release_all() { (std::get<Pool<Ts>>(pools_).release(), ...); }

 private:
  std::tuple<Pool<Ts>...> pools_;
};

#endif
