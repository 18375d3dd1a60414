#!/usr/bin/env python3
"""JPEG files to batches against torchvision: images.py PROGRAM [--rounds 9] [--images 256] [--folder FOLDER].

PROGRAM is benchmarks/data/images of a build. The Python has torch, torchvision, numpy and Pillow. The images are 500 x
375 with texture and edges, quality 85, 4:2:0, 80 to 120 KB, or those of a folder. Both sides take turns; each turn is
one epoch. A ratio is the median over the rounds of torchvision's time / ours; without workers it is the time of the
processor, which other programs do not change much.
"""
import argparse
import io
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import torch
from PIL import Image, ImageDraw
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make(rng):
    """A scene: soft colours, forty polygons and lines, grain."""
    scene = np.full((375, 500, 3), 128, np.float32)
    for width, strength in ((8, 60), (32, 30), (128, 22)):
        grain = rng.normal(0, strength, (width * 3 // 4, width, 3)).astype(np.float32)
        for channel in range(3):
            scene[..., channel] += np.asarray(Image.fromarray(grain[..., channel]).resize((500, 375), Image.BICUBIC))
    image = Image.fromarray(np.clip(scene, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(40):
        points = [tuple(int(v) for v in p) for p in rng.integers(0, 500, (3, 2))]
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        if rng.random() < 0.5: draw.polygon(points, colour)
        else: draw.line(points[:2], colour, int(rng.integers(1, 4)))
    grain = rng.normal(0, 16, (375, 500, 1))
    image = Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8))
    file = io.BytesIO()
    image.save(file, "jpeg", quality=85, subsampling="4:2:0")
    return file.getvalue()


class Files(torch.utils.data.Dataset):
    def __init__(self, files, transform):
        self.files, self.transform = files, transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.transform(decode_jpeg(self.files[index], mode=ImageReadMode.RGB))


def rivals(files):
    """Transforms of one image; `late`: normalized as a batch, which is faster."""
    to_float = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    works = {"linear": [v2.Resize((224, 224), antialias=False)], "antialias": [v2.Resize((224, 224), antialias=True)],
             "random": [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]}
    result = {}
    for name, transforms in works.items():
        per_image = v2.Compose(transforms + to_float)
        late = v2.Compose(to_float)
        result[name] = {"per image": (Files(files, per_image), None),
                        "late": (Files(files, v2.Compose(transforms)), late)}
    return result


def epoch(dataset, late, workers):
    loader = torch.utils.data.DataLoader(dataset, batch_size=64, num_workers=workers, persistent_workers=False)
    batches = iter(loader)
    clock = time.perf_counter if workers else time.process_time
    begin = clock()
    total = []
    for batch in batches:
        if late: batch = late(batch)
        total.append(float(batch.reshape(-1)[::997].mean()))
    return clock() - begin, statistics.mean(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--folder", help="take the files of this folder")
    parser.add_argument("--workers", default="0,2")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or scratch
        rng = np.random.default_rng(1)
        if not options.folder:
            for i in range(options.images):
                with open(f"{folder}/{i:04d}.jpg", "wb") as file: file.write(make(rng))
        names = sorted(f"{folder}/{name}" for name in os.listdir(folder))
        sizes = [os.path.getsize(name) for name in names]
        print(f"{len(names)} images of {min(sizes)} to {max(sizes)} bytes")
        files = [torch.frombuffer(bytearray(open(name, "rb").read()), dtype=torch.uint8) for name in names]
        ours = subprocess.Popen([options.program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def ask(work, workers):
            ours.stdin.write(f"{work} {workers}\n")
            ours.stdin.flush()
            seconds, processor, mean = map(float, ours.stdout.readline().split())
            return seconds if workers else processor, mean

        for workers in (int(w) for w in options.workers.split(",")):
            for work, sides in rivals(files).items():
                own = {"linear": ["linear", "scaled"], "antialias": ["antialias"],
                       "random": ["random", "random_decode", "random_scaled"]}[work]
                times, means = {}, {}
                for _ in range(options.rounds):
                    for name in own:
                        seconds, means[name] = ask(name, workers)
                        times.setdefault(name, []).append(seconds)
                    for name, (dataset, late) in sides.items():
                        seconds, means[name] = epoch(dataset, late, workers)
                        times.setdefault(name, []).append(seconds)
                best = [min(each) for each in zip(*(times[name] for name in sides))]
                for name in own:
                    ratio = statistics.median(b / a for a, b in zip(times[name], best))
                    least = min(min(times[side]) for side in sides) / min(times[name])
                    print(f"workers {workers}  {work:10} {name:14} {1e3 * min(times[name]) / len(files):6.3f} ms an "
                          f"image, torchvision {1e3 * min(best) / len(files):6.3f}: {ratio:.2f} times as fast in the "
                          f"median, {least:.2f} of the least; means {means[name]:.3f} {means['per image']:.3f}")


if __name__ == "__main__":
    main()
