// B.
#pragma once
#include <tenon/core/a.hpp>
