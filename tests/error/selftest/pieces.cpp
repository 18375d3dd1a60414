// expects: network.conv1: Conv2d got an input of 3 channels [n,3,28,28], its "weight" [6,1,5,5] needs 1
// A sentence in pieces, as an error of shapes reports it, with the quotes and the cut words that are hard to read back.
template <int N>
struct Piece {
  char text[N]{};
  constexpr Piece(const char (&from)[N]) {
    for (int i = 0; i < N; ++i) text[i] = from[i];
  }
};
template <Piece...>
inline constexpr bool shapes_fit = false;
template <Piece... Sentence>
struct Report {
  static_assert(shapes_fit<Sentence...>, "shapes do not fit");
};

Report<"network.conv1: Conv2d got an i", "nput of 3 channels [n,3,28,28]", ", its \"weight\" [6,1,5,5] needs ", "1">
    report;
