// Found before doctest's own header. Every test asks for doctest's main, which takes 4 s to compile: here it is
// compiled once, in main.cpp, and linked. A test compiled by hand, without this folder in its include path, still gets
// its own.
#pragma once
#undef DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
// No try block around each expression, which takes 5% less time to compile: what throws in a CHECK ends its test case.
#define DOCTEST_CONFIG_SUPER_FAST_ASSERTS
#include_next <doctest/doctest.h>
