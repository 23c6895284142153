// SPDX-License-Identifier: Apache-2.0
#include <coro/frames.hpp>

#include "test.hpp"

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using coro::pooled_frames;

TEST("frames are aligned, apart from each other, and as large as asked for")
{
    std::vector<std::pair<unsigned char *, std::size_t>> all;
    for (std::size_t size = 1; size < 5000; size += 13) {
        auto *frame = static_cast<unsigned char *>(pooled_frames::allocate(size));
        CHECK(reinterpret_cast<std::uintptr_t>(frame) % 16 == 0);
        std::memset(frame, static_cast<int>(size % 251), size);
        all.emplace_back(frame, size);
    }
    for (const auto &[frame, size] : all) {
        CHECK(frame[0] == size % 251 && frame[size - 1] == size % 251);
        pooled_frames::release(frame, size);
    }
}

TEST("the frame that was released last is the next of its size")
{
    void *first = pooled_frames::allocate(100);
    pooled_frames::release(first, 100);
    void *again = pooled_frames::allocate(112);
    CHECK(again == first);
    pooled_frames::release(again, 112);
}

TEST("frames that one thread allocates and another releases are used again")
{
    std::set<void *> seen;
    std::vector<void *> batch;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 1000; i++)
            batch.push_back(pooled_frames::allocate(1008));
        seen.insert(batch.begin(), batch.end());
        std::thread([&] {
            for (void *frame : batch)
                pooled_frames::release(frame, 1008);
        }).join();
        batch.clear();
    }
    CHECK(seen.size() < 5000);
}
