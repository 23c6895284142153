// SPDX-License-Identifier: Apache-2.0
// What the programs share: how a request is read, and how times and classes are said in an answer.
#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedsim/json.hpp"
#include "schedsim/loads.hpp"
#include "schedsim/simulation.hpp"

namespace schedsim
{

using json::Value;

// The fields of an object, taken one after the other; a field that nothing took is a mistake in the request.
class Fields
{
  public:
    explicit Fields(const Value &value, std::string where = "")
        : object_(value), where_(std::move(where))
    {
        if (!object_.is_object())
            throw std::invalid_argument((where_.empty() ? "a request" : where_) + " must be an object");
    }

    const Value *find(const char *name)
    {
        taken_.insert(name);
        return json::find(object_, name);
    }

    std::int64_t whole(const char *name, std::int64_t fallback, std::int64_t smallest, std::int64_t largest)
    {
        const Value *value = find(name);
        const std::optional<std::int64_t> number = value == nullptr ? fallback : json::whole(value);
        if (!number || *number < smallest || *number > largest)
            throw std::invalid_argument(path(name) + " must be a whole number from " + std::to_string(smallest) +
                                        " to " + std::to_string(largest));
        return *number;
    }

    double real(const char *name, double fallback, double smallest, double largest)
    {
        const Value *value = find(name);
        if (value != nullptr && !value->is_number())
            throw std::invalid_argument(path(name) + " must be a number");
        const double number = value == nullptr ? fallback : value->get<double>();
        if (!(number >= smallest && number <= largest))
            throw std::invalid_argument(path(name) + " must be from " + std::to_string(smallest) + " to " +
                                        std::to_string(largest));
        return number;
    }

    bool yes(const char *name, bool fallback)
    {
        const Value *value = find(name);
        if (value != nullptr && !value->is_boolean())
            throw std::invalid_argument(path(name) + " must be true or false");
        return value == nullptr ? fallback : value->get<bool>();
    }

    std::string text(const char *name)
    {
        const Value *value = find(name);
        if (value == nullptr || !value->is_string())
            throw std::invalid_argument(path(name) + " is missing, or is no text");
        return value->get<std::string>();
    }

    const PolicyKind &policy()
    {
        const std::string name = text("policy");
        const PolicyKind *kind = find_policy(name.c_str());
        if (kind == nullptr) {
            std::string names;
            for (const PolicyKind *known : policies())
                names += std::string(names.empty() ? "" : ", ") + known->name;
            throw std::invalid_argument("there is no policy \"" + name + "\": take one of " + names);
        }
        return *kind;
    }

    Costs costs()
    {
        const Value *value = find("costs");
        if (value == nullptr)
            return {};
        Fields fields(*value, "costs");
        const auto cost = [&fields](const char *name) { return fields.whole(name, 0, 0, second); };
        const Costs costs = {cost("entry_ns"), cost("search_ns"), cost("recalculation_ns"), cost("change_ns")};
        fields.none_left();
        return costs;
    }

    void none_left() const
    {
        for (const auto &[name, value] : object_.items())
            if (!taken_.contains(name))
                throw std::invalid_argument("there is no field \"" + path(name) + "\"");
    }

  private:
    std::string path(const std::string &name) const
    {
        return where_.empty() ? name : where_ + "." + name;
    }

    const Value &object_;
    std::string where_;
    std::set<std::string> taken_;
};

// A distribution: {"constant": ns}, {"uniform": [ns, ns]}, {"exponential": ns} or {"mixture": [share, ns, ns]}.
inline Times times_of(Fields &fields, const char *name)
{
    const Value *value = fields.find(name);
    const auto mistake = [name](const char *what) { return std::invalid_argument(std::string(name) + what); };
    if (value == nullptr || !value->is_object() || value->size() != 1)
        throw mistake(" must be an object with one of constant, uniform, exponential and mixture");
    const std::string shape = value->begin().key();
    const Value &given = value->begin().value();
    const auto time = [&](const Value &one, Nanoseconds least) {
        return json::whole_from(&one, least, 1000 * hour, std::string(name) + "." + shape);
    };
    if (shape == "constant")
        return {Times::Shape::constant, time(given, 0), 0, 0};
    if (shape == "exponential")
        return {Times::Shape::exponential, time(given, 1), 0, 0};
    if (shape == "uniform" && given.is_array() && given.size() == 2) {
        const Nanoseconds least = time(given[0], 0);
        return {Times::Shape::uniform, least, time(given[1], least), 0};
    }
    if (shape == "mixture" && given.is_array() && given.size() == 3 && given[0].is_number()) {
        const double share = given[0].get<double>();
        if (!(share >= 0 && share <= 1))
            throw mistake(".mixture begins with a share from 0 to 1");
        return {Times::Shape::mixture, time(given[1], 1), time(given[2], 1), share};
    }
    throw mistake(" must be an object with one of constant, uniform, exponential and mixture");
}

inline Mix::Class class_of(Fields &fields)
{
    Mix::Class found;
    found.name = fields.text("name");
    found.count = static_cast<std::uint32_t>(fields.whole("count", 1, 1, 65536));
    found.nice = static_cast<int>(fields.whole("nice", 0, -20, 19));
    if (fields.find("policy") != nullptr)
        found.policy = fields.text("policy");
    if (fields.find("weight") != nullptr)
        found.weight = static_cast<int>(fields.whole("weight", 0, 1, 10'000));
    if (fields.find("autogroup") != nullptr)
        found.autogroup = static_cast<int>(fields.whole("autogroup", 0, -20, 19));
    const std::string then = fields.text("then");
    if (then == "forever") {
        found.then = Mix::Then::forever;
    } else if (then == "yield") {
        found.then = Mix::Then::yield;
    } else if (then == "pause" || then == "request") {
        found.then = then == "pause" ? Mix::Then::pause : Mix::Then::request;
        found.pause = times_of(fields, "pause");
    } else {
        throw std::invalid_argument("then must be pause, yield, forever or request, not \"" + then + "\"");
    }
    if (found.then != Mix::Then::forever)
        found.run = times_of(fields, "run");
    fields.none_left();
    const bool endless = found.then == Mix::Then::request
                             ? found.pause.nothing()
                             : found.then == Mix::Then::pause && found.run.nothing() && found.pause.nothing();
    if (endless)
        throw std::invalid_argument("the class " + found.name + " takes no time at all");
    return found;
}

inline Mix::Settings mix_of(Fields &fields)
{
    Mix::Settings mix;
    mix.seed = static_cast<std::uint64_t>(fields.whole("seed", 1, 0, never));
    const Value *listed = fields.find("tasks");
    if (listed == nullptr || !listed->is_array() || listed->empty())
        throw std::invalid_argument("tasks must be a list of classes");
    for (std::size_t i = 0; i < listed->size(); i++) {
        Fields one((*listed)[i], "tasks[" + std::to_string(i) + "]");
        mix.classes.push_back(class_of(one));
    }
    return mix;
}

inline std::vector<std::string> names_of(const Mix::Settings &mix)
{
    std::vector<std::string> names;
    for (const Mix::Class &one : mix.classes)
        names.push_back(one.name);
    return names;
}

// Jain's index of the share that each task had of the time in which it was runnable: 1 where all were served alike,
// 1 / n where one was and the others were not. Source: R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness,
// DEC-TR-301 (1984).
class Fairness
{
  public:
    void add(Nanoseconds used, Nanoseconds waited)
    {
        tasks_++;
        if (used + waited <= 0)
            return;
        const double share = static_cast<double>(used) / static_cast<double>(used + waited);
        sum_ += share;
        squares_ += share * share;
        served_++;
    }
    std::uint32_t tasks() const
    {
        return tasks_;
    }
    double index() const
    {
        return squares_ > 0 ? sum_ * sum_ / (served_ * squares_) : 1.0;
    }

  private:
    double sum_ = 0, squares_ = 0;
    std::uint32_t served_ = 0, tasks_ = 0;
};

inline Value as_object(const Histogram &times)
{
    return {{"count", times.count()},
            {"mean_ns", times.mean()},
            {"p50_ns", times.quantile(0.5)},
            {"p90_ns", times.quantile(0.9)},
            {"p99_ns", times.quantile(0.99)},
            {"p99_9_ns", times.quantile(0.999)},
            {"longest_ns", times.longest()}};
}

inline Value as_object(const std::string &name, const Fairness &fairness, Nanoseconds busy, const Histogram &wake_up,
                       const Histogram &response)
{
    return {{"name", name},
            {"tasks", fairness.tasks()},
            {"busy_ns", busy},
            {"fairness", fairness.index()},
            {"wake_up", as_object(wake_up)},
            {"response", as_object(response)}};
}

} // namespace schedsim
