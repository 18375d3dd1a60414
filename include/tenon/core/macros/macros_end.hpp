// Gives back what macros_begin.hpp set aside.
#pragma once
#pragma pop_macro("I")
#pragma pop_macro("N")
#pragma pop_macro("None")
#pragma pop_macro("slots")
#pragma pop_macro("emit")
#pragma pop_macro("check")
#pragma pop_macro("near")
#pragma pop_macro("far")
#pragma pop_macro("relu")
#pragma pop_macro("small")
