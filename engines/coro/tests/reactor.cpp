// SPDX-License-Identifier: Apache-2.0
#include <coro/reactor.hpp>

#include "test.hpp"

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

TEST("the timer heap gives the earliest first, whatever was inserted and erased before")
{
    std::mt19937 random(7);
    std::vector<coro::detail::timer_node> nodes(2000);
    coro::detail::timer_heap heap;
    std::vector<coro::detail::timer_node *> inside;
    const auto earlier = [](auto *a, auto *b) { return a->deadline < b->deadline; };
    for (int step = 0; step < 20000; step++) {
        coro::detail::timer_node &node = nodes[random() % nodes.size()];
        const auto found = std::find(inside.begin(), inside.end(), &node);
        if (found == inside.end()) {
            node.deadline = coro::reactor::clock::time_point(std::chrono::nanoseconds(random() % 100000));
            heap.insert(node);
            inside.push_back(&node);
        } else {
            heap.erase(node);
            inside.erase(found);
        }
        if (step % 97 == 0 && !inside.empty())
            CHECK(heap.first()->deadline == (*std::min_element(inside.begin(), inside.end(), earlier))->deadline);
    }
    while (!inside.empty()) {
        const auto least = std::min_element(inside.begin(), inside.end(), earlier);
        CHECK(heap.first()->deadline == (*least)->deadline);
        inside.erase(std::find(inside.begin(), inside.end(), heap.first()));
        heap.erase(*heap.first());
    }
    CHECK(heap.first() == nullptr);
}

TEST("wake() from another thread ends a wait, also when it comes first")
{
    coro::reactor reactor;
    for (int round = 0; round < 200; round++) {
        std::atomic<bool> work{false};
        std::thread other([&] {
            if (round % 3 == 0)
                std::this_thread::sleep_for(200us);
            work.store(true, std::memory_order_seq_cst);
            reactor.wake();
        });
        while (!work.load(std::memory_order_seq_cst))
            reactor.wait([&] { return !work.load(std::memory_order_seq_cst); });
        other.join();
    }
}

TEST("requests of other threads run on the reactor's")
{
    struct counting : coro::detail::reactor_request {
        std::atomic<int> *count = nullptr;
    };
    coro::reactor reactor;
    std::atomic<int> count{0};
    std::vector<counting> all(100);
    std::thread other([&] {
        for (counting &each : all) {
            each.count = &count;
            each.run = [](coro::detail::reactor_request &self, coro::reactor &) {
                static_cast<counting &>(self).count->fetch_add(1);
            };
            reactor.request(each);
        }
    });
    while (count.load() != 100)
        reactor.wait([] { return true; });
    other.join();
}

TEST("there is no reactor on a thread that runs no executor")
{
    CHECK(test::throws<std::logic_error>([] { (void)coro::reactor::current(); }));
}
