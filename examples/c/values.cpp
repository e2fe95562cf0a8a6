// A dot product in a small type, by C++ operators, beside one that is rounded once.
//
//     c++ -std=c++17 values.cpp $(pkg-config --cflags --libs smallfloat) && ./a.out
#include <iostream>
#include <vector>

#include <smallfloat.hpp>

int main() {
    using smallfloat::bf16;
    using smallfloat::e4m3fn;
    std::vector<e4m3fn> x, y;
    for (int i = 0; i < 16; i++) {
        x.emplace_back(0.1f * float(i));
        y.emplace_back(1.0f - 0.05f * float(i));
    }
    e4m3fn narrow;
    bf16 wide;
    double exact = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
        narrow += x[i] * y[i];
        wide += bf16(float(x[i])) * bf16(float(y[i]));
        exact += double(x[i]) * double(y[i]);
    }
    std::cout << "in e4m3fn " << float(narrow) << ", in bfloat16 " << float(wide) << ", exactly " << exact << '\n';
}
