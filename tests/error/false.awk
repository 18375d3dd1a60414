# Prints the sentences of Tenon in all errors of a compiler's output, each once, that are not `sentence` (text.awk): what
# a user reads who does not stop the compiler at the first error, and what is no mistake of his.
# A sentence of Tenon is a text of many words in a template argument, or what a static_assert of its headers says.
is_source($0) { next }
{
  if (match($0, /tenon\/[^ ]*: error: static assertion failed/)) {
    text = substr($0, RSTART + RLENGTH)
    sub(/^ due to requirement '.*': */, "", text)
    sub(/^: */, "", text)
  }
  else if ($0 ~ /FixedString<[0-9]+>/) text = joined($0, strings)
  else next
  if (text ~ /[^ ] +[^ ]+ +[^ ]/ && !says($0) && !seen[text]++) print text
}
