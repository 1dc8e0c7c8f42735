// What every C++ contender is called through: arguments as 8-byte words, a loop of calls, a monotonic clock around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
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

inline double now() {
    static const char *clock = std::getenv("LEND_BENCH_CLOCK"); // as in timing.py
    timespec time;
    clock_gettime(clock && !std::strcmp(clock, "processor") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

template <class R, class... A, size_t... I>
double seconds(R (*function)(A...), const Word *words, int64_t calls, void *result, std::index_sequence<I...>) {
    R (*volatile through)(A...) = function; // the compiler must not look through the calls
    double start = now();
    for (int64_t call = 0; call < calls; call++) {
        if constexpr (std::is_void_v<R>)
            through(unpack<A>(words[I])...);
        else
            *static_cast<R *>(result) = through(unpack<A>(words[I])...);
    }
    return now() - start;
}

template <class R, class... A> double timed(R (*function)(A...), const Word *words, int64_t calls, void *result) {
    return seconds(function, words, calls, result, std::index_sequence_for<A...>());
}

#define BENCHMARK(name)                                                                                                          \
    extern "C" double bench_##name(const Word *words, int64_t calls, void *result) { return timed(name, words, calls, result); }
