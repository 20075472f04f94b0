/* Magazines and the depot of thread_cached, for Spin: any interleaving of THREADS threads, each of which allocates, gives
 * back or drains OPS times, ends, and does so LATE times more, as the destructor of a thread_local object may.
 *
 * One step for each operation on an atomic or on the core guard. run_models.py compares these calls with the code's, and
 * those in the files that are included:
 *
 *   mirrors magazine_calls
 *     pop         Process::self s.is_of
 *     push        Process::self s.is_of
 *     pop_slow    mine pop_locked refill
 *     push_slow   mine push_locked make_space
 *     push_locked core_guard pool.list.push_batch
 *     pop_locked  core_guard pool.list.pop_batch unload_full scavenge pool.list.pop_batch
 *     drain       core_guard own_slot empty unload_full scavenge ask_for_blocks
 *     own_slot    Process::self domain_.load slots_.find
 *     ask_for_blocks slots_.each its.domain.load its.domain.store
 *
 * Whoever is handed a block has it alone, only the holder of an id uses its slot, and in the end each block and each magazine
 * is in one place, and each id given back.
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef LATE
#define LATE 0
#endif
#ifndef IDS /* with fewer ids than threads, some inherit one, and some have none */
#define IDS 2
#endif
#ifndef BLOCKS /* at most 5 */
#define BLOCKS 3
#endif
#ifndef USED /* as many of them as the program has at first; the core has the others */
#define USED 3
#endif
#ifndef CAPACITY /* of a magazine: 14 to 510 in the code. One size of magazine stands for all */
#define CAPACITY 1
#endif
#ifndef MAGAZINES /* for as many there is memory, now and then; always with GENEROUS */
#define MAGAZINES 4
#endif

#include "depot.pml"
#include "thread_ids.pml"
#include "exchange.pml"

/* ---- allocate, deallocate, trim --------------------------------------------------------------------------------------- */

/* `got`: it is a hit */
inline pop() {
  plain {
    slot = id;
    if
    :: slot != 0 -> atomic { assert(is_mine(slot)); got = top[slot] != 0 && !asked[slot] }
    :: else
    fi
  };
  if
  :: !got ->
     mine();
     if
     :: slot == 0 -> pop_locked()
     :: else ->
#ifndef REFILL_UNASKED
        atomic { assert(is_mine(slot)); got = top[slot] != 0 };
#endif
        if
        :: !got -> refill()
        :: else
        fi
     fi
  :: else
  fi;
  if
  :: slot != 0 && got -> take_top(slot); atomic { assert(b != 0 && !has(in_use, b)); in_use = in_use | bit(b) }
  :: slot == 0 && b != 0 -> atomic { assert(b != 0 && !has(in_use, b)); in_use = in_use | bit(b) }
  :: else /* there is none */
  fi
}

inline pop_locked() {
  plain {
#ifndef UNGUARDED_POP
    lock();
#endif
    core_pop(b);
    if
    :: b == 0 -> unload_full()
    :: else
    fi
  };
  if
  :: b == 0 ->
     if
     :: !found -> scavenge()
     :: else
     fi;
     if
     :: found -> core_pop(b)
     :: else
     fi
  :: else
  fi;
#ifndef UNGUARDED_POP
  unlock()
#endif
}

/* Of block b, which the program has. */
inline push() {
  plain {
    slot = id;
    if
    :: slot != 0 -> atomic { assert(is_mine(slot)); got = current[slot] != 0 && top[slot] != CAPACITY && !asked[slot] }
    :: else
    fi
  };
  if
  :: !got ->
     mine();
     if
     :: slot != 0 ->
        atomic { assert(is_mine(slot)); got = top[slot] != CAPACITY };
        if
        :: !got -> make_space()
        :: else
        fi
     :: else
     fi
  :: else
  fi;
  if
  :: got -> put_top(slot)
#ifdef UNGUARDED_PUSH
  :: else -> core_push(b)
#else
  :: else -> plain { lock(); core_push(b); unlock() }
#endif
  fi
}

inline drain() {
  plain {
    lock();
    if
    :: id != 0 -> empty_slot(id)
    :: else
    fi;
    do
    :: fulls == 0 -> break
    :: else -> unload_full()
    od
  };
  scavenge();
  plain {
    assert(is_guarded);
    other = 1;
    do
    :: other > IDS -> other = 0; break
#ifdef TAKEN_UNASKED
    :: else -> if :: other != id && current[other] != 0 -> empty_slot(other) :: else fi; other++
#else
    :: else -> atomic { asked[other] = asked[other] || (other != id && current[other] != 0); other++ } /* domain.store */
#endif
    od
  };
  unlock()
}

/* ---- a thread --------------------------------------------------------------------------------------------------------- */

proctype thread(byte me) {
  byte id;           /* the thread's record; 0: no id, or none any more */
  bool fresh = true; /* it never asked for one */
#ifdef SLOT_RENEWED
  bool inherits = true;
#endif
  byte slot, seen, b, m, n, x, i, other;
  bool found, taken, got;
  byte ops, late;
  byte ending, resigned;

  do
  :: ending == 0 && ops == OPS || ending == 1 -> janitor_step()
  :: ending == 2 && late == LATE -> break
  :: (ending == 0 && ops < OPS) || (ending != 0 && late < LATE) ->
     atomic {
       if
       :: ending == 0 -> ops++
       :: else -> late++
       fi;
       if
       :: goto allocate
       :: in_use != 0 ->
          b = 1;
          do
          :: has(in_use, b) -> break
          :: else -> b++
          od;
          in_use = in_use & ~bit(b);
          goto deallocate
#ifndef NO_TRIM
       :: goto trim
#endif
       fi
     };

allocate:
     pop();
     goto done;
deallocate:
     push();
     goto done;
trim:
     drain();
done:
     atomic { slot = 0; b = 0; m = 0; n = 0; x = 0; found = false; got = false }
  od;

  atomic {
    ended++;
    if
    :: ended == THREADS -> all_in_one_place()
    :: else
    fi
  }
}

init {
  byte n = 1;
  atomic {
    do
    :: n > THREADS -> break
    :: else -> run thread(n); n++
    od
  }
}
