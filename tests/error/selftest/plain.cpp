// expects: an int must have five bytes, said "five"
// lines: g++ 4, clang 7, nvcc 7
static_assert(sizeof(int) == 5, "an int must have five bytes, said \"five\"");
