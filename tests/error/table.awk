# Makes a mistake of a right program: reads a line `name ## old ## new ## sentence [## lines: ...] [## also: ...]`,
# writes the program `base` with `new` in the place of `old` to the file `mistake`, and name, sentence, lines, and what
# may be said beside it to `fields`, a line each.
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
  lines = also = ""
  for (k = 5; k <= count; ++k)
    if (sub(/^ *lines:/, "", field[k])) lines = field[k]
    else if (sub(/^ *also: */, "", field[k])) also = trimmed(field[k])
    else { print "FAILED: " name ": neither `lines:` nor `also:`: " field[k]; exit 1 }
  print name "\n" trimmed(field[4]) "\n" lines "\n" also > fields
}
