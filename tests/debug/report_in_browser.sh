#!/bin/sh
# The page of a report in a real browser: `report_in_browser.sh TEST`. TEST is the program tests/debug/report, which
# writes pages into the current folder. The picture is not empty, and the browser has nothing to say about the page.
set -u
test=$1
browser=
for name in chromium chromium-browser google-chrome; do
  if command -v $name >/dev/null; then browser=$name; break; fi
done
[ -n "$browser" ] || { echo "SKIPPED: no Chromium is installed, the report was not looked at"; exit 77; }
"$test" >/dev/null 2>&1 || { echo "FAILED: $test"; exit 1; }
for page in page.html failed.html; do
  rm -f picture.png
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,2400 \
    --user-data-dir="$PWD/browser" --enable-logging=stderr --screenshot="$PWD/picture.png" "file://$PWD/$page" >log 2>&1
  [ -s picture.png ] || { tail -n 5 log; echo "FAILED: the browser made no picture of $page"; exit 1; }
  # a picture of one colour is a few kilobytes
  [ "$(wc -c <picture.png)" -gt 30000 ] || { echo "FAILED: $page looks empty"; exit 1; }
  if grep CONSOLE log; then echo "FAILED: the browser complains about $page"; exit 1; fi
done
rm -rf browser
echo "The pages are $(wc -c <page.html) and $(wc -c <failed.html) bytes; the browser has shown both."
