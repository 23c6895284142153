// SPDX-License-Identifier: Apache-2.0
#include "schedsim/json.hpp"

#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace schedsim::json
{

constexpr int deepest = 32;

Value parse(std::string_view text)
{
    std::vector<std::set<std::string>> names;
    const auto check = [&names](int depth, Value::parse_event_t event, const Value &parsed) {
        if (depth > deepest)
            throw std::invalid_argument("no JSON: too deep");
        if (event == Value::parse_event_t::object_start)
            names.emplace_back();
        else if (event == Value::parse_event_t::object_end)
            names.pop_back();
        else if (event == Value::parse_event_t::key && !names.back().insert(parsed).second)
            throw std::invalid_argument("no JSON: a second field " + parsed.dump());
        return true;
    };
    try {
        return Value::parse(text, check);
    } catch (const Value::parse_error &error) {
        const std::string what = error.what();
        throw std::invalid_argument("no JSON at byte " + std::to_string(error.byte) + what.substr(what.find(": ")));
    } catch (const Value::out_of_range &) {
        throw std::invalid_argument("no JSON: a number out of range");
    }
}

const Value *find(const Value &object, std::string_view name)
{
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

std::optional<std::int64_t> whole(const Value *value)
{
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    if (value == nullptr || !value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > largest))
        return std::nullopt;
    return value->get<std::int64_t>();
}

std::int64_t whole_from(const Value *value, std::int64_t smallest, std::int64_t largest, const std::string &what)
{
    const std::optional<std::int64_t> number = whole(value);
    if (!number || *number < smallest || *number > largest)
        throw std::invalid_argument(what + " must be a whole number from " + std::to_string(smallest) + " to " +
                                    std::to_string(largest));
    return *number;
}

} // namespace schedsim::json
