// SPDX-License-Identifier: Apache-2.0
// As much JSON as requests and answers need: objects keep the order of their fields, whole numbers stay whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace schedsim::json
{

class Value;
using Array = std::vector<Value>;
using Object = std::vector<std::pair<std::string, Value>>;

class Value : public std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>
{
  public:
    using variant::variant;
    Value(const char *text) : variant(std::string(text))
    {
    }
    Value(std::uint64_t number) : variant(static_cast<std::int64_t>(number))
    {
    }
    Value(std::uint32_t number) : variant(static_cast<std::int64_t>(number))
    {
    }
    Value(int number) : variant(static_cast<std::int64_t>(number))
    {
    }
};

// Throws std::invalid_argument that says what is wrong and at which byte. Refuses two fields of one name.
Value parse(std::string_view text);
// On one line; doubles with as many digits as bring back the same number.
std::string write(const Value &value);

} // namespace schedsim::json
