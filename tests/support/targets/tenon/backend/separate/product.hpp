// What the object of its own has: plain C functions with run-time sizes. No type of Tenon is among their arguments, as
// its names hold the flags of the program.
#pragma once

extern "C" {

/// z [rows, columns] = x [rows, depth] times y [depth, columns]: one sum per element, in double.
void separate_product(const float* x, const float* y, float* z, long rows, long columns, long depth);

/// The calls so far, and the compiler that made the object.
long separate_products();
const char* separate_compiler();

}  // extern "C"
