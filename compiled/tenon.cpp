// The compiled part of Tenon: the functions that are no templates. The sources beside it hold the instances of those
// templates whose arguments are element types. What uses them is compiled with TENON_COMPILED defined and with the same
// flags (docs/consuming.md).
#define TENON_COMPILED_PART
#include <tenon/tenon.hpp>
#include <tenon/train/callbacks.hpp>
