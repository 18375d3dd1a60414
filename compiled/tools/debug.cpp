// A source of programs that link tenon::debug: it has the tools, and the program's own sources need not name them.
#include <tenon/debug/debug.hpp>
