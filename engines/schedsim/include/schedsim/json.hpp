// SPDX-License-Identifier: Apache-2.0
// JSON by nlohmann's library: objects keep the order of their fields, whole numbers stay whole.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace schedsim::json
{

using Value = nlohmann::ordered_json;

// Throws std::invalid_argument that says what is wrong and at which byte. Refuses two fields of one name.
Value parse(std::string_view text);
// The field of an object; nullptr if there is none.
const Value *find(const Value &object, std::string_view name);
// None for nullptr, for another kind of value, and for a number that 64 bits with a sign do not hold.
std::optional<std::int64_t> whole(const Value *value);
// Throws std::invalid_argument that calls the number `what` unless it is whole and from `smallest` to `largest`.
std::int64_t whole_from(const Value *value, std::int64_t smallest, std::int64_t largest, const std::string &what);

} // namespace schedsim::json
