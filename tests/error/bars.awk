# Sums the records of run.sh --bars, sorted by lines: `lines explained others lines-of-all`. Exit status 1 if a bar is
# missed.
{
  lines[NR] = $1
  ++by[$2]
  others += $3
  all[NR] = $4
}
END {
  if (!NR) exit 1
  share = 100 * (by["Tenon"] + by["compiler"]) / NR
  median = lines[int((NR + 1) / 2)]
  printf "%s: %d mistakes, %.1f %% with a sentence (%d of Tenon, %d of the compiler), %d false sentences, ", compiler,
    NR, share, by["Tenon"], by["compiler"], others
  printf "%d lines in the median, %d at most\n", median, lines[NR]
  exit share < 92 || others > 0 || median > 8 || lines[NR] > 60
}
