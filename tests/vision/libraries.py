"""Images of Tenon against those of Pillow and OpenCV: libraries.py PROGRAM. Exits with 1 if a pixel is off by more than
one level. With --numbers it prints those of tests/vision/resize.cpp."""
import io
import struct
import subprocess
import sys
import zlib

import cv2
import numpy as np
from PIL import Image, ImageEnhance

NEAREST, LANCZOS, LINEAR, CUBIC, AREA = range(5)
OPENCV = {NEAREST: cv2.INTER_NEAREST, LINEAR: cv2.INTER_LINEAR, CUBIC: cv2.INTER_CUBIC, AREA: cv2.INTER_AREA}
PILLOW = {LINEAR: Image.BILINEAR, CUBIC: Image.BICUBIC, LANCZOS: Image.LANCZOS}


def numbers():
    y, x = np.mgrid[0:12, 0:16]
    image = ((x * 13 + y * 29 + x * y * 3) % 256).astype(np.uint8)
    for inter, code in OPENCV.items():
        print(inter, "opencv", cv2.resize(image, (5, 4), interpolation=code).ravel().tolist())
        print(inter, "opencv row 7", cv2.resize(image, (18, 15), interpolation=code)[7].tolist())
    for inter, code in PILLOW.items():
        print(inter, "pillow", np.asarray(Image.fromarray(image).resize((5, 4), code)).ravel().tolist())


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, data, *words):
        with open("in.raw", "wb") as file: file.write(data if isinstance(data, bytes) else data.tobytes())
        print("in.raw", "out.raw", *words, file=self.process.stdin, flush=True)
        if self.process.stdout.readline() != "done\n": sys.exit(f"FAILED: no answer to {words}")
        return np.fromfile("out.raw", np.uint8).astype(int)


def scene(rng, height, width, channels=3):
    coarse = rng.integers(0, 256, (height // 9 + 2, width // 9 + 2, channels), np.uint8)
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC).reshape(height, width, channels)
    return np.clip(smooth + rng.integers(-20, 21, smooth.shape), 0, 255).astype(np.uint8)


def png_of_16_bits(values, kind):
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", values.shape[1], values.shape[0], 16, kind, 0, 0, 0)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def main():
    if sys.argv[1] == "--numbers": return numbers()
    ours, rng, compared, wrong = Ours(sys.argv[1]), np.random.default_rng(1), 0, 0

    def check(what, mine, theirs):
        nonlocal compared, wrong
        compared += 1
        far = np.abs(mine.reshape(theirs.shape) - theirs.astype(int)) > 1
        if far.any():
            wrong += 1
            print(f"{what}: {far.sum()} of {far.size} pixels differ by more than 1")

    for height, width in (1, 1), (2, 3), (7, 5), (64, 64), (100, 33), (375, 500):
        for channels in 1, 3, 4:
            image = scene(rng, height, width, channels)
            for size in (1, 1), (5, 9), (64, 64), (50, 200), (224, 224), (300, 20):
                for inter, code in OPENCV.items():
                    mine = ours(image, "resize", height, width, channels, *size, inter, 0)
                    check(f"resize {image.shape} {size} {inter}", mine,
                          cv2.resize(image, size[::-1], interpolation=code).reshape(*size, channels))
                for inter, code in PILLOW.items():
                    mine = ours(image, "resize", height, width, channels, *size, inter, 1)
                    planes = [image[..., c] for c in range(channels)]
                    theirs = np.stack([np.asarray(Image.fromarray(p).resize(size[::-1], code)) for p in planes], 2)
                    check(f"resize {image.shape} {size} {inter} antialias", mine, theirs)

    for kind, channels in (0, 1), (2, 3), (4, 2), (6, 4):  # 16 bits, to the bit
        wide = rng.integers(0, 65536, (9, 13, channels)) >> rng.integers(0, 16, (9, 13, 1))
        file = png_of_16_bits(wide, kind)
        for wanted, mode in (3, "RGB"), (1, "L"):
            compared += 1
            theirs = np.asarray(Image.open(io.BytesIO(file)).convert(mode)).astype(int)
            if (ours(file, "decode", wanted, 1).reshape(theirs.shape) != theirs).any():
                wrong += 1
                print(f"a PNG file of 16 bits and kind {kind} is not what Pillow's {mode} is")

    image = scene(rng, 90, 120)
    pillow = Image.fromarray(image)
    for angle in 0, 10, 45, 90, 133, -71:
        for inter, code in (NEAREST, Image.NEAREST), (LINEAR, Image.BILINEAR):
            mine = ours(image, "rotate", *image.shape, angle, inter).reshape(image.shape)
            theirs = np.asarray(pillow.rotate(angle, code)).astype(int)
            far = (np.abs(mine - theirs) > 1).any(2).mean()  # a place at the middle of two pixels may go either way
            compared += 1
            if far > 0.002:
                wrong += 1
                print(f"rotate {angle} {inter}: {far:.2%} of the pixels differ by more than 1")
    cropped = 0
    for height, width in (90, 120), (31, 31), (64, 17), (1, 9):
        turned = scene(rng, height, width)
        for angle in 3, 30, 45, 60, 90, 133, 180, -71, 270:
            corners = cv2.boxPoints(((0, 0), (width, height), angle))  # the size of MindSpore's result
            size = tuple(round(float(x)) for x in (corners.max(0) - corners.min(0))[::-1])
            for inter, code in (NEAREST, Image.NEAREST), (LINEAR, Image.BILINEAR):
                mine = ours(turned, "rotate_expand", *turned.shape, angle, inter)
                compared += 1
                if mine.size != size[0] * size[1] * 3:
                    wrong += 1
                    print(f"rotate {angle} {turned.shape} expand: not of {size} pixels")
                    continue
                theirs = np.asarray(Image.fromarray(turned).rotate(angle, code, expand=True)).astype(int)
                more = np.subtract(theirs.shape[:2], size)
                if (more < 0).any() or (more > 2).any(): sys.exit(f"FAILED: Pillow has {theirs.shape} for {size}")
                if (more % 2).any(): continue  # their middle is half a pixel beside ours
                cropped += 1
                top, left = more // 2
                theirs = theirs[top:top + size[0], left:left + size[1]]
                far = (np.abs(mine.reshape(theirs.shape) - theirs) > 1).any(2).mean()
                if far > 0.002:
                    wrong += 1
                    print(f"rotate {angle} {turned.shape} expand {inter}: {far:.2%} of the pixels differ by over 1")
    if cropped < 20: sys.exit(f"FAILED: only {cropped} expanded images could be compared")
    for name in "Brightness", "Contrast", "Color":
        for factor in 0.0, 0.3, 0.9, 1.0, 1.7:
            check(f"{name} {factor}", ours(image, name, *image.shape, factor),
                  np.asarray(getattr(ImageEnhance, name)(pillow).enhance(factor)))

    exif = Image.Exif()
    for height, width in (1, 1), (8, 8), (17, 90), (120, 67):
        image = scene(rng, height, width)
        for mode in "RGB", "L", "CMYK":
            for options in ({"quality": 85, "subsampling": "4:2:0"}, {"quality": 95, "subsampling": "4:4:4"},
                            {"quality": 60, "subsampling": "4:2:2", "progressive": True}):
                file = io.BytesIO()
                Image.fromarray(image).convert(mode).save(file, "jpeg", **options)
                what = f"jpeg {height} x {width} {mode} {options}"
                check(what, ours(file.getvalue(), "decode", 3, 1), np.asarray(Image.open(file).convert("RGB")))
                gray = np.asarray(Image.open(file).convert("L"))
                if mode == "RGB":  # Pillow's is made of clipped colours
                    gray = cv2.imdecode(np.frombuffer(file.getvalue(), np.uint8), cv2.IMREAD_GRAYSCALE)
                check(what + " gray", ours(file.getvalue(), "decode", 1, 1), gray)
        for orientation in range(1, 9):
            exif[0x0112] = orientation
            file = io.BytesIO()
            Image.fromarray(image).save(file, "jpeg", exif=exif)
            theirs = cv2.imdecode(np.frombuffer(file.getvalue(), np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
            check(f"orientation {orientation}", ours(file.getvalue(), "decode", 3, 1), theirs)
        for mode in "RGB", "RGBA", "L", "LA", "P", "1", "I;16":
            file = io.BytesIO()
            source = Image.fromarray(image)
            if mode == "I;16": source = Image.fromarray(image[..., 0].astype(np.uint16) * 256 + 77)
            else: source = source.convert(mode)
            source.save(file, "png")
            check(f"png {mode}", ours(file.getvalue(), "decode", 3, 1), np.asarray(source.convert("RGB")))
    print(f"{compared} images compared, {wrong} differ")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
