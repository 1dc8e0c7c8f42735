// What every C++ contender is called through: arguments as 8-byte words, a loop of calls, a monotonic clock around it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

union Word {
    void *pointer;
    double real;
    int64_t integer;
};

template <class T> T unpack(Word word) {
    if constexpr (std::is_pointer_v<T>)
        return static_cast<T>(word.pointer);
    else if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(word.real);
    else
        return static_cast<T>(word.integer);
}

template <class R, class... A, size_t... I>
double seconds(R (*function)(A...), const Word *words, int64_t calls, void *result, std::index_sequence<I...>) {
    R (*volatile through)(A...) = function; // the compiler must not look through the calls
    auto start = std::chrono::steady_clock::now();
    for (int64_t call = 0; call < calls; call++) {
        if constexpr (std::is_void_v<R>)
            through(unpack<A>(words[I])...);
        else
            *static_cast<R *>(result) = through(unpack<A>(words[I])...);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class R, class... A> double timed(R (*function)(A...), const Word *words, int64_t calls, void *result) {
    return seconds(function, words, calls, result, std::index_sequence_for<A...>());
}

#define BENCHMARK(name)                                                                                                          \
    extern "C" double bench_##name(const Word *words, int64_t calls, void *result) { return timed(name, words, calls, result); }
