// SPDX-License-Identifier: Apache-2.0
// What the kernel is asked for once and brings many times, where it can: connections, what a peer sends.
#pragma once

#include <coro/detail/provided_buffers.hpp>
#include <coro/lazy.hpp>
#include <coro/reactor.hpp>
#include <coro/semaphore.hpp>

#include <cstddef>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

namespace coro::detail
{

// What has come waits here for who fetches it. The kernel and the reactor hold pointers to this: it lives until they
// have let go.
template <class Result> class multishot : protected io_wait, reactor_request
{
  public:
    multishot(const multishot &) = delete;
    multishot &operator=(const multishot &) = delete;

    // Throws std::system_error, after which the next call asks anew, and cancelled. Several may wait at once.
    [[nodiscard]] lazy<Result> next()
    {
        const waiting here(*this); // until the result is taken
        co_await arrived_.acquire();
        co_return take();
    }

    // Whoever asked needs it no longer.
    struct abandon {
        void operator()(multishot *of) const
        {
            of->end();
        }
    };

  protected:
    struct arrival {
        int result;
        provided_buffer buffer; // none, or where the kernel has put it
    };

    // most: results that nobody fetches, after which the kernel is asked for no more. what: for the text of errors.
    multishot(int of, std::size_t most, const char *what) : most_(most), what_(what)
    {
        fd = of;
        complete = [](io_wait &done) { static_cast<multishot &>(done).on_completion(); };
        run = [](reactor_request &self, reactor &here) { static_cast<multishot &>(self).on_request(here); };
    }
    virtual ~multishot() = default;

    // Under the lock: says what the kernel is asked for next.
    virtual void prepare(reactor &) = 0;
    // Under the lock. False: the result is for nobody, and the kernel is to be asked again.
    virtual bool keeps(int result) = 0;
    virtual Result fetched(arrival &&) = 0;
    // Under the lock, while the kernel is asked and nothing is here: whether it must be asked once more to tell the rest.
    virtual bool stalls()
    {
        return false;
    }
    // Nobody will fetch it.
    virtual void discard(const arrival &)
    {
    }

  private:
    // Somebody waits: the kernel has been asked, and is asked again as long as that brings fewer than wait.
    class waiting
    {
      public:
        explicit waiting(multishot &of) : of_(of)
        {
            const std::lock_guard hold(of_.lock_);
            if (!of_.started_ && of_.waiters_ >= of_.results_.size()) {
                of_.at_ = &reactor::current();
                of_.start();
            } else if (of_.started_ && !of_.requested_ && of_.results_.empty() && of_.stalls()) {
                of_.requested_ = true;
                of_.holders_++;
                of_.at_->request(of_);
            }
            of_.waiters_++;
        }
        waiting(const waiting &) = delete;
        waiting &operator=(const waiting &) = delete;
        ~waiting()
        {
            const std::lock_guard hold(of_.lock_);
            of_.waiters_--;
        }

      private:
        multishot &of_;
    };

    Result take()
    {
        std::unique_lock hold(lock_);
        arrival got = std::move(results_.front());
        results_.pop_front();
        hold.unlock();
        if (got.result < 0)
            throw std::system_error(-got.result, std::generic_category(), what_);
        return fetched(std::move(got));
    }

    void end()
    {
        bool cancels = false, last = false;
        {
            const std::lock_guard hold(lock_);
            for (const arrival &each : results_)
                discard(each);
            results_.clear();
            abandoned_ = true;
            cancels = started_ && !requested_;
            requested_ = requested_ || cancels;
            holders_ += cancels ? 1 : 0;
            last = holders_ == 0;
            if (!last)
                at_->abandon();
        }
        if (cancels)
            at_->request(*this);
        else if (last)
            delete this;
    }

    // Under the lock, on the reactor's thread.
    void start()
    {
        prepare(*at_);
        at_->start(*this);
        started_ = true;
        ending_ = false;
        holders_++;
    }

    void on_completion()
    {
        bool heard = false;
        {
            const std::lock_guard hold(lock_);
            arrival now{result, {}};
            if (provided != nullptr)
                now.buffer = provided_buffer(std::exchange(provided, nullptr), give_back{at_->provided()});
            started_ = goes_on;
            holders_ += goes_on ? 1 : 0; // this call; at the last completion it has the operation's
            if (abandoned_) {
                discard(now);
            } else {
                heard = keeps(now.result);
                if (heard)
                    results_.push_back(std::move(now));
                if (!started_ && waiters_ > results_.size())
                    start();
                else if (goes_on && !ending_ && results_.size() >= most_) {
                    ending_ = true;
                    at_->cancel(*this);
                }
            }
        }
        if (heard)
            arrived_.release();
        let_go();
    }

    // Ends what is under way. Who waits nevertheless has the kernel asked again.
    void on_request(reactor &here)
    {
        bool cancels = false;
        {
            const std::lock_guard hold(lock_);
            if (started_ && at_ != &here)
                return at_->request(*this); // that has ended, and another thread has asked since
            requested_ = false;
            cancels = started_;
        }
        if (cancels)
            here.cancel(*this);
        let_go();
    }

    void let_go()
    {
        {
            const std::lock_guard hold(lock_);
            if (--holders_ != 0 || !abandoned_)
                return;
        }
        reactor &was = *at_;
        delete this;
        was.forget_abandoned();
    }

    semaphore arrived_{0}; // as many as there are results that nobody is about to take
    std::mutex lock_;
    std::deque<arrival> results_;
    std::size_t most_;
    const char *what_;
    reactor *at_ = nullptr;
    std::size_t waiters_ = 0; // with those that have been given a result and have not taken it
    int holders_ = 0;         // an operation that is under way, a request, a completion that is being told
    bool started_ = false, ending_ = false, requested_ = false, abandoned_ = false;
};

} // namespace coro::detail
