// flags: -O3 -march=native
// label: long
// The same with every instruction of this machine.
#include "modes.cpp"
