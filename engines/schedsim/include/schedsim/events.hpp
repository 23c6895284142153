// SPDX-License-Identifier: Apache-2.0
// What is to happen when: the earliest event first, and of one moment the one that was asked for first.
//
// Most events come soon after they were asked for, while hundreds of others come much later (tasks that sleep for a
// minute). So the few earliest ones stand in order, where the next request is put in at the end, and all others in a
// heap, which is touched only when they come near.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "schedsim/policy.hpp"
#include "schedsim/time.hpp"

namespace schedsim
{

struct Event {
    Nanoseconds moment;
    std::uint64_t order; // in which the events were asked for
    TaskId task;         // that wakes, or no_task for a call of the load
    std::uint32_t token;
    bool operator>(const Event &other) const
    {
        return moment != other.moment ? moment > other.moment : order > other.order;
    }
};

class Events
{
  public:
    bool empty() const
    {
        return last_ == 0;
    }

    // One that never comes, if there is none.
    const Event &first() const
    {
        return soon_[last_];
    }

    void push(Nanoseconds moment, TaskId task, std::uint32_t token)
    {
        const Event event = {moment, order_++, task, token};
        if (!later_.empty() && event > later_.front()) {
            push_later(event);
            return;
        }
        std::size_t place = ++last_;
        for (; event > soon_[place - 1]; place--)
            soon_[place] = soon_[place - 1];
        soon_[place] = event;
        if (last_ > most_soon) {
            push_later(soon_[1]);
            std::copy(soon_.begin() + 2, soon_.end(), soon_.begin() + 1);
            last_--;
        }
    }

    Event take()
    {
        const Event event = soon_[last_--];
        if (last_ == 0 && !later_.empty()) {
            std::pop_heap(later_.begin(), later_.end(), std::greater<>());
            soon_[++last_] = later_.back();
            later_.pop_back();
        }
        return event;
    }

  private:
    static constexpr std::size_t most_soon = 32; // to be searched one after the other

    void push_later(const Event &event)
    {
        later_.push_back(event);
        std::push_heap(later_.begin(), later_.end(), std::greater<>());
    }

    // No event of `soon_` comes after one of `later_`, and `soon_` has none only if both have none. The earliest is the
    // last; before all of them stands one that never comes, and behind them is room for one more.
    std::array<Event, most_soon + 2> soon_{{{never, ~std::uint64_t{0}, no_task, 0}}};
    std::size_t last_ = 0;
    std::vector<Event> later_; // a heap, the earliest first
    std::uint64_t order_ = 0;
};

} // namespace schedsim
