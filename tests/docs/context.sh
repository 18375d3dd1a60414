#!/bin/sh
# The tables of docs/context.md are those of the headers in core/context, written by a program that includes them.
#   context.sh [project root [CXX]]            compares the page with the headers
#   context.sh [project root [CXX]] --write    writes it anew
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
cxx=${2:-g++}
[ "$cxx" != --write ] || cxx=g++
last=
for last; do :; done
page=$root/docs/context.md
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

cat > "$work/tables.cpp" <<'PROGRAM'
#include <cstdio>
#include <tenon/core/context/keys.hpp>
#include <tenon/core/context/parallel.hpp>

using namespace tenon;
using namespace tenon::detail;

std::string quoted(const std::string& value) { return value.empty() ? "" : "`" + value + "`"; }
std::string legal(const ContextKey& key) {
  switch (key.kind) {
    case KeyKind::mode: return "`graph`, `pynative` (0, 1; `GRAPH_MODE`, `PYNATIVE_MODE`)";
    case KeyKind::target: return "`CPU`, those of `-DTENON_TARGET`";
    case KeyKind::flag: return "`True`, `False`";
    case KeyKind::level: return std::string(key.legal) + ", `True` (2), `False` (0)";
    case KeyKind::gigabytes: return std::string("`2GB`, `0.5GB`, ...") + (*key.legal ? ", at least 1GB" : "");
    case KeyKind::folder: return "a folder, which Tenon creates";
    case KeyKind::file: return "a file, or nothing";
    case KeyKind::profiling: return "traces, or JSON";
    case KeyKind::object: return "`{...}`";
    case KeyKind::indices: return "`[2, 5]`, ascending";
    case KeyKind::whole: return key.legal;
    case KeyKind::choice: {
      std::string all;
      for (const std::string& word : words(key.legal)) all += (all.empty() ? "`" : ", `") + word + "`";
      return all;
    }
    default: return "any text";
  }
}
template <int rows, class Choose>
void table(const ContextKey (&keys)[rows], const char* title, const char* note, Choose choose) {
  std::printf("\n## %s\n\n| Key | Default | Legal | %s |\n|---|---|---|---|\n", title, note);
  for (const ContextKey& key : keys) {
    if (!choose(key)) continue;
    const bool renamed = key.effect == KeyEffect::renamed;
    std::printf("| `%s` | %s | %s | %s%s%s |\n", key.name, renamed ? "" : quoted(key.usual).c_str(),
                renamed ? "" : legal(key).c_str(),
                *key.devices ? ("on " + quoted_list(words(key.devices)) + " only; ").c_str() : "", key.note,
                key.tool == Tool::none            ? ""
                : key.tool == Tool::data_parallel ? ", which knows it"
                : key.tool > Tool::data_parallel  ? ", and needs this"
                                                  : "; needs `<tenon/debug/debug.hpp>`");
  }
}
int main() {
  const auto with = [](KeyEffect effect, bool devices = false) {
    return [=](const ContextKey& key) { return key.effect == effect && (*key.devices != 0) == devices; };
  };
  table(context_keys, "Settings that have an effect", "", [](const ContextKey& key) {
    return key.effect == KeyEffect::works || key.effect == KeyEffect::renamed;
  });
  table(context_keys, "Settings that cannot be switched off", "", with(KeyEffect::always));
  table(context_keys, "Settings that are checked and stored, with a warning", "Why it has no effect",
        with(KeyEffect::kept));
  table(context_keys, "Settings without a meaning here", "Why", with(KeyEffect::fixed));
  table(context_keys, "Settings of other devices", "Why it is not needed here", with(KeyEffect::fixed, true));
  table(parallel_keys, "set_auto_parallel_context", "Why it has no effect", with(KeyEffect::kept));
  table(ps_keys, "set_ps_context", "Why it has no effect", with(KeyEffect::kept));
}
PROGRAM
"$cxx" -std=c++20 -I"$root/include" "$work/tables.cpp" -o "$work/tables" -lpthread
{
  sed '/^<!-- tables/q' "$page"
  "$work/tables"
  echo
  sed -n '/^<!-- end of the tables/,$p' "$page"
} > "$work/new"
if [ "$last" = --write ]; then
  cp "$work/new" "$page"
elif ! diff "$page" "$work/new"; then
  echo "FAILED: docs/context.md is not what the headers say; sh tests/docs/context.sh \"\$PWD\" --write mends it."
  exit 1
fi
