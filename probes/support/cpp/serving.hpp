// SPDX-License-Identifier: Apache-2.0
// serving.hpp - what the models of serve/ that are coroutines of engines/coro share.
#pragma once

#include "serve.h"

#include <coro/io.hpp>
#include <coro/loop.hpp>
#include <coro/mutex.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <unistd.h>

// A connection's buffers; closes it in the end.
class served {
public:
    explicit served(int socket) noexcept : socket_(socket)
    {
    }
    served(const served &) = delete;
    served &operator=(const served &) = delete;
    ~served()
    {
        ::close(socket_);
    }

    int socket() const noexcept
    {
        return socket_;
    }

    // The first request that has come whole: its size, 0, or -1 if it is none.
    long parse(request &into) const
    {
        return serve_parse(data_.data(), have_, &into);
    }

    void forget(const request &answered)
    {
        data_.erase(data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(answered.size));
        have_ -= answered.size;
    }

    // Where further bytes go.
    std::span<std::byte> room()
    {
        data_.resize(have_ + 2048);
        return std::as_writable_bytes(std::span(data_)).subspan(have_);
    }
    void came(int bytes) noexcept
    {
        have_ += static_cast<std::size_t>(bytes);
    }

    std::span<const std::byte> answer(const request &asked, std::uint32_t steps, std::uint32_t state)
    {
        answer_.resize(SERVE_ANSWER_HEAD + asked.answer);
        return std::as_bytes(std::span(answer_)).first(serve_answer(answer_.data(), &asked, steps, state));
    }

private:
    int socket_;
    std::size_t have_ = 0;
    std::vector<char> data_, answer_;
};

inline std::span<const std::byte> refusal()
{
    return std::as_bytes(std::span(serve_refusal, std::char_traits<char>::length(serve_refusal)));
}

inline coro::mutex the_lock;

// A connection on which nothing comes is an operation of its own: there are as many as connections.
inline constexpr coro::reactor_options for_connections{.io_depth = 12000};
