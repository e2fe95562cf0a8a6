// The C++ types: operators beside handles, for all codes of every format of at most 8 bits.
#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "smallfloat.hpp"

// Twice in one program, as in two headers that use it.
#include "smallfloat.hpp"

namespace sf = smallfloat;

static std::atomic<std::size_t> pairs{0};

template <class T> static bool same(T given, const sf::result &right, T right_value) {
    return given.bits() == right.code || (given.is_nan() && right_value.is_nan());
}

// Every pair of codes; of formats of more than 8 bits a sample.
template <class T> static void operators(const std::string &name) {
    const unsigned width = sf::format(name).info().width, step = width > 8 ? (1u << (width - 8)) + 1 : 1;
    // By the draft's names operations among its external formats have its special cases; the types have IEEE 754's.
    const std::string all = "<" + name + (name == "f16" || name == "bf16" ? ", semantics=ieee>" : ">");
    const sf::operation add("Add" + all), subtract("Subtract" + all), multiply("Multiply" + all),
        divide("Divide" + all), multiply_add("FMA" + all), root("Sqrt" + all),
        less("CompareLess<" + name + ", " + name + ">");
    const sf::format format(name);
    using code = typename T::code_type;
    const std::uint64_t end = std::uint64_t(1) << width;
    auto check = [&](const char *what, T given, const sf::result &right, std::uint64_t x, std::uint64_t y) {
        CHECK(same(given, right, T::from_bits(code(right.code))), "%s %s of %" PRIx64 " and %" PRIx64 ": %x, right %" PRIx64,
              name.c_str(), what, x, y, unsigned(given.bits()), right.code);
    };
    for (std::uint64_t a = 0; a < end; a += step) {
        const T x = T::from_bits(code(a));
        check("sqrt", sqrt(x), root(a), a, a);
        const double value = format.decode(a);
        CHECK(x.is_nan() ? value != value : double(x) == value, "%s %" PRIx64, name.c_str(), a);
        if (!x.is_nan()) CHECK(T(value).bits() == format.encode(value).code, "%s %" PRIx64, name.c_str(), a);
        for (std::uint64_t b = 0; b < end; b += width > 8 ? 37 * step : 1) {
            const T y = T::from_bits(code(b));
            check("+", x + y, add(a, b), a, b);
            check("-", x - y, subtract(a, b), a, b);
            check("*", x * y, multiply(a, b), a, b);
            check("/", x / y, divide(a, b), a, b);
            T z = x;
            z += y;
            CHECK(z.bits() == (x + y).bits(), "%s +=", name.c_str());
            CHECK((x < y) == (less(a, b).code == 1) && (x > y) == (y < x), "%s <", name.c_str());
            if (b % 16 == 0) check("fma", fma(x, y, x), multiply_add(a, b, a), a, b);
            pairs++;
        }
    }
}

template <std::uint32_t Bias> static void tesla() {
    const std::string bias = ":bias=" + std::to_string(Bias);
    operators<sf::cfloat8_1_4_3<Bias>>("cfloat8_1_4_3" + bias);
    operators<sf::cfloat8_1_5_2<Bias>>("cfloat8_1_5_2" + bias);
    operators<sf::shp<Bias>>("shp" + bias);
}

static void handles() {
    sf::operation move_from("Add<e5m2>");
    sf::operation add = std::move(move_from);
    CHECK(add(0x3c, 0x3c).code == 0x40, "1 + 1");
    CHECK(add.text().find("Add<e5m2") == 0, "%s", add.text().c_str());
    CHECK(!add.explain({0x3c, 0x3c}, {0x41, 0}, 0).empty() && add.explain({0x3c, 0x3c}, {0x40, 0}, 0).empty(), "texts");
    const sf::format from("binary32"), to("e4m3fn");
    const sf::projection saturating(to, "ocp-saturate");
    const sf::operation convert(from, to, &saturating), wide("Add<e4m3fn, e4m3fn, binary32>", "arm");
    const float x[3] = {1.0f, 1e9f, -1e9f};
    std::uint8_t codes[3];
    convert.batch(3, x, nullptr, nullptr, codes);
    CHECK(codes[0] == 0x38 && codes[1] == 0x7e && codes[2] == 0xfe, "%x %x %x", codes[0], codes[1], codes[2]);
    CHECK(wide(0x38, 0x38).code == 0x40000000, "2 in binary32");
    CHECK(sf::format("uhp").text(0) == "0" && to.name() == "e4m3fn", "names");
    int caught = 0;
    try {
        sf::operation("Add<e4m3gn>");
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_NAME && std::strstr(e.what(), "e4m3fn") != nullptr;
    }
    try {
        add(1);
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_COUNT;
    }
    try {
        add(1, 256);
    } catch (const std::runtime_error &) {
        caught++;
    }
    CHECK(caught == 3, "%d", caught);
}

static void products() {
    const sf::format e4m3("e4m3fn"), e2m3("e2m3fn"), e2m1("e2m1fn"), e8m0("e8m0fnu");
    float results[2];
    // 448² + 1 − 448²: Hopper keeps 13 bits below 2^17, the exact sum all.
    const std::uint8_t a[3] = {0x7e, 0x38, 0x7e}, b[6] = {0x7e, 0x38, 0xfe, 0, 0x40, 0};
    sf::dot moved(e4m3, e4m3, "exact");
    const sf::dot exact = std::move(moved), hopper(e4m3, e4m3, "hopper");
    exact.matmul(1, 2, 3, a, b, results);
    CHECK(results[0] == 1 && results[1] == 2, "%g %g", double(results[0]), double(results[1]));
    hopper.matmul(1, 2, 3, a, b, results);
    CHECK(results[0] == 0 && results[1] == 2, "%g %g", double(results[0]), double(results[1]));
    // 7.5 · 6 in two blocks, under scales of 2 and 4, and of 1/2.
    std::uint8_t x[33] = {0}, y[33] = {0};
    x[0] = x[32] = 0x1f, y[0] = y[32] = 0x07;
    const std::uint8_t two[2] = {128, 129}, half[2] = {126, 126};
    const sf::scaled_dot blocks(e2m3, e2m1, e8m0, 32, "blackwell");
    blocks.matmul(1, 1, 33, x, y, two, half, results);
    CHECK(results[0] == 135 && blocks.get() != nullptr && exact.get() != nullptr, "%g", double(results[0]));
    int caught = 0;
    try {
        sf::dot(e4m3, e4m3, "hoper");
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_NAME && std::strstr(e.what(), "hopper") != nullptr;
    }
    try {
        sf::scaled_dot(e4m3, e4m3, e8m0, 16, "blackwell");
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_UNSUPPORTED;
    }
    try {
        exact.matmul(1, 1, 0, a, b, results);
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_COUNT;
    }
    try {
        blocks.matmul(1, 1, 33, x, y, two, nullptr, results);
    } catch (const sf::error &e) {
        caught += e.status == SF_STATUS_NULL;
    }
    CHECK(caught == 4, "%d", caught);
}

int main() {
    // All formats by their own names, 8 bits and less exhaustively.
#define OPERATORS(name, code) operators<sf::name>(#name);
    SF_FIXED_FORMATS(OPERATORS)
    tesla<0>();
    tesla<7>();
    tesla<63>();
    handles();
    products();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back([] { operators<sf::e2m3fn>("e2m3fn"); });
    for (auto &thread : threads) thread.join();
    std::printf("C++: %zu pairs, operators and handles agree\n", pairs.load());
}
