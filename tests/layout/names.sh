#!/bin/sh
# No header takes another's names: `names.sh [project root]`. What two headers declare under one name in one namespace,
# or one of them in a namespace inside the other's, may win a call that was meant for the other, in programs that
# include both and only there. overloads.txt lists what is meant to be one set, with the reason.
set -u
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd) || exit 1
list=$root/tests/layout/overloads.txt
cd "$root/include/tenon" || exit 1

find . -name '*.hpp' -o -name '*.cuh' | sed 's|^\./||' | LC_ALL=C sort | xargs awk -v list="$list" '
# The line without comments; texts and characters become 0.
function bare(line,    out, two) {
  out = ""
  while (line != "") {
    if (in_comment) {
      if (!match(line, /\*\//)) return out
      line = substr(line, RSTART + 2); in_comment = 0
      continue
    }
    two = substr(line, 1, 2)
    if (two == "//") return out
    if (two == "/*") { in_comment = 1; line = substr(line, 3) }
    else if (match(line, /^"([^"\\]|\\.)*"/)) { out = out "0"; line = substr(line, RLENGTH + 1) }
    else if (out !~ /[0-9a-fA-F]$/ && match(line, /^\047([^\047\\]|\\.)+\047/)) {
      out = out "0"
      line = substr(line, RLENGTH + 1)
    }
    else { out = out substr(line, 1, 1); line = substr(line, 2) }
  }
  return out
}
# Where the bracket that opens first in the text is closed again, or 0. A > in round brackets or of -> closes nothing.
function closing(text, open, close_,    i, c, depth, round) {
  for (i = index(text, open); i && i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (open == "<" && c == "(") ++round
    else if (open == "<" && c == ")") --round
    else if (round || (c == ">" && substr(text, i - 1, 1) == "-")) continue
    else if (c == open) ++depth
    else if (c == close_ && !--depth) return i
  }
  return 0
}
# Behind `requires` and its condition: terms that && and || join: brackets, or a name<...>.
function behind_condition(text,    end) {
  for (;;) {
    sub(/^[ !]*/, "", text)
    if (text ~ /^requires/) { sub(/^requires */, "", text); if (text !~ /^\(/) return text }
    if (text ~ /^\(/) text = substr(text, closing(text, "(", ")") + 1)
    else {
      match(text, /^[A-Za-z0-9_:]*/); text = substr(text, RLENGTH + 1)
      if (text ~ /^ *</) text = substr(text, closing(text, "<", ">") + 1)
      if (text ~ /^::/) { match(text, /^[A-Za-z0-9_:]*/); text = substr(text, RLENGTH + 1) }
    }
    if (text !~ /^ *(&&|\|\|)/) return text
    sub(/^ *(&&|\|\|)/, "", text)
  }
}
# Without attributes, template parameters, and conditions in front; nothing for an explicit specialization.
function head(text,    end) {
  gsub(/[ \t]+/, " ", text)
  gsub(/\[\[[^]]*\]\]|__attribute__ *\(\([^)]*\)\)|alignas *\([^)]*\)/, "", text)
  gsub(/decltype *\(auto\)/, "auto", text)
  for (;;) {
    sub(/^ +/, "", text)
    if (text ~ /^template *< *>/) return ""
    if (text ~ /^template *</) {
      if (!(end = closing(text, "<", ">"))) return ""  # it ends behind a brace that is no body
      text = substr(text, end + 1)
    } else if (text ~ /^requires[ (]/) { sub(/^requires */, "", text); text = behind_condition(text) }
    else return text
  }
}
# A brace in the middle of a head: of a default template argument, or of a requirement.
function goes_on(text,    begin) {
  sub(/^ +/, "", text); sub(/ +$/, "", text)
  if (text ~ /<[A-Za-z0-9_:]+$/) return 1  # an argument such as Options{true}
  if (text !~ /^template *</ || text ~ /concept +[A-Za-z_0-9]+ *=/) return 0
  if (!closing(text, "<", ">") || text ~ /(requires|&&|[|(!]) *requires$/) return 1
  while (match(text, /(requires|&&|[|(!]) *requires *\(/)) {
    text = substr(text, RSTART + RLENGTH - 1)
    if (closing(text, "(", ")") == length(text)) return 1
  }
  return 0
}
# Without the template arguments that follow names.
function plain(text,    from, begin, end) {
  for (from = 1; begin = index(substr(text, from), "<"); from = begin + 2) {
    begin += from - 1
    end = closing(substr(text, begin), "<", ">")
    if (!end || substr(text, 1, begin) ~ /[=(]/) return text
    text = substr(text, 1, begin) substr(text, begin + end - 1)
  }
  return text
}
function word(text) { return match(text, /^[A-Za-z_][A-Za-z0-9_]*/) ? substr(text, 1, RLENGTH) : "" }
# Notes what the text declares, up to a { or a ;. A function without body, or a class, is told from its definition.
function declare(text, ends_with,    name, end, part, parts, i) {
  text = head(text)
  if (text == "" || text ~ /^(static_assert|extern|friend|using namespace|asm)/) return
  if (text ~ /^using /) {
    if (text !~ /=/) return
    sub(/^using +/, "", text); name = word(text)
  } else if (text ~ /^concept /) { sub(/^concept +/, "", text); name = word(text) }
  else if (text ~ /^(struct|class|union|enum( class| struct)?) /) {
    sub(/^(struct|class|union|enum( class| struct)?) +/, "", text); name = word(text)
    if (ends_with == ";") {
      if (name != "") declared[space() "::" name] = declared[space() "::" name] " " FILENAME ":" FNR
      return
    }
    if (substr(text, length(name) + 1) ~ /^ *</) return  # a specialization
  } else {
    if (text ~ /(^|[^A-Za-z0-9_])operator[^A-Za-z0-9_]/) return
    while (match(text, /(decltype|typeof) *\(/)) {
      if (!(end = closing(substr(text, RSTART), "(", ")"))) return
      text = substr(text, 1, RSTART - 1) "auto" substr(text, RSTART + end)
    }
    if (match(text, /\( *\* */)) name = word(substr(text, RSTART + RLENGTH))  # a pointer to a function
    else {
      text = plain(text)
      end = index(text, "("); if (index(text, "=") && index(text, "=") < end) end = 0
      if (end && ends_with == ";") return
      if (!end) {  # further variables of the same type
        while (sub(/\([^()]*\)|<[^<>=]*>|\[[^][]*\]/, "", text) && parts++ < 99);
        parts = split(text, part, ",")
        for (i = 2; i <= parts; ++i) {
          sub(/^[ *&]+/, "", part[i])
          if (word(part[i]) != "") note(space(), word(part[i]))
        }
        text = part[1]
      } else text = substr(text, 1, end - 1)
      sub(/[=\[].*/, "", text); sub(/ +$/, "", text)
      # not a specialization, a deduction guide, a macro, a member
      if (text ~ />$/ || !match(text, /[ *&][A-Za-z_][A-Za-z0-9_]*$/)) return
      name = substr(text, RSTART + 1)
    }
  }
  if (name != "") note(space(), name)
}
function space(    i, s) {
  for (i = 1; i <= depth; ++i) if (called[i] != "") s = s (s == "" ? "" : "::") called[i]
  return s
}
function note(where, name) {
  ++count
  if (((where, name, FILENAME) in seen)) return
  seen[where, name, FILENAME] = 1
  key = where "::" name
  places[key] = places[key] (places[key] == "" ? "" : ", ") FILENAME ":" FNR
  ++files[key]
  if (files[key] == 1) order[++keys] = key
}
# Both names are declared in the same one header, where nobody is surprised.
function in_one_header(a, b) {
  return files[a] == 1 && files[b] == 1 && header_of(places[a]) == header_of(places[b])
}
function header_of(place) { sub(/:.*/, "", place); return place }
function begin_file() { in_comment = depth = round = after = directive = 0; said = ""; ++headers }
function in_namespace() { return !depth || kind[depth] == "namespace" }
function open_brace(    text) {
  text = said; gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
  ++depth; called[depth] = ""
  if (text ~ /^(inline )?namespace( |$)/) {
    kind[depth] = "namespace"
    sub(/^(inline )?namespace ?/, "", text); sub(/::inline TENON_ABI/, "", text)
    called[depth] = text; said = ""
  } else if (goes_on(text)) kind[depth] = "head"
  else {
    kind[depth] = "body"
    if (!(after && text ~ /^[^A-Za-z_\[]/)) declare(said, "{")
    said = ""
  }
  after = 0
}
FNR == 1 { begin_file() }
directive || (/^[ \t]*#/ && !in_comment) { directive = /\\$/; next }
/^TENON_(EXACT|INT_SIZES)_(BEGIN|END)/ { next }
{
  line = bare($0)
  for (k = 1; k <= length(line); ++k) {
    c = substr(line, k, 1)
    if (!in_namespace()) {
      if (c == "{") { ++depth; kind[depth] = "inner"; called[depth] = "" }
      else if (c == "}") { after = kind[depth] == "body"; --depth }
    } else if (round || index("{};", c) == 0) {
      if (c == "(") ++round
      if (c == ")") --round
      said = said c
    } else if (c == "{") open_brace()
    else {
      if (c == "}") --depth
      else if (!(after && said ~ /^ *([^A-Za-z_\[ ]|$)/)) declare(said, ";")
      said = ""; after = 0
    }
  }
  said = said " "
}
END {
  while ((getline line < list) > 0) {
    if (line ~ /^[ \t]*(#|$)/) continue
    name = line; sub(/[ \t].*/, "", name)
    reason = substr(line, length(name) + 1); gsub(/^[ \t]+/, "", reason)
    if (reason == "") { print "tests/layout/overloads.txt: " name ": the reason is missing"; ++faults }
    listed[name] = 1
  }
  for (key in declared) {  # what has specializations only counts where it is declared
    if (key in places) continue
    order[++keys] = key; places[key] = substr(declared[key], 2); files[key] = gsub(/ /, ", ", places[key]) + 1
  }
  for (i = 1; i <= keys; ++i) {
    key = order[i]; found = files[key] > 1 ? places[key] : ""
    name = key; sub(/.*::/, "", name)
    for (where = substr(key, 1, length(key) - length(name) - 2); match(where, /::[A-Za-z0-9_]*$/);) {
      where = substr(where, 1, RSTART - 1); outer = where "::" name
      if ((outer in places) && !in_one_header(key, outer))
        found = (found == "" ? places[key] : found) ", as " outer " in " places[outer]
    }
    if (found == "") continue
    if (key in listed) { used[key] = 1; continue }
    print "`" key "` is declared in several headers: " found \
      ". Rename one, or list it in tests/layout/overloads.txt with the reason"
    ++faults
  }
  for (name in listed) {
    if (name in used) continue
    print "tests/layout/overloads.txt: " name " stands in one header now: take it off the list"
    ++faults
  }
  if (!headers || (headers > 10 && count < headers)) {
    print "found only " count + 0 " names in " headers + 0 " headers: this check cannot read them"
    exit 1
  }
  if (faults) exit 1
  print count " names in " headers " headers: none takes that of another header."
}'
