# Of each operator of a header its name and, after a tab, what its docstring says of the dtypes of its operands; "-" for
# operators that derivatives and passes add.
function flush_field(  clause, count, k, word) {
  if (field != "" && field !~ /^(results?|derivative|order|source|accuracy|parameters|zero|error|rate|state)$/) {
    count = split(value, clause, /; */)
    for (k = 1; k <= count; ++k) {
      if (match(clause[k], /[a-z)][.] /)) clause[k] = substr(clause[k], 1, RSTART)  # the first sentence
      sub(/,? ?[a-z :]*[0-9] [.][.].*/, "", clause[k])                             # without the range of numbers
      if (clause[k] ~ /dtype|float|int32|int64|integers?( |,|$)|bool/ && clause[k] !~ /wrap around|smallest|Nested/) {
        word = field ": " clause[k]
        dtypes = dtypes (dtypes == "" ? "" : "; ") word
      }
    }
  }
  field = value = ""
}
function reset() { dtypes = prose = field = value = "" }
/^\/\/\/ [A-Za-z][A-Za-z, ]*  +[^ ]/ {
  flush_field()
  field = substr($0, 5)
  sub(/  .*/, "", field)
  value = $0
  sub(/^\/\/\/ [A-Za-z][A-Za-z, ]*  +/, "", value)
  next
}
/^\/\/\/    +/ { sub(/^\/\/\/ +/, ""); value = value " " $0; next }
/^\/\/\// { flush_field(); sub(/^\/\/\/ ?/, ""); prose = prose " " $0; next }
/^template/ { next }
/^struct [A-Za-z0-9]+ : / {
  flush_field()
  if (prose ~ /[Nn]ot for users|Derivatives insert it/) dtypes = "-"
  base = $4
  sub(/<.*/, "", base)
  if (dtypes == "") dtypes = known[base]
  known[$2] = dtypes
  print $2 "\t" dtypes
}
{ reset() }
