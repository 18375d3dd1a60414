// flags: -O3 -march=native
// timeout: 300
// label: long
// The same with every instruction of this machine.
#include "modes.cpp"
