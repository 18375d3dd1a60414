# Rows of docs/errors.md from lines `name ## right ## wrong ## sentence [## lines: ...]`. Left out are mistakes that a
# compiler names in its own words, and sentences that have a row already.
function cell(text) {
  sub(/^ +/, "", text); sub(/ +$/, "", text)
  if (text == "") return ""
  gsub(/\|/, "\\|", text)
  return index(text, "`") ? "`` " text " ``" : "`" text "`"
}
{
  count = split($0, field, / +## */)
  sentence = field[4]
  sub(/ *\(mistake\.cpp:[0-9]+\)/, "", sentence)
  sub(/ +$/, "", sentence)
  if (count < 4 || sentence == "-" || sentence == "" || index(sentence, "||") || sentence !~ / .* / ||
      sentence ~ /^'|'$|no member named|^from '/ || seen[sentence]++) next
  printf "| %s | %s | %s |\n", cell(sentence), cell(field[3]), cell(field[2])
}
