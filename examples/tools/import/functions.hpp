// The cells of the header: which calls belong to which module, and what each module takes and returns.
#pragma once
#include "translate.hpp"

namespace importer {

/// A module: its calls and the modules in it, in the order in which they run.
struct Function {
  struct Item {
    int call = -1, child = -1;  // one of them
    bool operator==(const Item&) const = default;
  };
  std::string path;
  int parent = -1;
  std::vector<Item> items;
  std::vector<int> inputs, outputs;
  std::string name;  // of the member in its parent
  std::string type;  // when it is known
  enum Kind { structure, list, sequence } kind = structure;
  bool is_dissolved = false;
};

inline bool is_digits(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Functions {
 public:
  Functions(Graph& graph) : g(graph) {
    assign();
    while (!order_all()) {
    }
  }
  Graph& g;
  std::vector<Function> all;
  std::map<int, std::string> member_name;  // of a call

  const Call& call(const Function::Item& item) const { return g.calls[std::size_t(item.call)]; }
  const std::vector<int>& inputs(const Function::Item& item) const {
    return item.call >= 0 ? call(item).inputs : all[std::size_t(item.child)].inputs;
  }
  const std::vector<int>& outputs(const Function::Item& item) const {
    return item.call >= 0 ? call(item).outputs : all[std::size_t(item.child)].outputs;
  }

 private:
  void assign() {
    std::map<std::string, int> here;  // calls with a member, by scope
    std::set<std::string> holders{""};
    for (const Call& c : g.calls)
      if (c.member && !c.is_dropped) {
        ++here[c.scope];
        for (std::string path = c.scope; !path.empty(); path = parent_of(path)) holders.insert(path);
      }
    const auto has_inner = [&](const std::string& scope) {
      const auto next = holders.lower_bound(scope + ".");
      return next != holders.end() && next->starts_with(scope + ".");
    };
    const auto is_leaf = [&](const std::string& scope) {
      return !scope.empty() && here[scope] == 1 && !has_inner(scope);
    };
    find_or_make("");
    for (std::size_t k = 0; k < g.calls.size(); ++k) {
      Call& c = g.calls[k];
      if (c.is_dropped) continue;
      if (c.is_inner) {  // it belongs to the call that has it
        if (c.member)
          member_name[int(k)] = is_leaf(c.scope) ? parts_of(c.scope).back() : c.name.empty() ? c.member->kind : c.name;
        continue;
      }
      std::string scope = c.scope;
      if (is_leaf(scope) && (!c.member || c.member->parameter.empty())) {
        if (c.member) member_name[int(k)] = parts_of(scope).back();
        scope = parent_of(scope);
      } else {
        while (!holders.count(scope)) scope = parent_of(scope);
        if (c.member) member_name[int(k)] = c.name.empty() ? c.member->kind : c.name;
      }
      all[std::size_t(find_or_make(scope))].items.push_back({int(k), -1});
    }
  }
  int find_or_make(const std::string& path) {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].path == path) return int(k);
    const int parent = path.empty() ? -1 : find_or_make(parent_of(path));
    Function f;
    f.path = path, f.parent = parent;
    f.name = path.empty() ? "" : parts_of(path).back();
    all.push_back(f);
    const int id = int(all.size()) - 1;
    if (parent >= 0) all[std::size_t(parent)].items.push_back({-1, id});
    return id;
  }

  /// What is made and read inside of a function.
  void collect(int id, std::set<int>& made, std::vector<int>& read) const {
    for (const auto& item : all[std::size_t(id)].items)
      if (item.child >= 0) collect(item.child, made, read);
      else {
        made.insert(call(item).outputs.begin(), call(item).outputs.end());
        read.insert(read.end(), call(item).inputs.begin(), call(item).inputs.end());
      }
  }
  void find_interface(int id) {
    Function& f = all[std::size_t(id)];
    std::set<int> made;
    std::vector<int> read;
    collect(id, made, read);
    f.inputs.clear(), f.outputs.clear();
    if (id == 0) {
      f.inputs = g.inputs, f.outputs = g.outputs;
      return;
    }
    for (const int value : read)
      if (!made.count(value) && std::find(f.inputs.begin(), f.inputs.end(), value) == f.inputs.end())
        f.inputs.push_back(value);
    std::set<int> inner;  // calls inside
    collect_calls(id, inner);
    std::set<int> wanted(g.outputs.begin(), g.outputs.end());
    for (std::size_t k = 0; k < g.calls.size(); ++k)
      if (!inner.count(int(k)) && !g.calls[k].is_dropped)
        wanted.insert(g.calls[k].inputs.begin(), g.calls[k].inputs.end());
    for (const int value : made)
      if (wanted.count(value)) f.outputs.push_back(value);
  }
  void collect_calls(int id, std::set<int>& calls) const {
    for (const auto& item : all[std::size_t(id)].items)
      if (item.child >= 0) collect_calls(item.child, calls);
      else calls.insert(item.call);
  }

  /// Orders the items of all functions. False if one had to be dissolved.
  bool order_all() {
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!all[k].is_dissolved) find_interface(int(k));
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!all[k].is_dissolved && !order(int(k))) return false;
    return true;
  }
  bool order(int id) {
    Function& f = all[std::size_t(id)];
    std::vector<Function::Item> rest = f.items, done;
    for (std::size_t k = 0; k < rest.size(); ++k)
      if (rest[k].child >= 0 &&
          (all[std::size_t(rest[k].child)].outputs.empty() || all[std::size_t(rest[k].child)].inputs.empty()))
        return dissolve(rest[k].child);
    std::sort(rest.begin(), rest.end(), [&](const auto& a, const auto& b) { return first_call(a) < first_call(b); });
    std::set<int> waiting;
    for (const auto& item : rest) waiting.insert(outputs(item).begin(), outputs(item).end());
    while (!rest.empty()) {
      const auto ready = std::find_if(rest.begin(), rest.end(), [&](const auto& item) {
        return std::none_of(inputs(item).begin(), inputs(item).end(),
                            [&](int value) { return waiting.count(value) > 0; });
      });
      if (ready == rest.end()) {
        for (const auto& item : rest)
          if (item.child >= 0) return dissolve(item.child);
        throw_error<ValueError>("the nodes of '", f.path, "' read each other in a circle.");
      }
      for (const int value : outputs(*ready)) waiting.erase(value);
      done.push_back(*ready);
      rest.erase(ready);
    }
    f.items = done;
    return true;
  }
  int first_call(const Function::Item& item) const {
    if (item.call >= 0) return item.call;
    std::set<int> calls;
    collect_calls(item.child, calls);
    return calls.empty() ? 0 : *calls.begin();
  }
  /// Its items become those of its parent, its name a part of their names.
  bool dissolve(int id) {
    Function &f = all[std::size_t(id)], &parent = all[std::size_t(f.parent)];
    std::erase(parent.items, Function::Item{-1, id});
    for (const auto& item : f.items) {
      parent.items.push_back(item);
      if (item.child >= 0) {
        Function& child = all[std::size_t(item.child)];
        child.parent = f.parent, child.name = f.name + "_" + child.name;
      } else if (member_name.count(item.call)) member_name[item.call] = f.name + "_" + member_name[item.call];
    }
    f.items.clear();
    f.is_dissolved = true;
    return false;
  }
};

}  // namespace importer
