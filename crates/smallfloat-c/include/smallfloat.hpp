// smallfloat for C++17: values with operators, and handles that free themselves. Errors are exceptions.
//
//     using smallfloat::e4m3fn;
//     e4m3fn x(1.1f);
//     float y = float(x * x + e4m3fn(1.0f));
//
//     smallfloat::operation fma("FMA<e4m3fn, e4m3fn, binary32, binary32>");
//     auto [code, flags] = fma(0x38, 0x40, 0x3f800000);
#ifndef SMALLFLOAT_HPP
#define SMALLFLOAT_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>

#include "smallfloat.h"

namespace smallfloat {

/// What the library refuses.
class error : public std::runtime_error {
public:
    explicit error(const sf_error &e) : std::runtime_error(e.text), status(e.status) {}
    explicit error(sf_status s) : std::runtime_error(sf_status_text(static_cast<std::int32_t>(s))), status(s) {}

    const sf_status status;
};

namespace detail {

inline void check(sf_status status) {
    if (status != SF_STATUS_OK) throw error(status);
}

template <class T> T *checked(T *handle, const sf_error &e) {
    if (handle == nullptr) throw error(e);
    return handle;
}

template <class Write> std::string text(Write write) {
    std::string text(write(nullptr, 0), '\0');
    write(&text[0], text.size() + 1);
    return text;
}

struct free {
    void operator()(sf_format *handle) const { sf_format_free(handle); }
    void operator()(sf_projection *handle) const { sf_projection_free(handle); }
    void operator()(sf_operation *handle) const { sf_op_free(handle); }
    void operator()(sf_dot *handle) const { sf_dot_free(handle); }
    void operator()(sf_scaled_dot *handle) const { sf_scaled_dot_free(handle); }
};

}  // namespace detail

/// A result with its flags, a set of SF_INEXACT and its like.
struct result {
    std::uint64_t code;
    std::uint32_t flags;
};

/// A format by its name.
class format {
public:
    explicit format(const std::string &name) {
        sf_error e;
        handle_.reset(detail::checked(sf_format_new(name.c_str(), &e), e));
    }

    const sf_format *get() const { return handle_.get(); }

    std::string name() const {
        return detail::text([&](char *to, std::size_t size) { return sf_format_name(get(), to, size); });
    }

    std::string text(std::uint64_t code) const {
        return detail::text([&](char *to, std::size_t size) { return sf_format_text(get(), code, to, size); });
    }

    sf_format_info info() const {
        sf_format_info info;
        detail::check(sf_format_describe(get(), &info));
        return info;
    }

    double decode(std::uint64_t code) const {
        double value;
        detail::check(sf_format_decode(get(), code, &value));
        return value;
    }

    result encode(double value) const {
        result r;
        detail::check(sf_format_encode(get(), nullptr, value, &r.code, &r.flags));
        return r;
    }

private:
    std::unique_ptr<sf_format, detail::free> handle_;
};

/// A projection; empty words are the format's own.
class projection {
public:
    projection(const format &to, const std::string &preset, const std::string &rounding = "",
               const std::string &saturation = "") {
        auto given = [](const std::string &word) { return word.empty() ? nullptr : word.c_str(); };
        sf_error e;
        handle_.reset(detail::checked(
            sf_projection_new(to.get(), given(preset), given(rounding), given(saturation), &e), e));
    }

    const sf_projection *get() const { return handle_.get(); }

private:
    std::unique_ptr<sf_projection, detail::free> handle_;
};

/// An operation with its formats.
class operation {
public:
    /// By its text, as `Add<e5m2, e5m2, binary32>`, perhaps with rules for flags as `riscv`.
    explicit operation(const std::string &text, const char *flags = nullptr) {
        sf_error e;
        handle_.reset(detail::checked(sf_op_with(text.c_str(), nullptr, flags, &e), e));
    }

    operation(const std::string &text, const projection &how, const char *flags = nullptr) {
        sf_error e;
        handle_.reset(detail::checked(sf_op_with(text.c_str(), how.get(), flags, &e), e));
    }

    /// A conversion.
    operation(const format &from, const format &to, const projection *how = nullptr,
              const char *flags = nullptr) {
        sf_error e;
        const sf_projection *projection = how == nullptr ? nullptr : how->get();
        handle_.reset(detail::checked(sf_op_convert(from.get(), to.get(), projection, flags, &e), e));
    }

    const sf_operation *get() const { return handle_.get(); }

    std::string text() const {
        return detail::text([&](char *to, std::size_t size) { return sf_op_text(get(), to, size); });
    }

    /// One call: operands, and last the random word of a stochastic rounding.
    template <class... Codes> result operator()(Codes... codes) const {
        static_assert(sizeof...(Codes) >= 1 && sizeof...(Codes) <= 4, "one to four operands");
        return call(static_cast<std::uint64_t>(codes)...);
    }

    /// Arrays, as sf_batch has it: unused operands and what is not wanted are nullptr.
    void batch(std::size_t length, const void *x, const void *y, const void *z, void *results,
               std::uint8_t *flags = nullptr, const sf_random *random = nullptr) const {
        detail::check(sf_batch(get(), length, x, y, z, results, flags, random));
    }

    /// What is wrong with a result, in words; empty if nothing is.
    std::string explain(std::initializer_list<std::uint64_t> operands, result given, std::uint32_t mask) const {
        return detail::text([&](char *to, std::size_t size) {
            return sf_explain(get(), operands.begin(), operands.size(), given.code, given.flags, mask, to, size);
        });
    }

private:
    result call(std::uint64_t x) const {
        result r;
        detail::check(sf_call1(get(), x, &r.code, &r.flags));
        return r;
    }
    result call(std::uint64_t x, std::uint64_t y) const {
        result r;
        detail::check(sf_call2(get(), x, y, &r.code, &r.flags));
        return r;
    }
    result call(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
        result r;
        detail::check(sf_call3(get(), x, y, z, &r.code, &r.flags));
        return r;
    }
    result call(std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t word) const {
        result r;
        detail::check(sf_call4(get(), x, y, z, word, &r.code, &r.flags));
        return r;
    }

    std::unique_ptr<sf_operation, detail::free> handle_;
};

/// Products of matrices whose sums accumulate as `f32`, `exact`, `hopper`, …
class dot {
public:
    dot(const format &x, const format &y, const std::string &accumulate) {
        sf_error e;
        handle_.reset(detail::checked(sf_dot_new(x.get(), y.get(), accumulate.c_str(), &e), e));
    }

    const sf_dot *get() const { return handle_.get(); }

    /// The rows of `a` times those of `b`, as sf_dot_matmul has it.
    void matmul(std::size_t rows, std::size_t columns, std::size_t depth, const void *a, const void *b,
                float *results) const {
        detail::check(sf_dot_matmul(get(), rows, columns, depth, a, b, results));
    }

private:
    std::unique_ptr<sf_dot, detail::free> handle_;
};

/// Products of matrices in blocks with scales, as `blackwell` or `rtx-blackwell` computes them.
class scaled_dot {
public:
    scaled_dot(const format &x, const format &y, const format &scale, std::size_t block, const std::string &unit) {
        sf_error e;
        handle_.reset(detail::checked(
            sf_scaled_dot_new(x.get(), y.get(), scale.get(), block, unit.c_str(), &e), e));
    }

    const sf_scaled_dot *get() const { return handle_.get(); }

    /// The rows of `a` times those of `b`, as sf_scaled_dot_matmul has it.
    void matmul(std::size_t rows, std::size_t columns, std::size_t depth, const std::uint8_t *a,
                const std::uint8_t *b, const std::uint8_t *a_scales, const std::uint8_t *b_scales,
                float *results) const {
        detail::check(sf_scaled_dot_matmul(get(), rows, columns, depth, a, b, a_scales, b_scales, results));
    }

private:
    std::unique_ptr<sf_scaled_dot, detail::free> handle_;
};

/// A number of a fixed format: a code, with operators that round once.
template <class F> class value {
public:
    using code_type = typename F::code_type;

    constexpr value() = default;
    explicit value(float x) : code_(F::from_f32(x)) {}
    explicit value(double x) : code_(F::from_f64(x)) {}
    explicit value(int x) : value(static_cast<double>(x)) {}

    static constexpr value from_bits(code_type code) {
        value x;
        x.code_ = code;
        return x;
    }

    constexpr code_type bits() const { return code_; }
    explicit operator float() const { return F::to_f32(code_); }
    explicit operator double() const { return F::to_f64(code_); }
    bool is_nan() const { return F::is_nan(code_); }

    value &operator+=(value y) { return *this = *this + y; }
    value &operator-=(value y) { return *this = *this - y; }
    value &operator*=(value y) { return *this = *this * y; }
    value &operator/=(value y) { return *this = *this / y; }

    friend value operator+(value x, value y) { return from_bits(F::add(x.code_, y.code_)); }
    friend value operator-(value x, value y) { return from_bits(F::sub(x.code_, y.code_)); }
    friend value operator*(value x, value y) { return from_bits(F::mul(x.code_, y.code_)); }
    friend value operator/(value x, value y) { return from_bits(F::div(x.code_, y.code_)); }
    friend value operator-(value x) { return from_bits(F::neg(x.code_)); }
    friend value operator+(value x) { return x; }

    friend value fma(value x, value y, value z) { return from_bits(F::fma(x.code_, y.code_, z.code_)); }
    friend value sqrt(value x) { return from_bits(F::sqrt(x.code_)); }
    friend value abs(value x) { return from_bits(F::abs(x.code_)); }
    friend value remainder(value x, value y) { return from_bits(F::rem(x.code_, y.code_)); }
    friend value min(value x, value y) { return from_bits(F::min(x.code_, y.code_)); }
    friend value max(value x, value y) { return from_bits(F::max(x.code_, y.code_)); }

    friend bool operator==(value x, value y) { return F::eq(x.code_, y.code_); }
    friend bool operator!=(value x, value y) { return !(x == y); }
    friend bool operator<(value x, value y) { return F::lt(x.code_, y.code_); }
    friend bool operator<=(value x, value y) { return F::le(x.code_, y.code_); }
    friend bool operator>(value x, value y) { return y < x; }
    friend bool operator>=(value x, value y) { return y <= x; }

private:
    code_type code_ = 0;
};

#define SF_TRAITS_(name, code, BIAS) \
    struct name##_traits { \
        using code_type = code; \
        static code add(code x, code y) { return sf_##name##_add(x, y BIAS); } \
        static code sub(code x, code y) { return sf_##name##_sub(x, y BIAS); } \
        static code mul(code x, code y) { return sf_##name##_mul(x, y BIAS); } \
        static code div(code x, code y) { return sf_##name##_div(x, y BIAS); } \
        static code rem(code x, code y) { return sf_##name##_rem(x, y BIAS); } \
        static code min(code x, code y) { return sf_##name##_min(x, y BIAS); } \
        static code max(code x, code y) { return sf_##name##_max(x, y BIAS); } \
        static code fma(code x, code y, code z) { return sf_##name##_fma(x, y, z BIAS); } \
        static code sqrt(code x) { return sf_##name##_sqrt(x BIAS); } \
        static code neg(code x) { return sf_##name##_neg(x BIAS); } \
        static code abs(code x) { return sf_##name##_abs(x BIAS); } \
        static code from_f32(float x) { return sf_f32_to_##name(x BIAS); } \
        static code from_f64(double x) { return sf_f64_to_##name(x BIAS); } \
        static float to_f32(code x) { return sf_##name##_to_f32(x BIAS); } \
        static double to_f64(code x) { return sf_##name##_to_f64(x BIAS); } \
        static bool eq(code x, code y) { return sf_##name##_eq(x, y BIAS); } \
        static bool lt(code x, code y) { return sf_##name##_lt(x, y BIAS); } \
        static bool le(code x, code y) { return sf_##name##_le(x, y BIAS); } \
        static bool is_nan(code x) { return sf_##name##_is_nan(x BIAS); } \
    };
#define SF_NOTHING_
#define SF_BIAS_ , Bias
#define SF_PLAIN_(name, code) \
    SF_TRAITS_(name, code, SF_NOTHING_) \
    using name = value<name##_traits>;
// Tesla's formats, the bias in the type.
#define SF_BIASED_(name, code) \
    template <std::uint32_t Bias> SF_TRAITS_(name, code, SF_BIAS_) \
    template <std::uint32_t Bias> using name = value<name##_traits<Bias>>;

SF_FIXED_FORMATS(SF_PLAIN_)
SF_BIASED_FORMATS(SF_BIASED_)

#undef SF_TRAITS_
#undef SF_NOTHING_
#undef SF_BIAS_
#undef SF_PLAIN_
#undef SF_BIASED_

}  // namespace smallfloat

#endif  // SMALLFLOAT_HPP
