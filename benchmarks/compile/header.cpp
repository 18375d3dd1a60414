// What every user pays: the umbrella header alone.
#include <tenon/tenon.hpp>
