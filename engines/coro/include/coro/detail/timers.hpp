// SPDX-License-Identifier: Apache-2.0
// Timers by deadline: an intrusive pairing heap (Fredman et al. 1986), so that a sleep allocates nothing.
#pragma once

#include <chrono>

namespace coro::detail
{

struct timer_node {
    std::chrono::steady_clock::time_point deadline;
    timer_node *child = nullptr;
    timer_node *sibling = nullptr;
    timer_node *before = nullptr; // the left sibling, or the parent of a leftmost child
};

class timer_heap
{
  public:
    // Null when there is none.
    [[nodiscard]] timer_node *first() const noexcept
    {
        return root_;
    }

    void insert(timer_node &node) noexcept
    {
        node.child = node.sibling = node.before = nullptr;
        root_ = root_ == nullptr ? &node : merge(root_, &node);
    }

    // pre: in the heap.
    void erase(timer_node &node) noexcept
    {
        if (&node == root_) {
            root_ = merge_children(node.child);
            return;
        }
        (node.before->child == &node ? node.before->child : node.before->sibling) = node.sibling;
        if (node.sibling != nullptr)
            node.sibling->before = node.before;
        if (timer_node *children = merge_children(node.child))
            root_ = merge(root_, children);
    }

  private:
    // pre: both are roots.
    static timer_node *merge(timer_node *a, timer_node *b) noexcept
    {
        if (b->deadline < a->deadline) {
            timer_node *const other = a;
            a = b;
            b = other;
        }
        b->sibling = a->child;
        if (b->sibling != nullptr)
            b->sibling->before = b;
        b->before = a;
        a->child = b;
        return a;
    }

    // In pairs from the left, then all of those from the right: this gives the amortised logarithm.
    static timer_node *merge_children(timer_node *left) noexcept
    {
        timer_node *pairs = nullptr;
        while (left != nullptr) {
            timer_node *a = left, *b = a->sibling;
            left = b == nullptr ? nullptr : b->sibling;
            a->sibling = a->before = nullptr;
            if (b != nullptr) {
                b->sibling = b->before = nullptr;
                a = merge(a, b);
            }
            a->sibling = pairs;
            pairs = a;
        }
        timer_node *all = nullptr;
        while (pairs != nullptr) {
            timer_node *const next = pairs->sibling;
            pairs->sibling = nullptr;
            all = all == nullptr ? pairs : merge(all, pairs);
            pairs = next;
        }
        return all;
    }

    timer_node *root_ = nullptr;
};

} // namespace coro::detail
