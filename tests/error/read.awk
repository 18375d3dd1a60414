# Exit status 0 if the first error in a compiler's output says `sentence` (text.awk). Lines that only echo the source do
# not count.
is_source($0) { next }
/^[ \t]*\^[ ~^]*$/ { held = ""; next }                    # nvcc: a mark; the line before it was the source
{
  if (held != "" && says(held)) found = 1
  held = $0
  if (is_error($0) && ++errors > 1) { held = ""; exit }
}
END {
  if (held != "" && says(held)) found = 1
  exit found ? 0 : 1
}
