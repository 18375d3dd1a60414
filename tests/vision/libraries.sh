#!/bin/sh
# Decoding, resizing, rotating, and colours against Pillow and OpenCV, within one level: `libraries.sh [compiler]`.
# Installs them with pip in the current folder, or takes the Python that TENON_PYTHON names. Exit status 77: they, or
# libjpeg-turbo and libpng, cannot be had.
set -u
here=$(cd "$(dirname "$0")" && pwd)
compiler=${1:-g++}
printf '#include <cstdio>\n#include <jpeglib.h>\n#include <png.h>\n' | "$compiler" -E -x c++ - >/dev/null 2>&1 ||
  { echo "SKIPPED: libjpeg-turbo or libpng is not installed"; exit 77; }
python=${TENON_PYTHON:-}
if [ -z "$python" ]; then
  python=$PWD/venv/bin/python
  "$python" -c 'import cv2, numpy, PIL' >/dev/null 2>&1 || {
    python3 -m venv venv && venv/bin/pip install --quiet pillow opencv-python-headless numpy
  } >pip.log 2>&1
fi
"$python" -c 'import cv2, numpy, PIL' >/dev/null 2>&1 ||
  { echo "SKIPPED: Pillow and OpenCV cannot be installed with pip"; exit 77; }
"$compiler" -std=c++20 -O2 -Wall -Wextra -DTENON_WITH_JPEG=1 -DTENON_WITH_PNG=1 -I"$here/../../include" \
  "$here/libraries_part.cpp" -o images -ljpeg -lpng || { echo "FAILED: the program does not compile"; exit 1; }
"$python" "$here/libraries.py" ./images
