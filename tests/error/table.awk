# Makes a mistake of a right program: reads a line `name ## old ## new ## sentence [## lines: ...]`, writes the program
# `base` with `new` in the place of `old` to the file `mistake`, and name, sentence, and lines to `fields`, a line each.
function trimmed(text) { sub(/^ +/, "", text); sub(/ +$/, "", text); return text }
{
  count = split($0, field, / +## +/)
  if (count < 4) { print "FAILED: a line of the table lacks a field: " $0; exit 1 }
  name = trimmed(field[1])
  while ((getline line < base) > 0) program = program line "\n"
  at = index(program, field[2])
  rest = substr(program, at + length(field[2]))
  if (!at || index(rest, field[2])) { print "FAILED: " name ": `" field[2] "` must stand in the program once"; exit 1 }
  printf "%s", substr(program, 1, at - 1) trimmed(field[3]) rest > mistake
  print name "\n" trimmed(field[4]) "\n" (count > 4 ? substr(trimmed(field[5]), 7) : "") > fields
}
