// SPDX-License-Identifier: Apache-2.0
// What is to happen when: the earliest event first, and of one moment the one that was asked for first.
//
// Most events come soon after they were asked for, while hundreds of others come much later (tasks that sleep for a
// minute). So the few earliest ones stand in order, where the next request is put in at the end, and all others in a
// heap, which is touched only when they come near.
#pragma once

#include <algorithm>
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
        return soon_.empty();
    }

    const Event &first() const
    {
        return soon_.back();
    }

    void push(Nanoseconds moment, TaskId task, std::uint32_t token)
    {
        const Event event = {moment, order_++, task, token};
        if (!later_.empty() && event > later_.front()) {
            push_later(event);
            return;
        }
        auto place = soon_.end();
        while (place != soon_.begin() && event > place[-1])
            --place;
        soon_.insert(place, event);
        if (soon_.size() > most_soon) {
            push_later(soon_.front());
            soon_.erase(soon_.begin());
        }
    }

    Event take()
    {
        const Event event = soon_.back();
        soon_.pop_back();
        if (soon_.empty() && !later_.empty()) {
            std::pop_heap(later_.begin(), later_.end(), std::greater<>());
            soon_.push_back(later_.back());
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

    // No event of `soon_` comes after one of `later_`, and `soon_` is empty only if both are.
    std::vector<Event> soon_;  // the earliest at the end
    std::vector<Event> later_; // a heap, the earliest first
    std::uint64_t order_ = 0;
};

} // namespace schedsim
