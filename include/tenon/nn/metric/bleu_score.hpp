// BLEU: the similarity of translations to human translations.
#pragma once
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/error.hpp>

namespace tenon::inline TENON_ABI::nn {

/// A sentence as its words.
using Words = std::vector<std::string>;

/// The geometric mean of the shares of sequences of 1 to n_gram words that a reference also has, times exp(1 - r / c)
/// if the candidates have fewer words (c) than the nearest references (r). All sentences of all updates count as one
/// text.
///
/// n_gram  1 to 4. Throws ValueError for other values
/// smooth  adds 1 to both parts of each share; a text without a common sequence of some length still has 0
/// source  Papineni and others 2002; MindSpore nn.BleuScore
class BleuScore {
 public:
  static constexpr std::string_view name = "bleu_score";
  explicit BleuScore(int n_gram = 4, bool smooth = false) : smooth_(smooth) {
    if (n_gram < 1 || n_gram > 4) throw_error<ValueError>("BleuScore takes an n_gram of 1 to 4, got ", n_gram, ".");
    common_.resize(static_cast<std::size_t>(n_gram));
    clear();
  }

  void clear() {
    common_.assign(common_.size(), 0);
    all_.assign(common_.size(), 0);
    candidate_words_ = reference_words_ = 0;
    sentences_ = 0;
  }
  /// Sentences, and one or more references for each. Throws ValueError if a candidate has no reference.
  void update(const std::vector<Words>& candidates, const std::vector<std::vector<Words>>& references) {
    if (candidates.size() != references.size())
      throw_error<ValueError>("BleuScore got ", candidates.size(), " sentences and references for ", references.size(),
                              ".");
    for (std::size_t i = 0; i < references.size(); ++i)
      if (references[i].empty()) throw_error<ValueError>("BleuScore got no reference for sentence ", i, ".");
    for (std::size_t i = 0; i < candidates.size(); ++i) add(candidates[i], references[i]);
  }
  /// Throws RuntimeError if nothing was counted.
  double eval() const {
    if (sentences_ == 0)
      throw_error<RuntimeError>("BleuScore cannot be computed: update() was not called, or with 0 sentences.");
    double log_sum = 0;
    for (std::size_t n = 0; n < common_.size(); ++n) {
      if (common_[n] == 0) return 0;
      log_sum += std::log((common_[n] + smooth_) / (all_[n] + smooth_));
    }
    const double brevity = candidate_words_ > reference_words_ ? 1 : std::exp(1 - reference_words_ / candidate_words_);
    return brevity * std::exp(log_sum / static_cast<double>(common_.size()));
  }

 private:
  using Counts = std::map<Words, double>;
  // Every run of 1 to n_gram words, and how often it is there.
  Counts runs(const Words& words) const {
    Counts counts;
    for (std::size_t n = 1; n <= common_.size(); ++n)
      for (std::size_t i = 0; i + n <= words.size(); ++i)
        counts[Words(words.begin() + static_cast<long>(i), words.begin() + static_cast<long>(i + n))] += 1;
    return counts;
  }
  void add(const Words& candidate, const std::vector<Words>& references) {
    Counts most;  // in one reference
    double nearest = 0, distance = INFINITY;
    for (const Words& reference : references) {
      const double length = double(reference.size()), found = std::fabs(length - double(candidate.size()));
      if (found < distance) distance = found, nearest = length;
      for (const auto& [run, count] : runs(reference)) most[run] = std::fmax(most[run], count);
    }
    candidate_words_ += double(candidate.size());
    reference_words_ += nearest;
    ++sentences_;
    for (const auto& [run, count] : runs(candidate)) {
      all_[run.size() - 1] += count;
      if (const auto found = most.find(run); found != most.end())
        common_[run.size() - 1] += std::fmin(found->second, count);
    }
  }

  bool smooth_;
  std::vector<double> common_, all_;  // runs of 1, 2, ... words
  double candidate_words_ = 0, reference_words_ = 0;
  long sentences_ = 0;
};

}  // namespace tenon::nn
