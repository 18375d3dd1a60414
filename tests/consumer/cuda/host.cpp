#include "train.hpp"

double train_in_cpp() { return train(); }
