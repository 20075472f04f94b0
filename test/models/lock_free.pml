/* The stack of lock_free, for Spin: any interleaving of THREADS threads, each of which allocates or gives back OPS times.
 *
 * One step for each operation on an atomic or on the core guard. run_models.py compares these calls with the code's, and
 * those in the file that is included:
 *
 *   mirrors stack_calls
 *     pop         stack_.pop
 *     push        stack_.push
 *     pop_slow    pop pop core_guard pool.list.pop_batch nothing_more_.store pop link_of push_batch
 *     push_batch  link_of .store stack_.push_chain link_of
 *
 * Whoever pops a number owns it alone, and in the end each is in one place: on the stack, with a thread, or never carved. Any
 * block that a thread holds may be the next to go, the oldest as well as the newest: threads that give back only the newest
 * don't meet the ABA problem, and find no fault in a stack without tags.
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef OPS
#define OPS 3
#endif
#ifndef NODES /* numbers 1 to NODES, at most 4 */
#define NODES 3
#endif
#ifndef FRESH /* as many of them as were never used; the others are on the stack at first */
#define FRESH 0
#endif
#ifndef RUN /* blocks that pop_slow carves at once: 32 in the code */
#define RUN 2
#endif
#ifndef CHAIN /* the longest that deallocate_batch() gives back */
#define CHAIN 1
#endif

bool nothing_more; /* the last run was carved, and is on the stack */

#include "tagged_stack.pml"

/* A block of the thread's, whichever; only where it has one. */
inline choose() {
  atomic {
    if
    :: owner[1] == me -> n = 1
#if NODES > 1
    :: owner[2] == me -> n = 2
#endif
#if NODES > 2
    :: owner[3] == me -> n = 3
#endif
#if NODES > 3
    :: owner[4] == me -> n = 4
#endif
    fi;
    owner[n] = CHAINED + me
  }
}

/* stack_calls::push_batch, of as many blocks as the thread likes */
inline give_back() {
  choose();
  d_step { first = n; last = n; n = 0 };
#if CHAIN > 1
  got = 1;
  do
  :: got < CHAIN ->
     if
     :: choose();
        link[last] = n;                                                   /* link.store */
#ifdef SPLICED_EARLY
        previous = last;
#endif
        d_step { last = n; n = 0; got++ }
     :: true -> break
     fi
  :: else -> break
  od;
#ifdef SPLICED_EARLY
  last = (got > 1 -> previous : last);
#endif
  got = 0;
#endif
  stack_push()
}

/* The rest of stack_calls::pop_slow, after its first pop. */
inline carve() {
#ifndef UNGUARDED_CARVE
  atomic { !guard -> guard = true };                                      /* core_guard */
#endif
  n = carved;                                                             /* pool.list.pop_batch */
  d_step {
    got = (NODES - n < RUN -> NODES - n : RUN);
    carved = n + got;
    first = n + got;
    do
    :: first == n -> break
    :: else -> assert(owner[first] == IN_CORE); owner[first] = (first == n + 1 -> me : CHAINED + me); first--
    od;
    first = 0;
    carrying = carrying + (got > 1)
  };
#ifdef PUSH_UNGUARDED
  guard = false;
#endif
  if
  :: got == 0 ->
     d_step { n = 0; last_try = true; nothing_more = true };               /* nothing_more_.store */
     stack_pop();
     last_try = false
  :: got == 1 -> skip
  :: else ->                                                              /* all but the first: push_batch */
#ifdef FIRST_PUSHED_TOO
     d_step { last = n + 1; got = n + got };
#else
     d_step { last = n + 2; got = n + got };
#endif
     first = last;
     do
     :: last == got -> break
     :: else -> link[last] = last + 1; last++                             /* link.store */
     od;
     n = 0;
     stack_push();
     carrying--
  fi;
#ifndef PUSH_UNGUARDED
  guard = false;
#endif
  d_step { n = 0; got = 0 }
}

proctype thread(byte me) {
  byte ops, number, tag, next, first, last, n, got;
#ifdef SPLICED_EARLY
  byte previous;
#endif
  bool last_try; /* the allocation fails if this pop finds nothing; it must not while another carries blocks to the stack */

  do
  :: ops == OPS -> break
  :: ops < OPS ->
     ops++;
     if
     :: give_back()
     :: stack_pop();                                                      /* stack_calls::pop */
#if FRESH
        if
        :: number == NONE ->
           stack_pop();                                                   /* stack_calls::pop_slow */
           if
           :: number == NONE && nothing_more ->                           /* has_nothing_more */
              last_try = true;
              stack_pop();
              last_try = false
           :: number == NONE && !nothing_more -> carve()
           :: else
           fi
        :: else
        fi
#endif
     fi;
     atomic { number = 0 }
  od;

  atomic {
    ended++;
    if
    :: ended == THREADS -> every_number_in_one_place()
    :: else
    fi
  }
}

init {
  byte n = 1;
  atomic {
    do
    :: n > NODES -> break
    :: n <= NODES - FRESH -> link[n] = head_number; head_number = n; n++
    :: n <= NODES && n > NODES - FRESH -> owner[n] = IN_CORE; n++
    od;
    n = 1;
    do
    :: n > THREADS -> break
    :: else -> run thread(n); n++
    od
  }
}
