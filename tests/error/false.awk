# Prints the sentences of Tenon in a compiler's output, each once, that are not `sentence` (text.awk): what is read
# where the compiler does not stop at the first error, and is no mistake of the user's. A later one that sends to the
# error before it is none of them.
# A sentence of Tenon is a text of many words in a template argument, or what a static_assert of its headers says.
is_source($0) { next }
{
  text = ""
  if (match($0, /tenon\/[^ ]*: error: static assertion failed/)) {
    text = substr($0, RSTART + RLENGTH)
    sub(/^ due to requirement '.*': */, "", text)
    sub(/^: */, "", text)
  }
  else if ($0 ~ /FixedString<[0-9]+>/) text = joined($0, strings)
  refers = errors && text ~ /see the error before this one/
  if (text ~ /[^ ] +[^ ]+ +[^ ]/ && !refers && !says($0) && !seen[text]++) print text
  if (is_error($0)) ++errors
}
