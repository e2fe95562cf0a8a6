// LLVM's APFloat as an oracle: reads jobs as lines, writes codes of 16 bits, little-endian.
//
//   convert FORMAT ROUNDING 32|64 INPUT OUTPUT   words of binary32 or binary64 -> codes
//   pairs OPERATION FORMAT ROUNDING OUTPUT       all pairs of codes, the first operand's code outermost
//   triples FORMAT ROUNDING STEP OUTPUT          x · y + z for every STEP-th z
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

using llvm::APFloat;
using llvm::APInt;

static const std::map<std::string, const llvm::fltSemantics *> formats = {
    {"e5m2", &APFloat::Float8E5M2()},           {"e5m2fnuz", &APFloat::Float8E5M2FNUZ()},
    {"e4m3", &APFloat::Float8E4M3()},           {"e4m3fn", &APFloat::Float8E4M3FN()},
    {"e4m3fnuz", &APFloat::Float8E4M3FNUZ()},   {"e4m3b11fnuz", &APFloat::Float8E4M3B11FNUZ()},
    {"e3m4", &APFloat::Float8E3M4()},           {"e8m0fnu", &APFloat::Float8E8M0FNU()},
    {"e3m2fn", &APFloat::Float6E3M2FN()},       {"e2m3fn", &APFloat::Float6E2M3FN()},
    {"e2m1fn", &APFloat::Float4E2M1FN()},       {"binary16", &APFloat::IEEEhalf()},
    {"bfloat16", &APFloat::BFloat()},
};

static const std::map<std::string, APFloat::roundingMode> roundings = {
    {"nearest-even", APFloat::rmNearestTiesToEven}, {"nearest-away", APFloat::rmNearestTiesToAway},
    {"toward-zero", APFloat::rmTowardZero},         {"toward-positive", APFloat::rmTowardPositive},
    {"toward-negative", APFloat::rmTowardNegative},
};

static uint16_t code(const APFloat &x) { return static_cast<uint16_t>(x.bitcastToAPInt().getZExtValue()); }

template <typename Word>
static std::vector<uint16_t> convert(const llvm::fltSemantics &to, APFloat::roundingMode rounding, const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    const auto &from = sizeof(Word) == 4 ? APFloat::IEEEsingle() : APFloat::IEEEdouble();
    std::vector<uint16_t> out;
    Word word;
    while (in.read(reinterpret_cast<char *>(&word), sizeof word)) {
        APFloat x(from, APInt(8 * sizeof(Word), word));
        bool loses;
        x.convert(to, rounding, &loses);
        out.push_back(code(x));
    }
    return out;
}

static std::vector<APFloat> codes(const llvm::fltSemantics &format) {
    const unsigned width = APFloat::getSizeInBits(format);
    std::vector<APFloat> list;
    for (uint64_t i = 0; i < (uint64_t{1} << width); i++) list.emplace_back(format, APInt(width, i));
    return list;
}

static void apply(const std::string &operation, APFloat &x, const APFloat &y, APFloat::roundingMode rounding) {
    if (operation == "add") x.add(y, rounding);
    else if (operation == "subtract") x.subtract(y, rounding);
    else if (operation == "multiply") x.multiply(y, rounding);
    else if (operation == "divide") x.divide(y, rounding);
    else throw std::runtime_error("operation " + operation);
}

int main() {
    std::string job;
    while (std::cin >> job) {
        std::string format, rounding, operation, input, output;
        unsigned number = 0;
        std::vector<uint16_t> out;
        if (job == "convert") {
            std::cin >> format >> rounding >> number >> input >> output;
            const auto &to = *formats.at(format);
            out = number == 32 ? convert<uint32_t>(to, roundings.at(rounding), input)
                               : convert<uint64_t>(to, roundings.at(rounding), input);
        } else if (job == "pairs") {
            std::cin >> operation >> format >> rounding >> output;
            const auto list = codes(*formats.at(format));
            for (const auto &x : list)
                for (const auto &y : list) {
                    APFloat result = x;
                    apply(operation, result, y, roundings.at(rounding));
                    out.push_back(code(result));
                }
        } else if (job == "triples") {
            std::cin >> format >> rounding >> number >> output;
            const auto list = codes(*formats.at(format));
            for (size_t z = 0; z < list.size(); z += number)
                for (const auto &x : list)
                    for (const auto &y : list) {
                        APFloat result = x;
                        result.fusedMultiplyAdd(y, list[z], roundings.at(rounding));
                        out.push_back(code(result));
                    }
        } else {
            std::cerr << "unknown job " << job << "\n";
            return 2;
        }
        std::ofstream file(output, std::ios::binary);
        file.write(reinterpret_cast<const char *>(out.data()), static_cast<std::streamsize>(2 * out.size()));
        if (!file) {
            std::cerr << "cannot write " << output << "\n";
            return 1;
        }
    }
    return 0;
}
