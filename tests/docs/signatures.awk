# Rows of docs/signatures.md: the documented functions and classes of headers, with the first sentences of their
# docstrings: `awk -v indent=N -f signatures.awk HEADER...`. N is 0 for the functions and aggregates of a namespace, 2
# for the members of a class. A docstring also covers what follows it, up to the next blank line or comment.
function print_row(    all, i) {
  for (i = 1; i <= count; ++i) all = all (i > 1 ? "<br>" : "") "`" signature[i] "`"
  if (count > 0 && !internal && what !~ /^Says? /) print "| " all " | " what " |"
  count = 0
}
# The first sentence of the docstring: up to a point before a capital letter, or to the end of the paragraph.
function first_sentence(text) {
  if (match(text, /[^.][.] +[A-Z`]/)) text = substr(text, 1, RSTART + 1)
  sub(/:$/, ".", text)
  gsub(/[|]/, "\\|", text)
  return text
}
# The text from its first ( to the ) that belongs to it.
function arguments(text,    i, depth, c) {
  for (i = index(text, "("); i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (c == "(") ++depth
    if (c == ")" && --depth == 0) return substr(text, index(text, "("), i - index(text, "(") + 1)
  }
  return ""
}
function squeezed(text) {
  gsub(/std::source_location at = std::source_location::current\(\)|std::|detail::/, "", text)
  gsub(/, *\)/, ")", text)
  return text
}
# A template header without what it requires, as a user gives it: <int Height, int Width = Height>.
function parameters(head) {
  sub(/^template */, "", head)
  return head
}
function function_row(head, text,    list, name) {
  list = arguments(text)
  name = substr(text, 1, index(text, "(") - 1)
  if (list == "" || name ~ /operator|~|^(explicit )?Tensor$/ || text ~ /= delete/) return
  gsub(/(^| )(static|inline|constexpr|explicit|friend|auto|\[\[[^]]*\]\])( |$)/, " ", name)
  gsub(/(^| )(static|inline|constexpr|explicit|friend|auto)( |$)/, " ", name)
  sub(/^ +/, "", name)
  if (indent == 0 || name ~ /^Tensor /) sub(/^.* /, "", name)
  # template arguments that a call gives, not those that it deduces
  if (head !~ /^template <(class|Element|std::integral)/ || head ~ /<(class S|Element U|class List)>?/)
    if (name != "Tensor" && name != "from") name = name parameters(head)
  add(squeezed(name list))
}
function add(text,    i) {
  for (i = 1; i <= count; ++i) if (signature[i] == text) return
  signature[++count] = text
}
function finish_class(    text) {
  if (class_name == "") return
  text = class_name (members == "" ? "" : "{" members "}")
  if (text !~ /<class [A-Z]|<Dataset|<[A-Za-z:]*Sampler /) add(squeezed(text))
  class_name = ""
  print_row()
}

FNR == 1 { print_row(); documented = 0; hidden = 0; pending = ""; collecting = 0 }
/^namespace.*(detail|kernel)/ { hidden = 1 }
/^}  .. namespace.*(detail|kernel)/ { hidden = 0; next }
/^ private:/ { print_row(); documented = 0; private_part = 1 }
/^(class|struct) |^};/ { private_part = 0 }
hidden || private_part { next }
{
  lead = match($0, /[^ ]/) - 1
  line = substr($0, lead + 1)
}
class_name != "" {
  if (line ~ /^};/ && lead == indent) { finish_class(); documented = 0; next }
  sub(/ *\/\/.*/, "", line)
  if (lead == indent + 2 && line ~ /^[A-Za-z_][A-Za-z_0-9:<>, ]* [a-z_0-9]+( = [^;]*|[{][^}]*[}]|, [^;]*)?;/ &&
      line !~ /^(static|using|return|friend|mutable)/ && line !~ /\(/) {
    sub(/;.*/, "", line)
    sub(/[{][}]$/, "", line)
    n = line ~ /[<{]/ ? 1 : split(line, part, ", ")
    if (n == 1) part[1] = line
    for (i = 1; i <= n; ++i) {
      if (match(part[i], / = /)) { name = substr(part[i], 1, RSTART - 1); value = substr(part[i], RSTART) }
      else if (match(part[i], /{/)) { name = substr(part[i], 1, RSTART - 1); value = " = " substr(part[i], RSTART) }
      else { name = part[i]; value = "" }
      sub(/.* /, "", name)
      members = members (members == "" ? "" : ", ") "." name value
    }
  }
  next
}
lead == indent && line ~ /^\/\/\// {
  if (!collecting) { print_row(); what = ""; ended = internal = 0 }
  collecting = 1
  text = substr(line, 5)
  if (text ~ /[Nn]ot for users|For operators|[Uu]sed by /) internal = 1
  if (text == "" || text ~ /^ / || text ~ /^[^.`]*[^.]   +/) ended = 1
  if (!ended) what = what (what == "" ? "" : " ") text
  next
}
collecting && lead == indent { collecting = 0; documented = 1; what = first_sentence(what) }
line == "" || line ~ /^\/\// { if (pending == "") { print_row(); documented = 0 } next }
!documented { next }
lead != indent && pending == "" { next }
pending == "" && line ~ /^(using|static_assert|mutable|}|public|private|enum|namespace)/ { next }
{
  pending = pending (pending == "" ? "" : " ") line
  if (pending !~ /[{;]/) next
  head = ""
  if (match(pending, /^template *<([^<>]|<[^<>]*>)*> */)) {
    head = substr(pending, 1, RLENGTH)
    sub(/ +$/, "", head)
    pending = substr(pending, RLENGTH + 1)
  }
  while (match(pending, /^requires *\(([^()]|\(([^()]|\([^()]*\))*\))*\)[ &|]*/)) pending = substr(pending, RLENGTH + 1)
  if (pending ~ /^(struct|class) / && indent == 0) {
    class_name = pending
    sub(/^(struct|class) /, "", class_name)
    base = class_name ~ /:/
    sub(/[ :;{].*$/, "", class_name)
    class_name = class_name parameters(head)
    members = ""
    if (pending ~ /;|}/ || (base && pending !~ /Source</)) { class_name = ""; documented = 0 }
  } else if (pending !~ /^(using|concept|enum|requires)|Wrong|^(inline |static )*constexpr (bool|int) /) {
    function_row(head, pending)
  }
  pending = ""
}
END { print_row() }
