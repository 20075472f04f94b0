"""Mistakes to make in tarn's headers: what variants.py replaces.

TABLES has an entry for each generated header:

    common    places that every variant of the table replaces: threads of the scheduler in the place of the process's,
              variables that the memory model watches
    types     what the test finds in each variant
    variants  {name: places}

A place is (how often the text stands in the headers, the text, what to put there); None: at least once.
"""

# What a test may look at.
OPEN = [(None, " private:", " public:")]

# Threads of the scheduler in the place of the process's, and a pool's smallest magazine with two blocks instead of 14.
SCHEDULED = [
    (1, "TARN_ONE_IN_PROCESS inline constinit thread_ids<atomic_word> process_ids;",
     "using thread_numbers = test::watched_numbers<thread_ids<test::scheduled_atomic>>;"),
    (1, "TARN_ONE_IN_PROCESS TARN_NEAR_TLS inline constinit thread_local thread_record this_thread;", ""),
    (1, "thread_local janitor at_exit(me);", "test::local_to_thread<janitor> at_exit(me);"),
    (1, "using atomic = atomic_word<T>;", "using atomic = test::scheduled_atomic<T>;"),
    (1, "static thread_ids<atomic_word>& ids()", "static thread_numbers& ids()"),
    (1, "return this_thread;", "return test::record_of_thread<thread_record>();"),
    (1, "TARN_ONE_IN_PROCESS inline constinit ids_at_fork process_ids_at_fork;", ""),  # forks_test has forks
    (1, "    process_ids_at_fork.admits(ids_at_fork::act);\n", ""),
    (1, "process_ids_at_fork.is_apart()", "false"),
    (2, "ends_of_threads.tell(resign_at_end, &me)", "test::thread_key::tell(resign_at_end, &me)"),
    (1, "TARN_ONE_IN_LIBRARY inline constinit thread_end ends_of_threads;", ""),
    (1, "return enrol_by_key(me, ends_of_threads);", "return false;"),
    (1, "  ends_of_threads.close();\n", ""),
    (1, "    process_ids.keep_only(this_thread.id);\n    holders_of_numbers.keep_only(this_thread.id);\n", ""),
    (1, "holders_of_numbers.look(ids(), all ? ids().count : 2);", "static_cast<void>(all);"),  # each thread tells of its end
    (1, "Atomic<exchange_step> changing", "atomic_word<exchange_step> changing"),
    (None, "process_ids", "thread_numbers::of_thread()"),
]
SMALL = [(2, "std::size_t{16} << size", "std::size_t{4} << size")]

# Variables that aren't atomic, for the memory model.
WATCHED_SLOTS = [
    (1, "void** top = nullptr;", "test::watched<void**> top = nullptr;"),
    (1, "magazine* current = nullptr;", "test::watched<magazine*> current = nullptr;"),
    (1, "magazine* spare = nullptr;", "test::watched<magazine*> spare = nullptr;"),
    (1, "bool spare_is_full = false;", "test::watched<bool> spare_is_full = false;"),
    (1, "unsigned char wanted = 0;", "test::watched<unsigned char> wanted = 0;"),
    (1, "larger ? s.current : other", "larger ? static_cast<magazine*>(s.current) : other"),
]
WATCHED_DEPOT = [
    (1, "magazine* const m = list;", "test::the_memory.written(&list);\n    magazine* const m = list;"),
    (1, "magazine* m) noexcept { m->next = replace(list, m); }",
     "magazine* m) noexcept { test::the_memory.written(&list); m->next = replace(list, m); }"),
    (1, "return full_ != nullptr;", "return test::the_memory.read(&full_), full_ != nullptr;"),
    (1, "if (bytes > left_.bytes) {", "test::the_memory.written(&left_);\n    if (bytes > left_.bytes) {"),
    (1, "return lacks_ == 0", "return test::the_memory.read(&left_), lacks_ == 0"),
    (1, " || is_single_threaded()) return;", ") return;"),
    (1, "*byte = std::byte{};", "test::the_memory.written(*b);"),
]
WATCHED_CHUNKS = [
    (1, "link* links = nullptr;", "test::watched<link*> links = nullptr;"),
    (1, "std::uint32_t base = 0;", "test::watched<std::uint32_t> base = 0;"),
]

# Tables that are copied for the third chunk instead of the seventeenth.
SMALL_TABLES = [(1, "fewest_runs = 16", "fewest_runs = 2")]
# And that are begun before the old ones are full, however small those are.
TABLES_AHEAD = SMALL_TABLES + [(1, "few = 256", "few = 1")]
# Who finds nothing looks for ever, as the scheduler notices: here all granules are of one size.
LOOKING = [(1, "const std::uint32_t below = ", "[[maybe_unused]] const std::uint32_t below = "),
           (1, "return shift_of(static_cast<unsigned>(std::bit_width(below)) - 1);", "return shift;")]

LOCK = "[[maybe_unused]] const auto lock = core_guard();\n"
READ_NEXT = "const number next = link_of(number_of(seen)).load(memory_order_relaxed);"
AFTER_POP = (1, "tag_of(seen) + 1)", "tag_of(seen))")


def relaxed(text, of="acquire"):
    """A place whose order is none."""
    return 1, text, text.replace("memory_order_" + of, "memory_order_relaxed")


PUSH_RELAXED = [relaxed("pack(first, tag_of(seen)), memory_order_release", "release")]
LOADED_RELAXED = relaxed("head seen = head_.load(memory_order_acquire)")
EXCHANGED = "pack(next, tag_of(seen) + 1), memory_order_acquire, memory_order_acquire)"
LOADED_AGAIN_RELAXED = (1, EXCHANGED, "pack(next, tag_of(seen) + 1), memory_order_acquire, memory_order_relaxed)")

# Where a thread waits in a loop the scheduler has another go on.
WAITING = [
    (None, "detail::atomic_word<", "test::scheduled_atomic<"),
    (None, "atomic_word<", "test::scheduled_atomic<"),
    (1, "detail::pause_processor();", "test::the_scheduler.yield();"),
    (1, "detail::yield_thread();", "test::the_scheduler.yield();"),
    (1, "detail::sleep_microseconds(50);", "test::the_scheduler.yield();"),
]
# The process of forks: threads of the scheduler have numbers and places of their own, and a fork is patient for one step.
FORKS = [
    (None, "tarn::mutex", "test::scheduled_mutex"),
    (None, "atomic_word<", "test::scheduled_atomic<"),
    (None, ".address()", ""),
    (None, "this_thread_number()", "test::number_of_thread()"),
    (None, "steady_nanoseconds()", "test::clock_of_steps()"),
    (1, "patience = 50'000'000;", "patience = 1;"),
    (1, "  static constinit TARN_THREAD_LOCAL fork_position position;\n  return position;",
     "  return fork_positions[test::the_scheduler.current()];"),
    (1, "TARN_ONE_IN_LIBRARY inline fork_position& position_of_thread()",
     "inline test::for_each_thread<fork_position> fork_positions;\ninline fork_position& position_of_thread()"),
    (1, "return one_in_process<library_list, 0x102>::get();", "return library_list;"),
    (1, "std::atexit(at_end_of_library);", ""),
    (1, "fork_member* first_ = nullptr;", "test::watched<fork_member*> first_ = nullptr;"),
    (1, "fork_member* next_ = nullptr;", "test::watched<fork_member*> next_ = nullptr;"),
    (1, "fork_member* previous_ = nullptr;", "test::watched<fork_member*> previous_ = nullptr;"),
]
TAKE_LEAVES = ("    for (fork_member* m = first_; m != nullptr; m = m->next_) "
               "m->phase_.store(fork_member::phase::taken, memory_order_release);\n"
               "    for (fork_member* m = first_; m != nullptr; m = m->next_) m->act_(*m, fork_step::lock);\n")
CLOSE = "    gate.close(me, patience);\n"

TABLES = {
    "locks": {
        "common": WAITING,
        "types": "using mutex = spin_mutex; using cell = shared_cell<unsigned>;",
        "variants": {
            # spin_mutex
            "locked_relaxed": [relaxed("if (locked_.exchange(true, detail::memory_order_acquire))")],
            "tried_relaxed": [relaxed("&& !locked_.exchange(true, detail::memory_order_acquire)")],
            "unlocked_relaxed": [relaxed("locked_.store(false, detail::memory_order_release)", "release")],
            "looked_then_locked": [
                (1, "&& !locked_.exchange(true, detail::memory_order_acquire);", "&& (locked_.store(true), true);")],
            "waits_once": [(1, "!try_lock(); ++tries)", "tries == 0 && !try_lock(); ++tries)")],
            # shared_cell
            "added_in_two_steps": [
                (1, "value_.fetch_add(more, memory_order_relaxed)", "value_.store(value_.load() + more)")],
            "raised_in_two_steps": [
                (1, "while (seen < value && !value_.compare_exchange_weak(seen, value, memory_order_relaxed)) {}",
                 "if (seen < value) value_.store(value);")],
        },
    },
    "budget": {
        "common": [(1, "detail::atomic_word<std::size_t> used_ = 0;", "test::noted_word used_ = 0;"),
                   (None, "detail::atomic_word<", "test::scheduled_atomic<"),
                   (1, "    const detail::uncancelled whole;\n", "")],
        "types": "using budget = memory_budget;",
        "variants": {
            "looked_then_charged": [
                (1, "while (!reserved_.compare_exchange_weak(now, now + bytes, detail::memory_order_acquire));",
                 "while (reserved_.fetch_add(bytes), false);")],
            "charged_relaxed": [relaxed("compare_exchange_weak(now, now + bytes, detail::memory_order_acquire)")],
            "given_back_relaxed": [relaxed("reserved_.fetch_sub(bytes, detail::memory_order_release)", "release")],
            "charged_afterwards": [
                (1, "    if (!reserve(bytes)) return {};\n    const detail::memory region = get();",
                 "    const detail::memory region = get();\n    if (!reserve(bytes)) return give(region), detail::memory();")],
            "surplus_not_charged": [(1, "if (got > bytes && !reserve(got - bytes))", "if (got > bytes && got > limit())")],
            "given_back_without_going": [(1, "      give(region);\n", "      static_cast<void>(give);\n")],
            "surplus_is_kept": [(1, "      give(region);\n      cancel(bytes);", "      give(region);")],
            "rest_is_kept": [(1, "if (got < bytes) cancel(bytes - got);", "")],
            "peak_in_two_steps": [
                (1, "while (seen < now && !peak_.compare_exchange_weak(seen, now, detail::memory_order_relaxed)) {\n    }",
                 "if (seen < now) peak_.store(now);")],
            "crossing_is_looked_at_later": [
                (1, "before <= soft && now > soft", "before <= soft && used_.load() > soft && used_.load() - bytes <= soft")],
            "told_twice": [(1, "!rose_.exchange(false, detail::memory_order_acq_rel)", "(rose_.store(false), false)")],
            "each_growth_above_is_told": [(1, "before <= soft && now > soft", "now > soft")],
        },
    },
    "tally": {
        "common": [(1, "*detail::launder_address("
                       "reinterpret_cast<line*>(reinterpret_cast<std::byte*>(lines_) + me.offset[tier]))",
                    "lines_[me.id]"),
                   (1, "  static constexpr std::size_t tier = tier_of(Threads);\n", "")],
        "types": "template <class Process> using tally = thread_tally<Process, 4>;",
        "variants": {
            "added_relaxed": [
                (1, "mine.allocations.store(handed_out, memory_order_release)",
                 "mine.allocations.store(handed_out, memory_order_relaxed)"),
                (1, "mine.allocations.store(read(mine.allocations) + blocks, memory_order_release)",
                 "mine.allocations.store(read(mine.allocations) + blocks, memory_order_relaxed)")],
            "added_by_others_relaxed": [relaxed("others_.allocations.fetch_add(blocks, memory_order_release)", "release")],
            "summed_relaxed": [relaxed("l.allocations.load(memory_order_acquire)")],
            "frees_read_first": [
                (1, "    const std::size_t handed_out = allocations();\n    std::size_t freed = read(others_.frees);\n"
                    "    for (const line& l : lines_) freed += read(l.frees);\n",
                 "    std::size_t freed = read(others_.frees);\n    for (const line& l : lines_) freed += read(l.frees);\n"
                 "    const std::size_t handed_out = allocations();\n")],
        },
    },
    "forks": {
        "common": FORKS + OPEN,
        "types": "using list = fork_list; using library = fork_library; using member = fork_member; using step = fork_step;\n"
                 "using position = fork_position; using growth_mutex = store_mutex<test::scheduled_mutex>;\n"
                 "using call = store_call; using stay = inside_gate;\n"
                 "static test::for_each_thread<fork_position>& positions() { return fork_positions; }\n"
                 "static fork_list& forks() { return process_forks(); }\n"
                 "static fork_library& own() { return library_forks; }\n"
                 "static constexpr auto of_thread = position_of_thread;\n"
                 "static constexpr auto install = install_fork_handlers;\n"
                 "static constexpr auto before = before_fork;\n"
                 "static constexpr auto after_in_parent = after_fork_in_parent;\n"
                 "static constexpr auto after_in_child = after_fork_in_child;\n"
                 "static constexpr auto act = act_on_leaf<test::scheduled_mutex>;\n"
                 "static test::scheduled_mutex& forkers() { return mutex_of_forker<test::scheduled_mutex>; }",
        "variants": {
            # the gate
            "closed_after_leaves": [
                (1, CLOSE, ""), (1, TAKE_LEAVES, TAKE_LEAVES + CLOSE)],
            "comes_back_at_once": [(1, "if ((seen & passing) != 0) {", "if (false) {")],
            "never_passes": [
                (1, "inside(seen) - own != at_store(seen) - own_at_store", "inside(seen) + own_at_store * 0 != own")],
            "passes_too_early": [
                (1, "    for (unsigned seen = word_.load(memory_order_acquire);;) {",
                 "    word_.fetch_or(passing, memory_order_acquire);\n"
                 "    for (unsigned seen = word_.load(memory_order_acquire);;) {")],
            "own_stay_forgotten": [(1, "const unsigned own = me.depth != 0 ? 1 : 0;", "const unsigned own = 0;")],
            "own_call_forgotten": [
                (1, "const unsigned own_at_store = me.at_store ? 1 : 0;", "const unsigned own_at_store = 0;")],
            "child_forgets_stay": [
                (1, "(me.depth != 0 ? one_inside : 0) | (me.at_store ? one_at_store : 0)", "me.depth * 0")],
            "leaves_quietly": [
                (1, "tell(word_.fetch_sub(one_inside, memory_order_release));",
                 "word_.fetch_sub(one_inside, memory_order_release);")],
            "goes_to_store_quietly": [
                (1, "tell(word_.fetch_add(one_at_store, memory_order_release));",
                 "word_.fetch_add(one_at_store, memory_order_release);")],
            "opened_quietly": [(1, "    wake_all(word_);\n  }\n  /// In the child", "  }\n  /// In the child")],
            "left_relaxed": [relaxed("word_.fetch_sub(one_inside, memory_order_release)", "release")],
            "gone_to_store_relaxed": [relaxed("word_.fetch_add(one_at_store, memory_order_release)", "release")],
            "closed_relaxed": [
                relaxed("word_.fetch_or(closed, memory_order_acquire)"),
                relaxed("const unsigned seen = word_.load(memory_order_acquire)"),
                (1, "unsigned seen = word_.load(memory_order_acquire);;) {\n      if (inside",
                 "unsigned seen = word_.load(memory_order_relaxed);;) {\n      if (inside"),
                relaxed("        seen = word_.load(memory_order_acquire);"),
                relaxed("seen | passing, memory_order_acquire, memory_order_acquire")],
            # stays and calls
            "grows_outside": [
                (1, "if (is_outermost()) process_forks().gate.enter(me()), how_ = how::outermost;\n    else begin", "begin")],
            "depth_forgotten": [
                (1, "return me().depth == 0 && !process_forks().holds_all();", "return !process_forks().holds_all();")],
            "inner_stay_at_store": [
                (1, "if (me().at_store && !process_forks().holds_all()) process_forks().gate.come_back(me()), "
                    "how_ = how::from_store;", "")],
            "inner_stay_keeps_back": [(1, "if (how_ == how::from_store) process_forks().gate.go_to_store(me());", "")],
            "store_call_untold": [
                (1, "counts_(me().depth != 0 && !me().at_store && !process_forks().holds_all())", "counts_(false)")],
            "waits_inside": [(1, "const store_call wait;", "")],
            "growth_not_renewed": [
                (1, "    if (is_mine) mutex_.unlock();\n    renew(mutex_);\n"
                    "    if (is_mine) act_on_leaf(mutex_, fork_step::lock);\n    else holder_",
                 "    if (!is_mine) holder_")],
            "unnoted_not_renewed": [
                (1, "if (is_mine) mutex_.unlock();",
                 "if (holder_.load(memory_order_relaxed) == 0) return;\n    if (is_mine) mutex_.unlock();")],
            # the list
            "entered_twice": [
                (1, "if (m.phase_.load(memory_order_relaxed) != fork_member::phase::apart) return;", "")],
            "list_not_held": [
                (1, "    mutex_.lock();\n" + TAKE_LEAVES, TAKE_LEAVES),
                (1, "    mutex_.unlock();\n    taking_", "    taking_")],
            "left_without_the_list": [
                (1, "const bool is_mine = holds_all();", "const bool is_mine = true;")],
            "leaves_not_taken": [(1, "m->act_(*m, fork_step::lock);", "{}")],
            "leaves_not_renewed": [(1, "give_back_all(fork_step::renew);", "")],
            "list_not_renewed": [(1, "    make_anew(mutex_);\n", "")],
            "forking_not_renewed": [(1, "    make_anew(forking_);\n", "")],
            "two_forks": [(1, "    forking_.lock();\n", ""), (1, "    forking_.unlock();\n", "")],
            "forks_inside": [(1, "const bool can_be_passed = me.depth != 0 && !me.at_store;",
                              "const bool can_be_passed = me.depth != 0 && me.depth == 0;")],
            "forker_waits_for_itself": [(1, "  if (list.holds_all()) return false;\n", "")],
            "ended_quietly": [(1, "    wake_all(taking_);\n", "")],
        },
    },
    "stack": {
        "common": [],
        "types": "template <template <class> class Atomic> using stack = tagged_stack<Atomic>;\n"
                 "template <template <class> class Atomic> using narrow_stack = tagged_stack<Atomic, std::uint32_t>;",
        "variants": {
            "push_relaxed": PUSH_RELAXED,
            "pop_relaxed": [LOADED_RELAXED, relaxed(EXCHANGED)],
            "loaded_relaxed": [LOADED_RELAXED],
            "loaded_again_relaxed": [LOADED_AGAIN_RELAXED],
            "exchanged_relaxed": [
                (1, EXCHANGED, "pack(next, tag_of(seen) + 1), memory_order_relaxed, memory_order_acquire)")],
            "untagged": [AFTER_POP],
            "tag_of_1_bit": [(1, "tag_of(seen) + 1)", "(tag_of(seen) + 1) % 2)")],
            "tag_of_2_bits": [(1, "tag_of(seen) + 1)", "(tag_of(seen) + 1) % 4)")],
            "tag_of_4_bits": [(1, "tag_of(seen) + 1)", "(tag_of(seen) + 1) % 16)")],
            "tag_by_push": [AFTER_POP, (1, "pack(first, tag_of(seen))", "pack(first, tag_of(seen) + 1)")],
            "tag_of_1_bit_by_push": [AFTER_POP, (1, "pack(first, tag_of(seen))", "pack(first, (tag_of(seen) + 1) % 2)")],
            "next_not_read_again": [
                (1, "while (number_of(seen) != none) {\n      " + READ_NEXT,
                 READ_NEXT.replace("link_of(number_of(seen))", "link_of(number_of(seen) != none ? number_of(seen) : 1)") +
                 "\n    while (number_of(seen) != none) {")],
            "published_before_linked": [
                (1, "    do {\n      last.store(number_of(seen), memory_order_relaxed);\n    } while", "    while"),
                (1, "pack(first, tag_of(seen)), memory_order_release, memory_order_relaxed));",
                 "pack(first, tag_of(seen)), memory_order_release, memory_order_relaxed)) {}\n"
                 "    last.store(number_of(seen), memory_order_relaxed);")],
            "linked_once": [
                (1, "    do {\n      last.store(number_of(seen), memory_order_relaxed);\n    } while",
                 "    last.store(number_of(seen), memory_order_relaxed);\n    while"),
                (1, "tag_of(seen)), memory_order_release, memory_order_relaxed));",
                 "tag_of(seen)), memory_order_release, memory_order_relaxed)) {}")],
            "stored_by_pop": [
                (1, "if (head_.compare_exchange_weak(seen, pack(next, tag_of(seen) + 1), memory_order_acquire, "
                    "memory_order_acquire))\n        break;",
                 "head_.store(pack(next, tag_of(seen) + 1));\n      break;")],
        },
    },
    "stack_calls": {
        "common": WATCHED_CHUNKS + OPEN,
        "types": "template <class Traits, class Guards>\n"
                 "using calls = stack_calls<Traits, Guards, test::scheduled_atomic, typename Traits::head>;",
        "variants": {
            "small": SMALL_TABLES,
            "untagged": SMALL_TABLES + [AFTER_POP],
            "push_relaxed": SMALL_TABLES + PUSH_RELAXED,
            "pop_relaxed": SMALL_TABLES + [LOADED_RELAXED, relaxed(EXCHANGED)],
            "loaded_relaxed": SMALL_TABLES + [LOADED_RELAXED],
            "loaded_again_relaxed": SMALL_TABLES + [LOADED_AGAIN_RELAXED],
            "ahead": TABLES_AHEAD,
            "table_published_relaxed": SMALL_TABLES + LOOKING + [
                relaxed("table_.store(next_, memory_order_release)", "release")],
            "table_loaded_relaxed": SMALL_TABLES + LOOKING + [
                relaxed("const table& t = *table_.load(memory_order_acquire)"),
                relaxed("*table_.load(memory_order_acquire)->runs")],
            "entered_relaxed": SMALL_TABLES + [
                relaxed("places[i].store(detail::pointer_to(c), memory_order_release)", "release"),
                relaxed("entry(nullptr))->store(detail::pointer_to(c), memory_order_release)", "release"),
                relaxed("const Chunk* const c = places[i].load(memory_order_acquire)"),
                relaxed("runs[(n - 1) / run].load(memory_order_acquire)")],
            "batch_off_by_one": SMALL_TABLES + [
                (1, "for (std::size_t i = 1; i != n; ++i)", "for (std::size_t i = 1; i < n - 1; ++i)")],
            "last_of_batch_linked_first": SMALL_TABLES + [
                (1, "stack_.push_chain(first, link_of(last));", "stack_.push_chain(first, link_of(first));")],
            "carved_without_guard": SMALL_TABLES + [(
                1, "[[maybe_unused]] const auto lock = core_guard();  "
                "// to the end: who finds the list empty finds the rest on the stack\n", "")],
            "chain_published_before_linked": SMALL_TABLES + [
                (1, "    stack_.push_chain(first, link_of(last));\n", ""),
                (1, "    number last = first;\n    for (std::size_t i = 1; i != n; ++i)",
                 "    number last = number_of(pool.chunks.geometry(), in[n - 1]);\n"
                 "    stack_.push_chain(first, link_of(last));\n    last = first;\n    for (std::size_t i = 1; i != n; ++i)")],
            "first_pushed_too": SMALL_TABLES + [
                (1, "push_batch(pool, run + 1, got - 1);", "push_batch(pool, run, got);")],
            "table_published_before_filled": SMALL_TABLES + LOOKING + [
                (1, "    while (moved_ != runs_) {",
                 "    table* const old = table_.load(memory_order_relaxed);\n"
                 "    table_.store(next_, memory_order_release);\n    while (moved_ != runs_) {"),
                (1, "const Chunk& c = *table_.load(memory_order_relaxed)->runs", "const Chunk& c = *old->runs")],
            "runs_not_copied": SMALL_TABLES + [
                (1, "next_->number_run(moved_++, c);", "::new (static_cast<void*>(next_->runs + moved_++)) entry(nullptr);")],
            "places_not_copied": SMALL_TABLES + LOOKING + [
                (1, "if (c.base == moved_ * run) next_->enter(c, g);", "if (moved_ != 0) next_->enter(c, g);")],
            "carved_before_numbered": SMALL_TABLES + [
                (1, "    numbers_.add(fresh, pool.chunks.geometry());\n    pool.chunks.adopt(fresh, pool.list);",
                 "    pool.chunks.adopt(fresh, pool.list);\n    guards_.let_others_in();\n"
                 "    numbers_.add(fresh, pool.chunks.geometry());")],
        },
    },
    "magazine_calls": {
        "common": SCHEDULED + WATCHED_SLOTS + WATCHED_DEPOT + OPEN + [(1, " protected:", " public:")],
        "types": "using magazine_type = magazine; using process = process_threads; using record = thread_record;\n"
                 "using numbers_type = thread_numbers; using janitor_type = janitor;\n"
                 "using ids_type = thread_ids<test::scheduled_atomic>;\n"
                 "template <class Guards, std::size_t Largest>\n"
                 "using calls = magazine_calls<Guards, process_threads, 16, Largest>;",
        "variants": {
            "small": SMALL,
            # numbers of threads
            "taken_number_taken": SMALL + [
                (1, "if ((seen & mask(bit)) == 0) return w * 64 + bit;", "return w * 64 + bit;")],
            "dead_number_taken_twice": SMALL + [
                (1, "return (word.fetch_or(mask(id), memory_order_acquire) & mask(id)) == 0;",
                 "word.fetch_or(mask(id), memory_order_acquire);\n    return true;")],
            "record_kept_at_exit": SMALL + [(1, "    record_.resign();\n", "")],
            "number_given_back_before_record": SMALL + [
                (1, "    record_.resign();\n    thread_numbers::of_thread().give_back(id);",
                 "    thread_numbers::of_thread().give_back(id);\n    test::the_scheduler.point();\n    record_.resign();")],
            "enrols_again_at_exit": SMALL + [(1, "*this = {};\n    is = state::ended;", "*this = {};")],
            "number_taken_relaxed": SMALL + [
                relaxed("seen = words_[w].fetch_or(mask(bit), memory_order_acquire)")],
            "dead_number_taken_relaxed": SMALL + [
                relaxed("return (word.fetch_or(mask(id), memory_order_acquire)")],
            "number_given_back_relaxed": SMALL + [relaxed("fetch_and(~mask(id), memory_order_release)", "release")],
            # slots
            "group_published_relaxed": SMALL + [relaxed("place.store(slots, memory_order_release)", "release")],
            "group_found_relaxed": SMALL + [
                relaxed("slot* const slots = far_[(id - Threads) / group].load(memory_order_acquire)")],
            "scavenged_without_number": SMALL + [
                (1, "!numbers.take(id)) return;", "id == 0) return;"), (1, "      numbers.give_back(id);\n", "")],
            "number_given_back_before_renewed": SMALL + [
                (1, "      its.renew();\n      numbers.give_back(id);",
                 "      numbers.give_back(id);\n      its.renew();")],
            "magazine_lost_at_renew": SMALL + [(1, "if (its.spare != nullptr) depot_.give_empty(its.spare);", "")],
            "full_spare_forgotten": SMALL + [
                (1, "if (s.spare_is_full) "
                 "pool.list.push_batch(pool.chunks, s.spare->bottom(), magazine::capacity(s.spare->size));", "")],
            "domain_not_compared": SMALL + [(1, "    if (owner != me.domain) return nullptr;\n", "")],
            "domain_not_compared_when_hot": SMALL + [(2, "!s.is_of(me) || ", "")],
            "domain_stored": SMALL + [
                (1, "domain_.compare_exchange_strong(owner, me.domain, memory_order_relaxed)) owner = me.domain;",
                 "me.domain != nullptr) { domain_.store(me.domain, memory_order_relaxed); owner = me.domain; }")],
            "group_made_twice": SMALL + [
                (1, "if (place.load(memory_order_relaxed) == nullptr) {", "{")],
            # the depot
            "full_looked_for_without_guard": SMALL + [
                (1, LOCK + "      if (!depot_.has_full()) {",
                 "if (!depot_.has_full()) {\n" + LOCK), (1, "      take_full(pool, s);\n", LOCK + "take_full(pool, s);\n")],
            "blocks_written_in_the_depot": SMALL + [
                (1, "    if (s.spare != nullptr) write_each(*s.spare, pool.chunks.geometry());\n",
                 "magazine* const given = s.spare;\n    {\n"),
                (1, "    s.use(fresh, false);\n    s.used(Largest, pool.chunks);\n    return status::done;",
                 "    s.use(fresh, false);\n    s.used(Largest, pool.chunks);\n    }\n"
                 "    if (given != nullptr) write_each(*given, pool.chunks.geometry());\n    return status::done;")],
            "empty_magazine_lost": SMALL + [(1, "if (s.current != nullptr) depot_.give_empty(s.current);", "")],
            "full_spare_overwritten": SMALL + [(1, "if (s.spare != nullptr) depot_.give_full(s.spare);", "")],
            "full_magazine_stays": SMALL + [(1, "if (m != nullptr) list = m->next;\n    return m;", "return m;")],
            "space_without_guard": SMALL + [(1, LOCK + "    magazine* const fresh", "magazine* const fresh")],
            "refilled_without_guard": SMALL + [(1, LOCK + "      if (!depot_.has_full())", "if (!depot_.has_full())")],
            "locked_pop_without_guard": SMALL + [(1, LOCK + "    void* block = nullptr;", "void* block = nullptr;")],
            "locked_push_without_guard": SMALL + [
                (1, LOCK + "    return pool.list.push_batch(pool.chunks, &block, 1);",
                 "return pool.list.push_batch(pool.chunks, &block, 1);")],
            "drained_without_guard": SMALL + [
                (1, LOCK + "    slot* const own = own_slot();\n    if (own", "slot* const own = own_slot();\n    if (own")],
            "forgotten_beside_another": SMALL + [(1, "if (!slots_.no_other_than(own)) return false;", "")],
            "forgotten_beside_further_threads": SMALL + [
                (1, "if (g.load(memory_order_relaxed) != nullptr) return false;", "static_cast<void>(g);")],
            "own_slot_not_forgotten": SMALL + [
                (1, "if (own != nullptr) own->renew();", "")],
            "others_renewed_when_forgotten": SMALL + [(1, "if (own != nullptr) own->renew();", "slots_.forget();")],
            "flushed_without_guard": SMALL + [
                (1, LOCK + "    if (is_used) return flush(pool, *s, me);",
                 "if (is_used) return flush(pool, *s, me);\n" + LOCK)],
            "emptied_by_another": SMALL + [
                (1, "    ask_for_blocks(own);\n", "slots_.each([&](unsigned, slot& s) { if (&s != own) empty(pool, s); });")],
            "oldest_unloaded_and_kept": SMALL + [
                (1, "      s.spare_is_full = false;\n      s.exchange();", "      s.exchange();")],
            "only_one_unloaded_and_kept": SMALL + [
                (1, "    if (s.spare == nullptr) {\n      s.top = s.bottom;\n",
                 "    if (s.spare == nullptr) {\n      --s.top;\n")],
            "unloaded_without_guard": SMALL + [
                (1, LOCK + "    const std::size_t few", "const std::size_t few")],
            "unloaded_blocks_stay": SMALL + [
                (1, "give(s.bottom, static_cast<std::size_t>(s.top - s.bottom));\n      s.top = s.bottom;",
                 "give(s.bottom, static_cast<std::size_t>(s.top - s.bottom));")],
            "unloaded_spare_stays": SMALL + [
                (1, "    s.spare_is_full = false;\n    s.limit", "    s.limit")],
            "limit_left_low": SMALL + [(1, "} else if (s.limit != s.current->limit()) {", "} else if (s.limit == nullptr) {")],
            "first_magazine_without_guard": SMALL + [
                (1, LOCK + "    if (is_used) return flush", "if (is_used) return flush")],
        },
    },
}
