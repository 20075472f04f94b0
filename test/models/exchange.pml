/* Part of thread_cached.pml: what a thread does with its own slot, and where it exchanges magazines with the depot.
 *
 *   mirrors thread_slot
 *     exchange    domain.load domain.store changing.store change domain.store
 *     change      use changing.store
 *   mirrors magazine_calls
 *     mine        Process::self Process::enrol domain_.load domain_.compare_exchange_strong slots_.find s.is_used s.is_of
 *                 core_guard flush slots_.make_group depot_.take_empty s.use s.domain.store
 *     flush       empty depot_.take_empty depot_.give_empty s.use s.domain.store
 *     refill      s.exchange core_guard depot_.has_full carve scavenge carve take_full prefetch_for_write
 *     take_full   depot_.give_empty s.use depot_.take_full
 *     carve       depot_.take_empty depot_.give_empty s.use pool.list.pop_batch
 *     make_space  s.exchange write_each core_guard depot_.take_empty unload_oldest depot_.give_full s.use
 *     unload_oldest pool.list.push_batch s.exchange */

/* ---- the slot's own --------------------------------------------------------------------------------------------------- */

inline use(id, in, is_full) { atomic { assert(is_mine(id)); current[id] = in; top[id] = filled(is_full) } }

inline exchange(id) {
  atomic {
    assert(is_mine(id));
    x = current[id];
    current[id] = spare[id];
    top[id] = filled(spare_is_full[id]);
    spare[id] = x;
#ifndef EXCHANGE_KEEPS_FLAG
    spare_is_full[id] = !spare_is_full[id];
#endif
    x = 0
  }
}

/* *--top and *top++ */
inline take_top(id) {
  plain {
    atomic { assert(is_mine(id)); m = current[id]; n = top[id] };
    atomic {
      assert(is_mine(id));
      assert(n != 0);
      n--;
      top[id] = n;
      b = content[m * CAPACITY + n];
      content[m * CAPACITY + n] = 0
    };
    atomic { m = 0; n = 0 }
  }
}
inline put_top(id) {
  plain {
    atomic { assert(is_mine(id)); m = current[id]; n = top[id] };
    atomic { assert(is_mine(id)); assert(n != CAPACITY); content[m * CAPACITY + n] = b; top[id] = n + 1; b = 0 };
    atomic { m = 0; n = 0 }
  }
}

/* The caller's slot, with a magazine in it, or 0. */
inline mine() {
  if
  :: fresh -> enrol()
  :: else
  fi;
  slot = id;
  if
  :: slot != 0 ->
     atomic { assert(is_mine(slot)); m = current[slot] };
#ifdef SLOT_RENEWED
     if
     :: inherits -> m = 0
     :: else
     fi;
     inherits = false;
#endif
     if
     :: m == 0 ->
        plain {
          lock();
          take_empty(m);
          if
          :: m != 0 -> use(slot, m, false)
          :: else -> slot = 0
          fi;
          unlock()
        }
     :: m != 0 && asked[slot] -> /* flush: one size of magazine stands for all, so that it isn't exchanged */
        plain { lock(); empty_slot(slot); asked[slot] = false; unlock() }
     :: else
     fi;
     m = 0
  :: else
  fi
}

/* ---- for a slot with an empty current magazine: `got` says whether there is a block now -------------------------------- */

inline carve() {
  plain {
    atomic { assert(is_mine(slot)); m = current[slot]; n = 0 };
    do
    :: n == CAPACITY -> break
    :: else ->
       core_pop(b);
       if
       :: b == 0 -> break
       :: else -> atomic { assert(is_mine(slot)); content[m * CAPACITY + n] = b; b = 0; n++ }
       fi
    od;
    atomic { assert(is_mine(slot)); top[slot] = n; got = n != 0; m = 0; n = 0 }
  }
}

inline take_full() {
  plain {
    atomic {
      assert(is_mine(slot));
      if
      :: spare[slot] == 0 -> spare[slot] = current[slot]; current[slot] = 0
      :: else
      fi
    };
    give_empty_of(current[slot]);
    list_pop(fulls, m);
    use(slot, m, true);
    m = 0
  }
}

inline refill() {
  atomic { assert(is_mine(slot)); got = spare_is_full[slot] };
  if
  :: got -> exchange(slot)
  :: else ->
     plain {
       lock();
       if
       :: fulls != 0 -> take_full(); got = true
       :: else -> carve()
       fi
     };
     if
     :: !got ->
        scavenge();
        if
        :: found -> found = false; carve()
        :: else
        fi
     :: else
     fi;
#ifdef LOCK_KEPT
     if
     :: got -> unlock()
     :: else
     fi
#else
     unlock()
#endif
  fi
}

/* ---- for a slot with a full one: `got` says whether there is room now --------------------------------------------------- */

/* The write changes nothing that is looked at here; that no block of the program's is written to is what counts. */
inline write_each(in) {
  plain {
    i = 0;
    do
    :: i == CAPACITY -> i = 0; break
    :: else -> assert(content[in * CAPACITY + i] != 0 && !has(in_use, content[in * CAPACITY + i])); i++
    od
  }
}

/* of the spare magazine m, or of the current one if there is none */
inline unload_oldest() {
  if
  :: m != 0 ->
     core_push_batch(m, CAPACITY);
#ifndef OLDEST_KEPT
     atomic { assert(is_mine(slot)); spare_is_full[slot] = false };
#endif
     exchange(slot)
  :: else ->
     core_push_batch(current[slot], CAPACITY);
     atomic { assert(is_mine(slot)); top[slot] = 0 }
  fi
}

inline make_space() {
  atomic { assert(is_mine(slot)); m = spare[slot]; got = spare_is_full[slot] };
#ifdef EXCHANGE_ANY
  got = false;
#endif
  if
  :: m != 0 && !got -> m = 0; exchange(slot); got = true
  :: else ->
     plain {
#ifndef WRITE_AFTER_GIVE
       if
       :: m != 0 -> write_each(m)
       :: else
       fi;
#endif
#ifndef UNGUARDED_EXCHANGE
       lock();
#endif
       take_empty(x);
       if
       :: x == 0 -> unload_oldest()
       :: else ->
          if
          :: m != 0 -> list_push(fulls, m)
          :: else
          fi;
          atomic { assert(is_mine(slot)); spare[slot] = current[slot]; spare_is_full[slot] = true };
          use(slot, x, false)
       fi;
       got = true;
#ifndef UNGUARDED_EXCHANGE
       unlock()
#endif
     };
#ifdef WRITE_AFTER_GIVE
     if
     :: m != 0 && got -> write_each(m)
     :: else
     fi;
#endif
     atomic { m = 0; x = 0 }
  fi
}
