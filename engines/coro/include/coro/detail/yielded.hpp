// SPDX-License-Identifier: Apache-2.0
// What a generator has yielded, until it is resumed.
#pragma once

#include <memory>
#include <type_traits>

namespace coro::detail
{

// Small plain values are copied, which spares the reader a load; all else stays where it is and is pointed to.
template <class T> class yielded
{
  public:
    using reference = std::conditional_t<std::is_reference_v<T>, T, const T &>;

    [[gnu::always_inline]] void set(reference value) noexcept
    {
        if constexpr (copied)
            kept_ = value;
        else
            kept_ = std::addressof(value);
    }

    // pre: set.
    [[nodiscard, gnu::always_inline]] reference get() const noexcept
    {
        if constexpr (copied)
            return kept_;
        else
            return static_cast<reference>(*kept_);
    }

  private:
    static constexpr bool copied = std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T> &&
                                   !std::is_const_v<T> && sizeof(std::remove_reference_t<T>) <= 2 * sizeof(void *);

    std::conditional_t<copied, T, std::add_pointer_t<reference>> kept_;
};

} // namespace coro::detail
