#!/usr/bin/env python3
"""Writes derivatives.txt: values, gradients, and second derivatives of operators in PyTorch, on random operands in
float64.

    python3 tests/golden/derivatives.py > tests/golden/derivatives.txt     # needs PyTorch; the tests do not

A line is `case low high low high ... = sums`: the range of each operand; the sum of the result, of the gradient of each
floating-point operand, and of each second derivative, multiplied with random numbers and added up over 40 draws. With a
random gradient w of the result and random directions v, the second derivative of operand k is that of sum(g * v), where
g are the gradients of sum(y * w). derivatives_elements.py and derivatives_layers.py have the cases.
"""

import derivatives_elements as elements
import derivatives_layers as layers

elements.elements()
elements.activations()
elements.functions()
elements.axes()
elements.shapes()
elements.numbers()
layers.sizes()
layers.convolutions()
layers.pooling()
layers.products()
layers.systems()
layers.recurrent()
layers.control()
layers.normalizations()
layers.losses()
