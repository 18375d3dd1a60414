# What a compiler's output says. A sentence that the compiler composed is in template arguments, which each compiler
# writes in another way:
#   g++    FixedString<31>{"network.conv1: Conv2D got an i"}, FixedString<31>{"nput of 3 channels"}
#   clang  the same, or {{"..."}}
#   nvcc   FixedString<31>{{'n', 'e', 't', '\000'}}, or {(char)'n', (char)'e', (char)0}
# So each line is compared as it is, as all its strings joined, and as all its letters joined, blanks aside. Words that
# are the compilers' own may be given for each, `words of g++ || words of clang`, and what they quote is in '...',
# although g++ writes other marks.
function unescaped(text,    result, at) {
  gsub(/\\000|\\0/, "", text)
  result = ""
  while ((at = index(text, "\\")) > 0) {
    result = result substr(text, 1, at - 1) substr(text, at + 1, 1)
    text = substr(text, at + 2)
  }
  return result text
}
function joined(line, literal,    all) {
  all = ""
  while (match(line, literal)) {
    all = all unescaped(substr(line, RSTART + 1, RLENGTH - 2))
    line = substr(line, RSTART + RLENGTH)
  }
  return all
}
function squeezed(text) { gsub(/[ \t]/, "", text); return text }
function plain(text) { gsub(/‘|’/, "'", text); return squeezed(text) }
# nvcc quotes by "...", and says otherwise that a class has no such member.
function requoted(text) {
  gsub(/"/, "'", text)
  sub(/ has no member /, " no member named ", text)
  return squeezed(text)
}
# Whether the line says what was expected, the variable `sentence`.
function says(line,    i) {
  for (i = 1; i <= words; ++i)
    if (index(plain(line), wanted[i]) || index(requoted(line), wanted[i]) ||
      index(squeezed(joined(line, strings)), wanted[i]) || index(squeezed(joined(line, letters)), wanted[i])) return 1
  return 0
}
function is_source(line) { return line ~ /^ +[0-9]* \|/ }  # g++ and clang: the source, and marks below it
function is_error(line) { return line ~ /error( #[0-9A-D-]+)?:/ }

BEGIN {
  words = split(squeezed(sentence), wanted, /\|\|/)
  strings = "\"([^\"\\\\]|\\\\.)*\""
  letters = "'(\\\\[0-7][0-7][0-7]|\\\\.|[^'\\\\])'"
}
