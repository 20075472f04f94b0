/* Part of thread_cached.pml: what threads share, and what they do to it with the core guard held.
 *
 *   mirrors depot
 *     take_full   pop
 *     give_full   push
 *     give_empty  push
 *     take_empty  pop carve pop
 *   mirrors magazine_calls
 *     unload_full depot_.take_full pool.list.push_batch depot_.give_empty
 *     empty       pool.list.push_batch pool.list.push_batch
 *
 * A plain operation is on what the guard guards, with the guard held, or on the slot of an id that the thread holds: that is
 * asserted each time. So nobody can tell whether others run between them, and they are one step with what is next to them.
 * FINE makes each a step of its own; BLIND asserts no such thing, so that what comes of it is found. */
#ifdef FINE
#define plain
#else
#define plain atomic
#endif
#ifdef BLIND
#define is_mine(id) true
#define is_guarded true
#else
#define is_mine(id) (holder[id] == me)
#define is_guarded (guard == me)
#endif

#define bit(n) (1 << (n))
#define has(word, n) (((word) & bit(n)) != 0)
#define filled(is_full) (is_full -> CAPACITY : 0)

byte ids = 1; /* thread_ids::words_; 0 belongs to nobody */

/* thread_slot; `top` counts blocks from the bottom. Magazine 0 is null. A slot with no current magazine has no domain. */
byte top[IDS + 1];
byte current[IDS + 1];
byte spare[IDS + 1];
bool spare_is_full[IDS + 1];
bool asked[IDS + 1]; /* its domain is something else, so that the thread's next call gives its blocks */

/* magazine: in a place where no block lies is 0, so that whoever takes it for one is found out. */
byte content[(MAGAZINES + 1) * CAPACITY];
byte next[MAGAZINES + 1];
byte made;

byte guard;                                          /* core_guard(): who holds it */
byte fulls;                                          /* depot::full_ */
byte empties;                                        /* depot::empty_ */
byte free_blocks = (bit(BLOCKS) - bit(USED)) << 1;   /* core_ */

/* Not in the code: who took an id, which blocks the program has, how many threads are through. */
byte holder[IDS + 1];
byte in_use = (bit(USED) - 1) << 1;
byte ended;

inline lock() { atomic { guard == 0 -> guard = me } }
inline unlock() { atomic { assert(guard == me); guard = 0 } }

/* ---- depot ------------------------------------------------------------------------------------------------------------ */

inline list_pop(list, out) {
  plain {
    assert(is_guarded);
    out = list;
    if
    :: out != 0 -> list = next[out]; next[out] = 0
    :: else
    fi
  }
}
inline list_push(list, in) {
  plain {
    assert(is_guarded);
    next[in] = list;
    list = in
  }
}
/* Whether there is memory for another is the store's affair. */
inline take_empty(out) {
  list_pop(empties, out);
  if
  :: out == 0 && made < MAGAZINES -> plain { assert(is_guarded); out = made + 1; made = out }
#ifdef GENEROUS
  :: else
#else
  :: true
#endif
  fi
}
inline give_empty_of(place) {
  plain {
    m = place;
    if
    :: m != 0 -> list_push(empties, m)
    :: else
    fi;
    m = 0
  }
}

/* ---- core: which of the blocks it gives makes no difference ----------------------------------------------------------- */

inline core_pop(out) {
  plain {
    assert(is_guarded);
    seen = free_blocks;
    atomic {
      out = 0;
      if
      :: seen != 0 ->
         do
         :: has(seen, out) -> break
         :: else -> out++
         od;
         free_blocks = seen & ~bit(out)
      :: else
      fi;
      seen = 0
    }
  }
}
inline core_push(in) {
  plain {
    assert(is_guarded);
    seen = free_blocks;
    atomic { assert(in != 0); free_blocks = seen | bit(in); seen = 0; in = 0 }
  }
}
/* pool.list.push_batch of a magazine's first blocks */
inline core_push_batch(from, count) {
  plain {
#ifdef BATCH_WITHOUT_FIRST
    i = (count > 0 -> 1 : 0);
#else
    i = 0;
#endif
    do
    :: i == count -> i = 0; break
    :: else ->
       atomic { x = content[from * CAPACITY + i]; content[from * CAPACITY + i] = 0 };
       core_push(x);
       i++
    od
  }
}

inline unload_full() {
  plain {
    list_pop(fulls, m);
    if
    :: m != 0 ->
       core_push_batch(m, CAPACITY);
#ifndef UNLOADED_LOST
       list_push(empties, m);
#endif
       m = 0;
       found = true
    :: else
    fi
  }
}

/* magazine_calls::empty */
inline empty_slot(id) {
  plain {
    atomic { assert(is_mine(id)); m = current[id]; n = top[id] };
    if
    :: m != 0 ->
       core_push_batch(m, n);
       atomic { assert(is_mine(id)); top[id] = 0; m = spare[id]; n = filled(spare_is_full[id]) };
#ifndef SPARE_FORGOTTEN
       core_push_batch(m, n);
#endif
       atomic { assert(is_mine(id)); spare_is_full[id] = false }
    :: else
    fi;
    atomic { m = 0; n = 0 }
  }
}

/* ---- the end ------------------------------------------------------------------------------------------------------------ */

inline see(from, count) {
  i = 0;
  do
  :: i == count -> break
  :: else -> x = content[from * CAPACITY + i]; assert(x != 0 && !has(seen, x)); seen = seen | bit(x); i++
  od
}

inline all_in_one_place() {
  d_step {
    assert(ids == 1);
    assert(guard == 0);
    assert((in_use & free_blocks) == 0);
    seen = in_use | free_blocks;
    id = 1;
    do
    :: id > IDS -> break
    :: else ->
       see(current[id], top[id]);
       see(spare[id], filled(spare_is_full[id]));
       n = n + (current[id] != 0) + (spare[id] != 0);
       id++
    od;
    do
    :: fulls == 0 -> break
    :: else -> see(fulls, CAPACITY); n++; assert(n <= made); fulls = next[fulls]
    od;
    do
    :: empties == 0 -> break
    :: else -> n++; assert(n <= made); empties = next[empties]
    od;
    assert(n == made);
    assert(seen == ((bit(BLOCKS) - 1) << 1))
  }
}
