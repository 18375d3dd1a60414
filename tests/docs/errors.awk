# Rows of docs/errors.md from lines `name ## right ## wrong ## sentence [## lines: ...]`. Left out are mistakes that a
# compiler names in its own words, and sentences that have a row already. Where the mistake is text before or after a
# piece that is right, the row has this text alone.
function cell(text) {
  sub(/^ +/, "", text); sub(/ +$/, "", text)
  if (text == "") return ""
  gsub(/\|/, "\\|", text)
  return index(text, "`") ? "`` " text " ``" : "`" text "`"
}
# What `wrong` has before or after `right`; "" if it differs otherwise.
function added(wrong, right,   more) {
  more = length(wrong) - length(right)
  if (right == "" || more <= 0) return ""
  if (substr(wrong, 1, length(right)) == right && substr(wrong, length(right) + 1) ~ /^[ ;.]/)
    return substr(wrong, length(right) + 1)
  if (substr(wrong, more + 1) == right && substr(wrong, 1, more) ~ /[ ;]$/) return substr(wrong, 1, more)
  return ""
}
{
  count = split($0, field, / +## */)
  sentence = field[4]
  sub(/ *\(mistake\.cpp:[0-9]+\)/, "", sentence)
  sub(/ +$/, "", sentence)
  if (count < 4 || sentence == "-" || sentence == "" || index(sentence, "||") || sentence !~ / .* / ||
      sentence ~ /^'|'$|no member named|^from '/ || seen[sentence]++) next
  alone = added(field[3], field[2])
  printf "| %s | %s | %s |\n", cell(sentence), cell(alone == "" ? field[3] : alone), cell(alone == "" ? field[2] : "")
}
