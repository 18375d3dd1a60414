// The cure of plain.cpp.
static_assert(sizeof(int) == 4, "an int must have four bytes");
