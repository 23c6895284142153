/* SPDX-License-Identifier: Apache-2.0
 * handoff - one fair lock that 1 to 65536 contexts take and release in a loop: it goes to who has waited longest.
 *
 * A ticket lock whose waiters sleep, each on a word of its own. Whoever releases draws its next ticket before it lets
 * the lock go, and wakes the one whose turn it is. So the owner changes with every pair, and on one CPU a pair holds a
 * real switch. Drawn after the release, the ticket comes too late when the woken one runs at once: it finds nobody in
 * line behind it, and two contexts then take the lock by whole time slices, like the mutex. A ticket lock that spins is
 * hopeless here: on one CPU the next in line may be the last to run.
 *
 * Known answer: from two contexts on, changed_fraction is 1; with one it is 0; the guarded number equals the sum of the
 * contexts' own counts.
 * Overhead: counting in the lock, 1 to 2 ns a pair; the timekeeper wakes two or three times a batch.
 * Limits: the waiting line never runs empty, since all do nothing but queue up.
 * Assembly: contend contains (call|bl).*<syscall
 * Source: Mellor-Crummey & Scott, ACM TOCS 9(1), 1991, for the ticket lock and for waiting on a word of one's own. */
#include "contend.h"

struct place {
    _Alignas(PROBE_CACHE_LINE) uint32_t granted; /* the ticket that has the lock, once it is one of this place */
};

struct lock {
    _Alignas(PROBE_CACHE_LINE) uint32_t next; /* the next ticket to be drawn */
    _Alignas(PROBE_CACHE_LINE) uint32_t held; /* the owner's ticket; written by the owner alone */
    uint32_t last_place;
    int scope;
    uint32_t *ticket; /* what each context has drawn; its own */
    struct place place[];
};

/* As many places as contexts or more, so that no two waiters share one; a power of two, so that tickets may wrap. */
static struct lock *lock_new(int contexts, bool processes)
{
    uint32_t places = 1;
    while (places < (uint32_t)contexts)
        places *= 2;
    struct lock *lock = probe_share(sizeof *lock + places * sizeof *lock->place);
    lock->last_place = places - 1;
    lock->scope = futex_scope(processes);
    lock->ticket = probe_share((uint64_t)contexts * sizeof *lock->ticket);
    for (uint32_t i = 1; i < places; i++)
        lock->place[i].granted = i - places; /* its last turn; place 0 stands at ticket 0, which is granted */
    return lock;
}

static inline uint32_t *place_of(struct lock *lock, uint32_t ticket)
{
    return &lock->place[ticket & lock->last_place].granted;
}

static inline void lock_join(struct lock *lock, int index)
{
    lock->ticket[index] = __atomic_fetch_add(&lock->next, 1, __ATOMIC_SEQ_CST);
}

static inline void lock_acquire(struct lock *lock, int index)
{
    uint32_t ticket = lock->ticket[index], seen, *granted = place_of(lock, ticket);
    while ((seen = __atomic_load_n(granted, __ATOMIC_SEQ_CST)) != ticket) /* pairs with the store in grant_next */
        futex_wait(granted, seen, lock->scope);
    lock->held = ticket;
}

/* Either we see that the next ticket was drawn, and wake its holder; or who draws it later sees that it is granted:
 * the store and the load here against the draw in lock_join and the load in lock_acquire, all sequentially
 * consistent. */
static inline void grant_next(struct lock *lock, int index)
{
    uint32_t next = lock->held + 1, *granted = place_of(lock, next);
    bool mine = lock->ticket[index] == next;
    __atomic_store_n(granted, next, __ATOMIC_SEQ_CST);
    if (!mine && __atomic_load_n(&lock->next, __ATOMIC_SEQ_CST) != next)
        futex_wake(granted, 1, lock->scope);
}

static inline void lock_release(struct lock *lock, int index)
{
    lock_join(lock, index);
    grant_next(lock, index);
}

/* A ticket that is drawn must be used, or those behind it wait for ever. */
static inline void lock_leave(struct lock *lock, int index)
{
    lock_acquire(lock, index);
    grant_next(lock, index);
}

CONTEST(lock_new, lock_join, lock_acquire, lock_release, lock_leave)

static const struct probe handoff_probe = {
    .title = "fair lock that changes hands",
    .question = "What does a fair lock cost, whose owner changes whenever another waits?",
    .source = "ticket lock with local waiting: Mellor-Crummey & Scott, ACM TOCS 9(1), 1991",
    CONTEST_DESCRIPTION,
};

int main(int argc, char **argv)
{
    return probe_main(&handoff_probe, argc, argv);
}
