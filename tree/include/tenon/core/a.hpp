// A.
#pragma once
// TODO: all
