// Sets aside macros of other libraries (Qt, X11, complex.h) and of the user that are names of ours, until
// macros_end.hpp. tenon.hpp includes both; a header of Tenon alone says that there is such a macro (core/config.hpp).
#pragma once
#pragma push_macro("I")
#undef I
#pragma push_macro("N")
#undef N
#pragma push_macro("None")
#undef None
#pragma push_macro("slots")
#undef slots
#pragma push_macro("emit")
#undef emit
#pragma push_macro("check")
#undef check
#pragma push_macro("near")
#undef near
#pragma push_macro("far")
#undef far
#pragma push_macro("relu")
#undef relu
#pragma push_macro("small")
#undef small
