// PyTorch's errors in float32, for constant, random, alternating data and data with an offset. Written by
// `python3 benchmarks/accuracy.py --write`.
#pragma once

namespace support::accuracy {

struct TorchErrors {
  const char* name;
  long length;
  double error[4];
};
inline constexpr TorchErrors torch_errors[]{
    {"sum", 10, {1.19e-07, 2.55e-08, 8.14e-09, 7.32e-08}},
    {"sum", 1000, {6.14e-08, 4.79e-09, 1.35e-08, 2.65e-08}},
    {"sum", 1000000, {6.32e-08, 3.02e-10, 2.13e-08, 4.23e-08}},
    {"mean over rows", 10, {9.93e-08, 1.27e-08, 1.48e-08, 5.49e-08}},
    {"mean over rows", 1000, {1.49e-07, 1.55e-08, 5.16e-10, 4.88e-08}},
    {"mean over rows", 1000000, {8.94e-07, 3.78e-10, 7.44e-11, 9.98e-08}},
    {"MSELoss", 10, {7.75e-08, 8.24e-08, 4.75e-08, 5.13e-08}},
    {"MSELoss", 1000, {1.23e-07, 2.27e-08, 1.12e-07, 6.63e-08}},
    {"MSELoss", 1000000, {2.89e-08, 6.88e-08, 7.97e-08, 8.24e-08}},
    {"cross entropy", 10, {1.39e-08, 5.87e-08, 7.14e-08, 2.06e-08}},
    {"cross entropy", 1000, {1.39e-08, 2.8e-08, 7.79e-08, 4.48e-08}},
    {"cross entropy", 1000000, {1.39e-08, 1.08e-07, 4.75e-07, 3.36e-07}},
    {"softmax", 10, {1.49e-08, 8.14e-08, 9.43e-08, 8.06e-08}},
    {"softmax", 1000, {4.75e-08, 1.25e-07, 3.1e-07, 1.04e-07}},
    {"softmax", 1000000, {2.52e-09, 1.37e-06, 6.01e-06, 4.19e-06}},
    {"bias gradient", 10, {1.19e-07, 2.55e-08, 1.44e-08, 3.05e-08}},
    {"bias gradient", 1000, {1.38e-07, 1.22e-08, 4.72e-10, 4.78e-08}},
    {"bias gradient", 1000000, {8.74e-07, 3.95e-10, 7.42e-11, 8.56e-08}},
    {"bias gradient of images", 10, {1.49e-08, 2.55e-08, 2.15e-08, 3.05e-08}},
    {"bias gradient of images", 1000, {9.12e-08, 4.2e-09, 7.56e-09, 1.22e-07}},
    {"bias gradient of images", 1000000, {6.32e-08, 2.73e-10, 2.59e-09, 1.69e-07}},
    {"gather gradient", 1000, {9.55e-06, 1.53e-08, 3.62e-09, 5.65e-07}},
    {"gather gradient", 1000000, {0.00958, 1.69e-08, 3.13e-09, 0.00949}},
    {"BatchNorm1d mean", 1000, {5.07e-06, 3.71e-08, 5.51e-09, 6.22e-07}},
    {"BatchNorm1d mean", 1000000, {0.00507, 2.01e-08, 3.01e-09, 0.00207}},
    {"BatchNorm1d variance", 1000, {2.31e-07, 3.92e-07, 1.93e-07, 4.74e-06}},
    {"BatchNorm1d variance", 1000000, {0.231, 0.000144, 2.1e-05, 51.7}},
    {"BatchNorm1d gamma gradient", 1000000, {17.2, 1.79e-07, 7.41e-09, 0.00243}},
    {"BatchNorm2d mean", 1000, {0, 1.54e-09, 9.33e-11, 2.25e-08}},
    {"BatchNorm2d mean", 3211264, {0, 8.39e-12, 1.29e-12, 1.9e-08}},
    {"BatchNorm2d variance", 1000, {0, 6.12e-08, 1.22e-07, 6.66e-08}},
    {"BatchNorm2d variance", 3211264, {0, 1.08e-07, 7.25e-08, 5.04e-08}},
    {"BatchNorm2d gamma gradient", 3211264, {0, 8.06e-10, 1.54e-09, 2.72e-08}},
    {"LayerNorm", 10, {0, 1.51e-07, 1.62e-07, 0.000127}},
    {"LayerNorm", 1000, {0, 1.93e-07, 2.07e-07, 0.000317}},
    {"LayerNorm", 1000000, {0, 2.9e-07, 1.93e-07, 0.000177}},
    {"LayerNorm gamma gradient", 1000, {1.21e-08, 4.71e-08, 3.31e-08, 2.95e-06}},
    {"LayerNorm gamma gradient", 1000000, {3.36e-08, 1.31e-08, 2.18e-08, 5.32e-07}},
    {"average pool", 10, {7.45e-08, 1.27e-08, 1.48e-08, 5.49e-08}},
    {"average pool", 1000, {9.54e-06, 1.52e-08, 5.2e-10, 5.11e-07}},
    {"average pool", 1000000, {0.00958, 7.48e-09, 3.13e-09, 0.00949}},
    {"matmul of columns", 1000, {2.49e-06, 3.63e-08, 3.28e-08, 2.63e-07}},
    {"matmul of columns", 100000, {6.12e-06, 6e-09, 8.11e-09, 1.02e-06}},
    {"matmul of columns", 1000000, {6.56e-05, 6.62e-09, 7.38e-09, 3.98e-05}},
    {"matmul of a row", 4096, {1.35e-05, 2.87e-08, 5.01e-08, 5.11e-07}},
    {"conv2d 1x1, channels", 2048, {1.83e-06, 2.23e-08, 1.8e-08, 2.33e-07}},
    {"conv2d 3x3, channels", 4608, {1.46e-05, 2.36e-08, 4.55e-08, 3.38e-07}},
    {"conv2d 1x1, gradient of weight", 50176, {2.99e-06, 5.75e-09, 7.75e-09, 4.7e-07}},
    {"conv2d 3x3, gradient of weight", 50176, {0.000632, 9.18e-08, 8.57e-08, 0.000229}},
    {"conv2d 3x3, gradient of weight", 1003520, {0.00359, 4.98e-08, 4.04e-08, 0.00598}},
};

}  // namespace support::accuracy
