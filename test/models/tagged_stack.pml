/* Part of lock_free.pml: the stack of numbers, and what threads share.
 *
 *   mirrors tagged_stack
 *     pop         head_.load link_of .load head_.compare_exchange_weak
 *     push        push_chain
 *     push_chain  head_.load last.store head_.compare_exchange_weak
 *
 * A tag never comes round here, but with TAG_BITS. */

#define NONE 0

#if defined(UNTAGGED)
#define tag_after_pop(tag) tag
#elif defined(TAG_BITS)
#define tag_after_pop(tag) ((tag + 1) & ((1 << TAG_BITS) - 1))
#elif defined(TAG_LOST_WHEN_EMPTY)
#define tag_after_pop(tag) (next == NONE -> 0 : tag + 1)
#elif defined(TAG_ON_PUSH) /* no fault: a number comes back by a push only, and that changes the tag */
#define tag_after_pop(tag) tag
#else
#define tag_after_pop(tag) (tag + 1)
#endif

#if defined(TAG_LOST_ON_PUSH)
#define tag_after_push(tag) 0
#elif defined(TAG_ON_PUSH)
#define tag_after_push(tag) (tag + 1)
#else
#define tag_after_push(tag) tag
#endif

byte head_number = NONE; /* tagged_stack::head_ is both: one step reads or writes the two */
byte head_tag;
byte link[NODES + 1];

bool guard;                   /* core_guard() */
byte carved = NODES - FRESH;  /* what the core has are the numbers above */

/* Not in the code: who has a number. Thread t has it, or has it in a chain that it is about to push: CHAINED + t. */
#define ON_STACK 0
#define IN_CORE 255
#define CHAINED 100
byte owner[NODES + 1];
byte ended;
byte carrying; /* threads with blocks that they carved and haven't pushed yet */

/* tagged_stack::pop */
inline stack_pop() {
  atomic {                                                                /* head_.load */
    number = head_number;
    tag = head_tag;
    assert(!(last_try && number == NONE && carrying != 0))
  };
  do
  :: number == NONE -> tag = 0; break
  :: else ->
#ifdef LINK_NOT_RELOADED
     if
     :: next == NONE -> next = link[number]
     :: else
     fi;
#else
     next = link[number];                                                 /* link.load */
#endif
     atomic {                                                             /* head_.compare_exchange */
       if
#ifdef STORED_BY_POP
       :: true ->
#else
       :: head_number == number && head_tag == tag ->
#endif
          head_number = next;
          head_tag = tag_after_pop(tag);
          assert(owner[number] == ON_STACK);
          owner[number] = me;
          next = 0; tag = 0;
          break
#ifndef STORED_BY_POP
       :: else -> number = head_number; tag = head_tag
#ifndef LINK_NOT_RELOADED
          ; next = 0
#endif
#endif
       fi
     }
  od
}

/* tagged_stack::push_chain(first, last) */
inline stack_push() {
  d_step { number = head_number; tag = head_tag };                        /* head_.load */
  do
  ::
#if defined(LINK_NEVER)
     skip;
#elif !defined(LINK_AFTER_PUSH)
     link[last] = number;                                                 /* last.store */
#endif
     atomic {                                                             /* head_.compare_exchange */
       if
       :: head_number == number && head_tag == tag ->
          head_number = first;
          head_tag = tag_after_push(tag);
          d_step {
            n = 1;
            do
            :: n > NODES -> break
            :: n <= NODES && owner[n] == CHAINED + me -> owner[n] = ON_STACK
            :: else -> n++
            od;
            n = 0; tag = 0; first = 0
          };
          break
       :: else -> number = head_number; tag = head_tag
       fi
     }
  od;
#ifdef LINK_AFTER_PUSH
  link[last] = number;
#endif
  number = 0; last = 0
}

inline every_number_in_one_place() {
  d_step {
    n = head_number;
    do
    :: n == NONE -> break
    :: else -> assert(owner[n] == ON_STACK); owner[n] = CHAINED; n = link[n]
    od;
    n = 1;
    do
    :: n > NODES -> break
    :: else -> assert(owner[n] != ON_STACK); n++
    od
  }
}
