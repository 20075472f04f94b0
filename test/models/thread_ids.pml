/* Part of thread_cached.pml: a thread takes an id, ends, and what it left is inherited or scavenged.
 *
 *   mirrors thread_ids
 *     take        words_.load words_.fetch_or
 *     take        word.load word.fetch_or
 *     give_back   words_.fetch_and
 *   mirrors janitor
 *     ~janitor    record_.resign process_ids.give_back
 *   mirrors process_threads
 *     enrol       self library_ends.load enrol_in_free enrol_in_allocation
 *     enrol_in_free take_number
 *     enrol_in_allocation take_number
 *     take_number process_ids.take me.enrol
 *   mirrors magazine_calls
 *     scavenge    Process::ids domain_.load slots_.each its.domain.load numbers.take empty
 *                 depot_.give_empty depot_.give_empty its.renew numbers.give_back */

inline give_id_back(id) { atomic { assert(holder[id] == me); holder[id] = 0; ids = ids & ~bit(id) } } /* fetch_and */

/* process_threads::enrol, thread_ids::take() */
inline enrol() {
  atomic { fresh = false; seen = ids };                                      /* load */
  do
  :: atomic {                                                                /* fetch_or */
       id = 1;
       do
       :: id <= IDS && has(seen, id) -> id++
       :: else -> break
       od;
       if
       :: id > IDS -> id = 0; taken = true
       :: else ->
          seen = ids;
          ids = ids | bit(id);
#ifdef TAKEN_UNSEEN
          taken = true;
#else
          taken = !has(seen, id);
#endif
          if
          :: taken -> assert(holder[id] == 0); holder[id] = me
          :: else -> id = 0
          fi
       fi
     };
     if
     :: taken -> break
     :: else
     fi
  od;
  atomic { seen = 0; taken = false }
}

/* janitor::~janitor, in two steps: `ending` says how many are done. */
inline janitor_step() {
  atomic {
    if
    :: ending == 0 ->
#ifdef ID_FIRST
       if
       :: id != 0 -> give_id_back(id)
       :: else
       fi;
#else
       resigned = id;
#ifndef RECORD_KEPT
       id = 0;
#endif
#endif
#ifdef ENROLS_AGAIN
       fresh = true;
#else
       fresh = false;
#endif
       ending = 1
    :: ending == 1 ->
#ifdef ID_FIRST
       id = 0;
#else
       if
       :: resigned != 0 -> give_id_back(resigned)
       :: else
       fi;
       resigned = 0;
#endif
       ending = 2
    fi
  }
}

/* magazine_calls::scavenge. The domains of slots are guarded, as everything here is but the ids. */
inline scavenge() {
  other = 1;
  do
  :: other > IDS -> other = 0; break
  :: else ->
     atomic {                                                                /* domain.load; take(id): load */
       assert(is_guarded);
#ifdef SCAVENGE_LIVE
       taken = current[other] != 0
#else
       taken = current[other] != 0 && !has(ids, other)
#endif
     };
#if !defined(SCAVENGE_UNCLAIMED) && !defined(SCAVENGE_LIVE)
     if
     :: taken ->
        atomic {                                                             /* fetch_or */
          taken = !has(ids, other);
          ids = ids | bit(other);
          if
          :: taken -> assert(holder[other] == 0); holder[other] = me
          :: else
          fi
        }
     :: else
     fi;
#endif
     if
     :: taken ->
        plain {
          atomic { assert(is_mine(other)); found = found || top[other] != 0 || spare_is_full[other] };
          empty_slot(other);
#ifndef MAGAZINES_LOST
          give_empty_of(current[other]);
          give_empty_of(spare[other])
#endif
        };
#ifdef GIVEN_BACK_FIRST
        give_id_back(other);
#endif
        atomic {
          assert(is_mine(other));
          top[other] = 0; current[other] = 0; spare[other] = 0; spare_is_full[other] = false; asked[other] = false
        };
#if !defined(SCAVENGE_UNCLAIMED) && !defined(SCAVENGE_LIVE) && !defined(GIVEN_BACK_FIRST)
        give_id_back(other)
#endif
     :: else
     fi;
     atomic { taken = false; other++ }
  od
}
