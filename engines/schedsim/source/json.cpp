// SPDX-License-Identifier: Apache-2.0
#include "schedsim/json.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace schedsim::json
{
namespace
{

constexpr int deepest = 32;

class Parser
{
  public:
    explicit Parser(std::string_view text) : text_(text)
    {
    }

    Value whole()
    {
        Value value = any(0);
        space();
        if (at_ != text_.size())
            fail("nothing may follow the value");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string &what) const
    {
        throw std::invalid_argument("no JSON at byte " + std::to_string(at_ + 1) + ": " + what);
    }

    void space()
    {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
            at_++;
    }

    char peek()
    {
        space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool take(char wanted)
    {
        if (peek() != wanted || at_ == text_.size())
            return false;
        at_++;
        return true;
    }

    void need(char wanted)
    {
        if (!take(wanted))
            fail(std::string("expected ") + wanted);
    }

    bool word(std::string_view wanted)
    {
        if (text_.substr(at_, wanted.size()) != wanted)
            return false;
        at_ += wanted.size();
        return true;
    }

    Value any(int depth)
    {
        if (depth > deepest)
            fail("too deep");
        switch (peek()) {
        case '{': return object(depth);
        case '[': return array(depth);
        case '"': return string();
        case 't':
            if (word("true"))
                return true;
            break;
        case 'f':
            if (word("false"))
                return false;
            break;
        case 'n':
            if (word("null"))
                return nullptr;
            break;
        default: return number();
        }
        fail("expected a value");
    }

    Value object(int depth)
    {
        Object fields;
        need('{');
        if (take('}'))
            return fields;
        do {
            if (peek() != '"')
                fail("expected the name of a field");
            std::string name = string();
            for (const auto &[other, value] : fields)
                if (other == name)
                    fail("a second field \"" + name + "\"");
            need(':');
            fields.emplace_back(std::move(name), any(depth + 1));
        } while (take(','));
        need('}');
        return fields;
    }

    Value array(int depth)
    {
        Array values;
        need('[');
        if (take(']'))
            return values;
        do
            values.push_back(any(depth + 1));
        while (take(','));
        need(']');
        return values;
    }

    unsigned four_digits()
    {
        unsigned code = 0;
        const char *begin = text_.data() + at_, *end = begin + 4;
        if (text_.size() - at_ < 4 || std::from_chars(begin, end, code, 16).ptr != end)
            fail("expected four hexadecimal digits");
        at_ += 4;
        return code;
    }

    static void append(std::string &text, unsigned code)
    {
        const auto byte = [&text](unsigned bits) { text += static_cast<char>(bits); };
        if (code < 0x80) {
            byte(code);
        } else if (code < 0x800) {
            byte(0xc0 | code >> 6);
            byte(0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
            byte(0xe0 | code >> 12);
            byte(0x80 | (code >> 6 & 0x3f));
            byte(0x80 | (code & 0x3f));
        } else {
            byte(0xf0 | code >> 18);
            byte(0x80 | (code >> 12 & 0x3f));
            byte(0x80 | (code >> 6 & 0x3f));
            byte(0x80 | (code & 0x3f));
        }
    }

    void escape(std::string &text)
    {
        static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
        const char letter = at_ < text_.size() ? text_[at_++] : '\0';
        if (letter == 'u') {
            unsigned code = four_digits();
            if (code >= 0xd800 && code < 0xdc00 && word("\\u")) {
                const unsigned low = four_digits();
                if (low < 0xdc00 || low > 0xdfff)
                    fail("half of a surrogate pair");
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            } else if (code >= 0xd800 && code < 0xe000) {
                fail("half of a surrogate pair");
            }
            append(text, code);
        } else if (const std::size_t place = from.find(letter); place != std::string_view::npos && letter != '\0') {
            text += to[place];
        } else {
            fail("an escape that JSON does not know");
        }
    }

    std::string string()
    {
        std::string text;
        need('"');
        while (at_ < text_.size() && text_[at_] != '"') {
            const char letter = text_[at_++];
            if (static_cast<unsigned char>(letter) < 0x20)
                fail("a control character in a string");
            if (letter == '\\')
                escape(text);
            else
                text += letter;
        }
        if (at_++ >= text_.size())
            fail("the string does not end");
        return text;
    }

    // from_chars() takes "01", ".5", "1." and "inf", JSON does not.
    void check_number(std::string_view number) const
    {
        std::string_view left = number;
        const auto digits = [&left] {
            std::size_t count = 0;
            while (count < left.size() && left[count] >= '0' && left[count] <= '9')
                count++;
            left.remove_prefix(count);
            return count;
        };
        if (!left.empty() && left.front() == '-')
            left.remove_prefix(1);
        const bool zero = !left.empty() && left.front() == '0';
        const std::size_t before = digits();
        bool right = before == 1 || (before > 1 && !zero);
        if (right && !left.empty() && left.front() == '.') {
            left.remove_prefix(1);
            right = digits() > 0;
        }
        if (right && !left.empty() && (left.front() == 'e' || left.front() == 'E')) {
            left.remove_prefix(1);
            if (!left.empty() && (left.front() == '+' || left.front() == '-'))
                left.remove_prefix(1);
            right = digits() > 0;
        }
        if (!right || !left.empty())
            fail("expected a value");
    }

    Value number()
    {
        std::size_t length = 0;
        while (at_ + length < text_.size() &&
               std::string_view("+-.0123456789eE").find(text_[at_ + length]) != std::string_view::npos)
            length++;
        const std::string_view text = text_.substr(at_, length);
        check_number(text);
        const char *end = text.data() + text.size();
        std::int64_t whole = 0;
        if (const auto read = std::from_chars(text.data(), end, whole); read.ptr == end && read.ec == std::errc()) {
            at_ += length;
            return whole;
        }
        double real = 0;
        if (std::from_chars(text.data(), end, real).ec != std::errc())
            fail("a number out of range");
        at_ += length;
        return real;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

void write_string(std::string &out, const std::string &text)
{
    out += '"';
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            out += '\\';
            out += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            static constexpr char digits[] = "0123456789abcdef";
            out += "\\u00";
            out += digits[letter >> 4];
            out += digits[letter & 15];
        } else {
            out += letter;
        }
    }
    out += '"';
}

struct Writer {
    std::string &out;
    void operator()(std::nullptr_t) const
    {
        out += "null";
    }
    void operator()(bool value) const
    {
        out += value ? "true" : "false";
    }
    void operator()(std::int64_t value) const
    {
        out += std::to_string(value);
    }
    void operator()(double value) const
    {
        char digits[32];
        if (!std::isfinite(value)) {
            out += "null";
            return;
        }
        out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    void operator()(const std::string &value) const
    {
        write_string(out, value);
    }
    void operator()(const Array &values) const
    {
        const char *between = "";
        out += '[';
        for (const Value &value : values) {
            out += between;
            std::visit(*this, static_cast<const Value::variant &>(value));
            between = ",";
        }
        out += ']';
    }
    void operator()(const Object &fields) const
    {
        const char *between = "";
        out += '{';
        for (const auto &[name, value] : fields) {
            out += between;
            write_string(out, name);
            out += ':';
            std::visit(*this, static_cast<const Value::variant &>(value));
            between = ",";
        }
        out += '}';
    }
};

} // namespace

Value parse(std::string_view text)
{
    return Parser(text).whole();
}

std::string write(const Value &value)
{
    std::string out;
    std::visit(Writer{out}, static_cast<const Value::variant &>(value));
    return out;
}

} // namespace schedsim::json
