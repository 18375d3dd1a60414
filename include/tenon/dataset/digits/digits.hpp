// Digits: handwritten-looking digits drawn on demand, for lessons and tests that have no files.
#pragma once
#include <cstdint>

#include <tenon/dataset/source/mnist.hpp>
#if TENON_DEFINES
#include <tenon/core/random/philox.hpp>
#include <tenon/dataset/digits/canvas.hpp>
#endif

namespace tenon::inline TENON_ABI::dataset {

namespace detail {

/// A number that is set like a field, `.size = 1000`, and asked like the function of every data set, `size()`.
struct SampleCount {
  long value;
  SampleCount(long count);
  long operator()() const { return value; }
};

}  // namespace detail

/// Drawn digits of 28 x 28 pixels, with the columns of Mnist: `Digits{.usage = Usage::train, .size = 20000, .seed =
/// 1}`.
///
/// Strokes of 21 ways to write a digit, with random slant, size, angle, position, pen width, and shake, then specks and
/// noise. Sample i depends only on (seed, usage, i), and has the same bytes on every machine; train and test differ.
/// Samples are not stored: each sample is drawn when it is read, in about 7 microseconds.
///
/// columns     image: float [1, 28, 28] in [0, 1], multiples of 1/255;  label: int32 [], 0 .. 9, equally likely
/// difficulty  share of correct predictions for 10,000 test images after 3 epochs, batch 32, Momentum(0.01, 0.9), seed
///             1: softmax regression 91.4 % (60,000 images), LeNet-5 99.3 % (60,000), 99.2 % (20,000, pixels mapped to
///             mean 0 and deviation 1), 97.9 % (20,000, unchanged pixels): about as hard as MNIST
/// throws      ValueError if size < 1
struct Digits {
  Usage usage = Usage::train;
  detail::SampleCount size = 60000;
  std::uint64_t seed = 0;

  // What Source would bring; a base class would make `Digits{.usage = ...}` warn about a missing initializer.
  using columns = Mnist::columns;
  static constexpr bool batched = false, counted = true;
  long max_rows() const { return 1; }
  Rows<Digits> open() const { return Rows<Digits>(*this); }

  void describe(auto& d) const { d.add(usage, size(), seed); }
  long read(Place place, void* const* out, Scratch&) const;
};

#if TENON_DEFINES
namespace detail {

TENON_EXACT_BEGIN

/// As Random::uniform, but rounded twice on every machine, as all else here.
inline float uniform(Random& random, float low, float high) { return random.uniform(low, high); }

/// How one hand writes: where the points of a digit continue the canvas.
class Hand {
 public:
  explicit Hand(Random& random) : random_(random) {
    // tangent of half the angle: rotation by up to 16 degrees, without sine
    const float half = uniform(random, -0.14f, 0.14f);
    const float cosine = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    const float width = uniform(random, 6.5f, 10.0f), height = uniform(random, 8.0f, 10.5f),
                slant = uniform(random, -0.1f, 0.35f);
    xx_ = cosine * width, xy_ = -cosine * slant * height - sine * height;
    yx_ = sine * width, yy_ = cosine * height - sine * slant * height;
    x_ = 13.5f + uniform(random, -2.0f, 2.0f), y_ = 13.5f + uniform(random, -2.0f, 2.0f);
    shake_ = uniform(random, 0.04f, 0.13f);
  }
  /// The pixel of a point, which the hand misses by a little.
  Point place(Point p) {
    const float x = p.x + shake(), y = p.y + shake();
    return {x_ + xx_ * x + xy_ * y, y_ + yx_ * x + yy_ * y};
  }

 private:
  /// Bell-shaped in -2 .. 2 times the hand's own measure.
  float shake() { return shake_ * (uniform(random_, -1, 1) + uniform(random_, -1, 1)); }

  Random& random_;
  float xx_, xy_, yx_, yy_, x_, y_, shake_;
};

/// Draws the digit of a key as 28 x 28 bytes and returns its label.
inline int draw_digit(std::uint64_t key, std::uint8_t* out) {
  Random random(key);
  const int label = static_cast<int>(random.below(10));
  const GlyphRange ways = glyphs_of(label);
  const Glyph& glyph = glyphs[ways.first + static_cast<int>(random.below(static_cast<std::uint64_t>(ways.count)))];
  Hand hand(random);
  const float radius = uniform(random, 0.5f, 1.5f), ink = uniform(random, 0.6f, 1.0f);
  Canvas canvas(radius + 0.5f);
  for (int s = 0; s < glyph.count; ++s) {
    const Stroke& stroke = glyph.stroke[s];
    Point point[Stroke::capacity];
    for (int i = 0; i < stroke.count; ++i) point[i] = hand.place(stroke.point[i]);
    canvas.curve(point, stroke.count);
  }
  for (std::uint32_t specks = random.below(2); specks > 0; --specks) {
    const Point from{uniform(random, 0, 27), uniform(random, 0, 27)};
    canvas.line(from, {from.x + uniform(random, -4, 4), from.y + uniform(random, -4, 4)});
  }
  canvas.print(radius, ink, 8 + random.below(40), ~key, out);
  return label;
}

TENON_EXACT_END

TENON_INLINE_CONSTRUCTOR SampleCount::SampleCount(long count) : value(count) {
  if (count < 1) throw_error<ValueError>("Digits with .size = ", count, ": the number of samples must be 1 or more.");
}

}  // namespace detail

TENON_INLINE long Digits::read(Place place, void* const* out, Scratch& scratch) const {
  scratch.begins(static_cast<std::uint64_t>(place.position), place.epoch);
  const std::uint64_t set = hash_number(usage == Usage::train ? 0 : 1, hash_number(seed, hash_bytes("Digits", 6)));
  std::uint8_t bytes[Mnist::pixels];
  *static_cast<std::int32_t*>(out[1]) =
      detail::draw_digit(hash_number(static_cast<std::uint64_t>(place.position), set), bytes);
  detail::scale_pixels(bytes, static_cast<float*>(out[0]), Mnist::pixels);
  return 1;
}
#endif  // TENON_DEFINES

}  // namespace tenon::dataset
