// Numbers in code: which of them differ between cells that are equal otherwise, and become template parameters.
#pragma once
#include "body.hpp"

namespace importer {

/// The numbers of a marked text, and the text without them.
struct Numbers {
  std::string skeleton;
  std::vector<std::pair<std::string, long>> all;  // role, value

  explicit Numbers(const std::string& marked) {
    for (std::size_t k = 0; k < marked.size(); ++k) {
      skeleton += marked[k];
      if (marked[k] != '\1') continue;
      const std::size_t colon = marked.find(':', k), end = marked.find('\2', k);
      all.push_back({marked.substr(k + 1, colon - k - 1), std::stol(marked.substr(colon + 1, end - colon - 1))});
      k = end - 1;
    }
  }
};

/// The template parameters of a group, and the text of the number of each place.
struct Parameters {
  std::vector<std::string> names, text;
  std::vector<std::vector<long>> values;  // of each parameter, by instance
};
inline Parameters parameters_of(const std::vector<Numbers>& instances) {
  Parameters p;
  for (std::size_t place = 0; place < instances[0].all.size(); ++place) {
    std::vector<long> values;
    for (const Numbers& each : instances) values.push_back(each.all[place].second);
    if (std::set<long>(values.begin(), values.end()).size() == 1) {
      p.text.push_back(std::to_string(values[0]));
      continue;
    }
    auto at = std::size_t(std::find(p.values.begin(), p.values.end(), values) - p.values.begin());
    const std::string& role = instances[0].all[place].first;
    if (at == p.values.size()) {
      p.values.push_back(values);
      std::string name = role;
      for (int k = 2; std::find(p.names.begin(), p.names.end(), name) != p.names.end(); ++k)
        name = role + std::to_string(k);
      p.names.push_back(name);
    } else if (p.names[at] == "In" && role == "Out") {
      if (std::find(p.names.begin(), p.names.end(), "Channels") == p.names.end()) p.names[at] = "Channels";
    }
    p.text.push_back(p.names[at]);
  }
  // a name may have changed after its first place
  std::size_t place = 0;
  for (; place < p.text.size(); ++place) {
    std::vector<long> values;
    for (const Numbers& each : instances) values.push_back(each.all[place].second);
    const auto found = std::find(p.values.begin(), p.values.end(), values);
    if (found != p.values.end()) p.text[place] = p.names[std::size_t(found - p.values.begin())];
  }
  return p;
}
inline std::string with_numbers(const std::string& marked, const std::vector<std::string>& text, std::size_t& place) {
  std::string result;
  for (std::size_t k = 0; k < marked.size(); ++k)
    if (marked[k] == '\1') {
      result += text.at(place++);
      k = marked.find('\2', k);
    } else result += marked[k];
  return result;
}

inline std::string head_of(const Parameters& p) {
  std::string list;
  for (const std::string& each : p.names) list += (list.empty() ? "int " : ", int ") + each;
  return list.empty() ? "" : "template <" + list + ">\n";
}

}  // namespace importer
