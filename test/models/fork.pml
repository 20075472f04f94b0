/* The gate of forks, growth guards, leaf mutexes and the list, while some threads fork and others use three pools and a mutex of
 * the program. Pool 0's store is pool 1, whose store locks the program's mutex; pool 2 grows while a user holds that mutex.
 *
 * A step is an atomic operation of the code, or several where nobody else could tell the difference. Who waits is blocked: that
 * everybody is woken is for the scheduler (//test/schedule:forks_test). The child of a fork is seen there, too.
 *
 * Other users: with GROUPS, of a group's mutexes. With FAIR they go on for ever, and only that forks end is looked at.
 *
 * For Spin, which visits every state that the threads can get into: at most three threads with few operations each, in all
 * orders, sequentially consistent. runs.txt says with how many it is searched, and which errors must be found where it is broken
 * on purpose, by a name in an #ifdef; GROUPS, UNDER_GUARD and FAIR break nothing. The code is fork_gate, fork_list, inside_gate,
 * store_call and store_mutex: who changes the order of their steps changes it here. To see the steps to an error:
 *
 *   spin -a -DNO_PASSING fork.pml && gcc -DSAFETY -o pan pan.c && ./pan -m100000; spin -t -p -DNO_PASSING fork.pml */

#ifndef FORKERS
#define FORKERS 1
#endif
#ifndef USERS
#define USERS 2
#endif
#ifndef FORKS                  /* of each forker */
#define FORKS 1
#endif
#ifndef OPS                    /* of each user */
#define OPS 1
#endif

/* Who holds it; 0: nobody. */
byte forking, list, program;
byte growth[3];
byte leaf[3];
#ifdef GROUPS
byte group;                    /* a group's leaf mutex */
bool is_guarded;               /* a group_guard holds it, at a store too */
#endif
/* fork_gate */
bool closed, passing;
byte inside, at_store;
/* fork_list */
bool taken, taking;

byte changing;                 /* pools that are half changed */
byte copied_by;                /* who forks and holds all */
byte forks;                    /* that have ended */

#define lock(mutex) atomic { mutex == 0 -> mutex = me }
#define unlock(mutex) atomic { assert(mutex == me); mutex = 0 }

inline enter() { atomic { !closed -> inside++ } }
inline leave() { inside-- }
inline go_to_store() { at_store++ }
#ifdef COMES_BACK_AT_ONCE
inline come_back() { at_store-- }
#else
inline come_back() { atomic { !passing -> at_store-- } }
#endif

/* store_mutex::lock */
inline lock_growth(p) {
  if
  :: lock(growth[p])
  :: atomic { growth[p] != 0 -> skip };
#ifndef WAITS_INSIDE
     go_to_store();
#endif
     lock(growth[p]);
#ifndef WAITS_INSIDE
     come_back()
#endif
  fi
}

inline change() {
  atomic { assert(copied_by == 0); changing++ };
  changing--
}

/* A hit inside the gate: no fork takes leaf mutexes while anybody is there, so admits() never waits. */
inline use_inside(p) {
  lock(leaf[p]);
  change();
  unlock(leaf[p])
}

inline use(p) {
  if                           /* admits */
  :: !taken
  :: taken -> !taking          /* wait_for_fork */
  fi;
  use_inside(p)
}

/* Pool 1, in a stay. */
inline grow_lower_inside() {
  lock_growth(1);
  change();
  go_to_store();
  lock(program);
  unlock(program);
  come_back();
  use_inside(1);
  unlock(growth[1])
}

inline grow_lower() {
  enter();
  grow_lower_inside();
  leave()
}

inline grow_upper() {
  enter();
  lock_growth(0);
  change();
  go_to_store();
  come_back();                 /* from_store */
  grow_lower_inside();
  go_to_store();
  come_back();
  use_inside(0);
  unlock(growth[0]);
  leave()
}

inline grow_under_program() {
  lock(program);
  enter();
  lock(growth[2]);             /* nobody else wants it */
  go_to_store();
  come_back();
  use_inside(2);
  unlock(growth[2]);
  leave();
  unlock(program)
}

#ifdef GROUPS
inline grow_under_guard() {
  enter();
  lock(group);
  is_guarded = true;
  change();
  go_to_store();
  come_back();
  is_guarded = false;
  unlock(group);
  leave()
}

/* A block of the group's, under the guard of another group. */
inline use_group() {
  enter();
  lock(group);
  change();
  unlock(group);
  leave()
}
#endif

inline close_gate() {
  closed = true;
#ifdef NO_PASSING
  inside == own
#else
#ifdef PASSES_EARLY
  passing = true;
  inside - own == at_store
#else
  if
  :: inside == own
  :: atomic { inside - own == at_store -> passing = true }                   /* the patience is over */
  fi
#endif
#endif
}

inline take_leaves() {
  taking = true;
  lock(list);
  taken = true;
  lock(leaf[0]);
  lock(leaf[1]);
  lock(leaf[2]);
#ifdef GROUPS
  if
#ifdef GUARDED_TAKEN
  :: lock(group)
#else
  :: is_guarded
  :: !is_guarded -> lock(group)
#endif
  fi
#endif
}

inline fork() {
#ifndef FAIR
#ifndef HANDLERS_LATE
  if                           /* the program's handler */
  :: lock(program); has_handler = true
  :: skip
  fi;
#endif
#endif
#ifdef UNDER_GUARD
  enter();                     /* a group_guard */
  own = 1;
#ifndef FORKS_INSIDE
  go_to_store();
#endif
#endif
#ifndef TWO_FORKS
  lock(forking);
#endif
#ifdef UNDER_GUARD
#ifndef FORKS_INSIDE
  come_back();
#endif
#endif
#ifdef LEAVES_FIRST
  take_leaves();
  close_gate();
#else
  close_gate();
  take_leaves();
#endif
#ifdef HANDLERS_LATE
  lock(program);
  has_handler = true;
#endif
  atomic { assert(copied_by == 0); copied_by = me; assert(changing == 0) };
  copied_by = 0;
  taken = false;
  unlock(leaf[0]);
  unlock(leaf[1]);
  unlock(leaf[2]);
#ifdef GROUPS
  if
  :: group == me -> unlock(group)
  :: else
  fi;
#endif
  unlock(list);
  taking = false;
  atomic { closed = false; passing = false };
#ifndef TWO_FORKS
  unlock(forking);
#endif
#ifdef UNDER_GUARD
  leave();
#endif
  if
  :: has_handler -> unlock(program); has_handler = false
  :: else
  fi;
  forks++
}

proctype thread(byte me) {
  byte n;
  byte own;                    /* stays of the forker */
  bool has_handler;
  if
  :: me <= FORKERS ->
     do
     :: n < FORKS -> fork(); n++
     :: else -> break
     od
  :: else ->
     do
#ifdef FAIR                    /* for ever; and nothing that takes what others may hold again and again */
     :: grow_upper()
     :: grow_lower()
     :: grow_under_program()
#else
     :: n < OPS ->
        if
#ifdef GROUPS
        :: grow_under_guard()
        :: use_group()
#else
        :: grow_upper()
        :: grow_lower()
        :: grow_under_program()
#endif
        :: use(1)
        :: lock(list); unlock(list)                                          /* a pool begins or ends */
        fi;
        n++
     :: else -> break
#endif
     od
  fi
}

init {
  byte i;
  atomic {
    i = 1;
    do
    :: i <= FORKERS + USERS -> run thread(i); i++
    :: else -> break
    od
  }
}

#ifdef FAIR
ltl ends { <> (forks == FORKERS * FORKS) }
#endif
